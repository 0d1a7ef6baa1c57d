"""A VAE with a supervised term on a few labelled images (Locatello et al. 2020; population, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import InputError
from unbraid.methods.base import Batch, Terms
from unbraid.methods.config import Spec, setting
from unbraid.methods.gaussian import Posterior, total_correlation
from unbraid.methods.vae import VAE, AutoencoderConfig

BASES = ("beta_vae", "beta_tc_vae")
REGULARIZERS = ("cross_entropy", "l2", "l2_scaled", "covariance")


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    beta: float = setting(4.0, "weight of the KL divergence, or of the total correlation", low=0, live=True)
    gamma_sup: float = setting(64.0, "weight of the supervised term", low=0, live=True)
    regularizer: str = setting("cross_entropy", "what ties the first codes to the labels", choices=REGULARIZERS)
    base: str = setting("beta_vae", "the loss without labels", choices=BASES)


class FewLabelVAE(VAE):
    """loss = reconstruction + β·kl + γ_sup·supervised, where the j-th latent is tied to the j-th label.

    With `base` beta_tc_vae it is reconstruction + kl + (β-1)·total_correlation + γ_sup·supervised.
    """

    config_class = Config
    config: Config
    needs = ("images", "labelled_images", "labels")

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        if config.regularizer == "l2_scaled":
            self.scale = nn.Parameter(torch.ones(()))
            self.add_adam("vae", [*self.encoder.parameters(), *self.decoder.parameters(), self.scale])

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        """Without labels."""
        kl, beta = q.kl(), self.hp["beta"]
        if self.config.base == "beta_vae":
            return {"loss": reconstruction + beta * kl, "reconstruction": reconstruction, "kl": kl}
        tc = total_correlation(q, "batch", self.spec.rows)
        loss = reconstruction + kl + (beta - 1) * tc
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "total_correlation": tc}

    def supervised(self, means: Tensor, labels: Tensor) -> Tensor:
        """How far means (n, d) are from labels (n, k), of which NaN ones count for nothing: 0 where all are."""
        if labels.shape[1] > means.shape[1]:
            raise InputError(f"latents is {means.shape[1]}; expected at least {labels.shape[1]}, one for each label")
        if self.config.regularizer == "covariance":
            return off_diagonal_covariance(means, labels)
        known = ~labels.isnan()
        y, mu = labels.nan_to_num(), means[:, : labels.shape[1]]
        if self.config.regularizer == "cross_entropy":
            errors = F.binary_cross_entropy_with_logits(mu, y, reduction="none")
        elif self.config.regularizer == "l2":
            errors = (mu.sigmoid() - y).square()
        else:
            errors = (self.scale * mu - y).square()
        return (torch.where(known, errors, 0).sum(0) / known.sum(0).clamp(min=1)).sum()

    def update(self, batch: Batch) -> Terms:
        q, reconstruction = self.autoencode(batch["images"])
        terms = self.loss(q, reconstruction)
        terms["supervised"] = self.supervised(self.encode(batch["labelled_images"]), batch["labels"])
        terms["loss"] = terms["loss"] + self.hp["gamma_sup"] * terms["supervised"]
        self.descend("vae", terms["loss"])
        return {name: term.detach() for name, term in terms.items()}


def off_diagonal_covariance(means: Tensor, labels: Tensor) -> Tensor:
    """Σ_{i≠j} Cov[μ_i, y_j]² over the rows that have all their labels; 0 where none has."""
    whole = ~labels.isnan().any(1)
    mu, y = means[whole], labels[whole]
    count = max(len(mu), 1)
    covariance = (mu - mu.sum(0) / count).T @ (y - y.sum(0) / count) / count  # (d, k)
    return covariance.square().sum() - covariance.diagonal().square().sum()
