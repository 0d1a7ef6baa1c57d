"""β-TCVAE (Chen et al. 2018; assumptions, section 2.3): total correlation estimated from the batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from unbraid.methods.base import Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior, total_correlation
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    beta: float = setting(4.0, "weight of the total correlation; 1 is the plain VAE", low=0, live=True)
    estimator: str = setting(
        "batch", "estimate of total correlation: the batch alone, weighted (mws) or stratified sampling (mss)",
        choices=("batch", "mws", "mss"),
    )  # fmt: skip


class BetaTCVAE(VAE):
    """loss = reconstruction + kl + (β-1)·total_correlation: the KL holds the total correlation once already."""

    config_class = Config
    config: Config
    strength = ("beta",)
    sweep = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)  # assumptions, table 3

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        tc = total_correlation(q, self.config.estimator, self.spec.rows)
        loss = reconstruction + kl + (self.hp["beta"] - 1) * tc
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "total_correlation": tc}
