"""AnnealedVAE (Burgess et al. 2018; assumptions, section 2.3): the capacity of the bottleneck grows with training."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from unbraid.methods.base import Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    c_max: float = setting(25.0, "capacity in nats at the end of the annealing", low=0, live=True)
    gamma: float = setting(1000.0, "weight of the distance from the capacity", low=0, live=True)
    threshold: int = setting(100_000, "steps over which the capacity grows from 0 to c_max", low=1)


class AnnealedVAE(VAE):
    """loss = reconstruction + γ·|kl - C|, with C rising linearly from 0 to c_max. The KL is the batch's mean."""

    config_class = Config
    config: Config
    strength = ("c_max",)
    sweep = (5.0, 10.0, 25.0, 50.0, 75.0, 100.0)  # assumptions, table 3

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        capacity = self.hp["c_max"] * min(1.0, self.steps / self.config.threshold)
        loss = reconstruction + self.hp["gamma"] * (kl - capacity).abs()
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "capacity": kl.new_tensor(capacity)}
