"""DIP-VAE-I (Kumar et al. 2018; assumptions, section 2.3): the covariance of the means is drawn to the identity."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from unbraid.methods.base import Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior, covariance, diagonal, off_diagonal
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    lambda_od: float = setting(5.0, "weight of the covariances", low=0, live=True)
    lambda_d_ratio: float = setting(10.0, "weight of the variances: lambda_d / lambda_od", low=0, live=True)


class DIPVAEI(VAE):
    """loss = reconstruction + kl + λ_od·off_diagonal + λ_d·diagonal, both of Cov[μ(x)]; λ_d = 10 λ_od."""

    config_class = Config
    strength = ("lambda_od",)
    sweep = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # assumptions, table 3

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        matrix = covariance(q.mean)
        od, d = off_diagonal(matrix), diagonal(matrix)
        lambda_od, lambda_d = self.hp["lambda_od"], self.hp["lambda_d_ratio"] * self.hp["lambda_od"]
        loss = reconstruction + kl + lambda_od * od + lambda_d * d
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "off_diagonal": od, "diagonal": d}
