"""β-VAE (Higgins et al. 2017; assumptions, section 2.3). β = 1 is the plain VAE."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from unbraid.methods.base import Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    beta: float = setting(4.0, "weight of the KL divergence; 1 is the plain VAE", low=0, live=True)


class BetaVAE(VAE):
    """loss = reconstruction + β·kl"""

    config_class = Config
    strength = ("beta",)
    sweep = (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)  # assumptions, table 3

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        return {"loss": reconstruction + self.hp["beta"] * kl, "reconstruction": reconstruction, "kl": kl}
