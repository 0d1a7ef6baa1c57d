"""Ada-GVAE (Locatello et al. 2020): a VAE on pairs that differ in a few unknown factors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.methods.base import Batch, Terms
from unbraid.methods.config import setting
from unbraid.methods.gaussian import Posterior
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    beta: float = setting(1.0, "weight of the KL divergence", low=0, live=True)


class AdaGVAE(VAE):
    """loss = reconstruction + β·kl of both images of a pair, which share the latents that seem unchanged"""

    config_class = Config
    needs = ("images", "partners")
    strength = ("beta",)

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        return {"loss": reconstruction + self.hp["beta"] * kl, "reconstruction": reconstruction, "kl": kl}

    def update(self, batch: Batch) -> Terms:
        x = self.pixels(torch.cat([batch["images"], batch["partners"]]))
        mean, logvar, shared = share(*self._posterior(x))
        q = Posterior.draw(mean, logvar)
        terms = self.loss(q, self._reconstruction(x, q.sample))
        self.descend("vae", terms["loss"])
        terms["shared"] = shared.float().sum(1).mean()
        return {name: term.detach() for name, term in terms.items()}


def share(mean: Tensor, logvar: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Posteriors (2n, d) of n images and their n partners, averaged where a pair shares a latent; and where, (n, d).

    A latent is shared where δ = KL(q(z_j|x₁) ‖ q(z_j|x₂)) is below the middle of the pair's least and greatest. The
    average has the mean of the two means and of the two variances.

    >>> mean = torch.tensor([[0.0, 1.0], [4.0, 1.2]])  # one image and its partner
    >>> share(mean, torch.zeros(2, 2))[0]
    tensor([[0.0000, 1.1000],
            [4.0000, 1.1000]])
    """
    (first, second), (logvar_1, logvar_2) = mean.chunk(2), logvar.chunk(2)
    delta = 0.5 * ((first - second).square() / logvar_2.exp() + (logvar_1 - logvar_2).exp() + logvar_2 - logvar_1 - 1)
    shared = delta < 0.5 * (delta.amax(1, keepdim=True) + delta.amin(1, keepdim=True))
    middle = 0.5 * (first + second)
    spread = torch.logaddexp(logvar_1, logvar_2) - math.log(2)
    means = [torch.where(shared, middle, own) for own in (first, second)]
    logvars = [torch.where(shared, spread, own) for own in (logvar_1, logvar_2)]
    return torch.cat(means), torch.cat(logvars), shared
