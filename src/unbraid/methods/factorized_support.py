"""Hausdorff factorized support (Roth et al. 2023): codes may be correlated, but every combination must be possible."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from unbraid.methods.base import Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    beta: float = setting(1.0, "weight of the KL divergence; 0 leaves the support alone", low=0, live=True)
    gamma: float = setting(10.0, "weight of the distance to a factorized support", low=0, live=True)
    delta: float = setting(0.0, "weight of the scale, which keeps codes from shrinking", low=0, live=True)


class FactorizedSupport(VAE):
    """loss = reconstruction + β·kl + γ·support + δ·scale, the last two of the batch's means"""

    config_class = Config
    strength = ("gamma",)

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl, support, scale = q.kl(), support_distance(q.mean), shortfall(q.mean)
        loss = reconstruction + self.hp["beta"] * kl + self.hp["gamma"] * support + self.hp["delta"] * scale
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "support": support, "scale": scale}


def support_distance(codes: Tensor) -> Tensor:
    """Σ_{i<j} max_{a,b} min_c (z_ai - z_ci)² + (z_bj - z_cj)² over rows a, b, c of codes (n, d).

    The distance of the most distant combination of a value of z_i and a value of z_j to the nearest one that occurs.
    The search needs no gradient: that of a maximum of minima is the gradient at the rows that attain it.

    >>> support_distance(torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))  # every combination occurs
    tensor(0.)
    >>> support_distance(torch.tensor([[0.0, 0.0], [1.0, 1.0]]))  # (0, 1) does not
    tensor(1.)
    """
    total = codes.new_zeros(())
    with torch.no_grad():
        gaps = (codes[:, None] - codes).square().permute(2, 0, 1).contiguous()  # (latent, value, row)
    for i, j in combinations(range(codes.shape[1]), 2):
        with torch.no_grad():
            # (value of i, value of j); a few values of i at a time, or (n, n, n) would be gigabytes for a thousand rows
            distance = torch.cat([(some[:, None] + gaps[j]).amin(2) for some in torch.split(gaps[i], 64)])
            a, b = divmod(int(distance.argmax()), len(codes))
            c = int((gaps[i][a] + gaps[j][b]).argmin())
        total = total + (codes[a, i] - codes[c, i]).square() + (codes[b, j] - codes[c, j]).square()
    return total


def shortfall(codes: Tensor) -> Tensor:
    """Σ_j max(0, 1 - √(Var z_j + 1e-6)) over the batch."""
    return torch.relu(1 - (codes.var(0, correction=0) + 1e-6).sqrt()).sum()
