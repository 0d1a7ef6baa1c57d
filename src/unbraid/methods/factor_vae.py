"""FactorVAE (Kim & Mnih 2018; assumptions, section 2.3): total correlation by an adversary's density ratio."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid import nets
from unbraid.methods._features import feature_columns
from unbraid.methods.base import Batch, Terms
from unbraid.methods.config import Spec, setting
from unbraid.methods.gaussian import Posterior, permute_latents
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    gamma: float = setting(10.0, "weight of the total correlation", low=0, live=True)
    dimensions: int = setting(
        1, "dimensions of a feature; the code has latents / dimensions features", low=1, high=100_000
    )
    discriminator_layers: int = setting(
        6, "hidden layers of the discriminator; the paper's table 4 lists 1", low=1, high=100
    )
    discriminator_width: int = setting(1000, "units in each hidden layer of the discriminator", low=1, high=100_000)
    discriminator_learning_rate: float = setting(1e-4, "learning rate of the discriminator's Adam", above=0, live=True)


class FactorVAE(VAE):
    """loss = reconstruction + kl + γ·total_correlation, which is mean(logit₀ - logit₁) of the discriminator.

    The discriminator distinguishes codes of the batch (class 0) from the same codes with each latent permuted (class
    1); with features of several dimensions (intervention's baseline, section 5.2), each feature as a whole.
    """

    config_class = Config
    config: Config
    strength = ("gamma",)
    sweep = (10.0, 20.0, 30.0, 40.0, 50.0, 100.0)  # assumptions, table 3

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        self.columns = feature_columns(config.latents, config.dimensions)
        discriminator = nets.discriminator(config.latents, config.discriminator_layers, config.discriminator_width)
        self.discriminator = nets.started(config.network, discriminator)
        parameters = self.discriminator.parameters()
        self.add_adam("discriminator", parameters, "discriminator_learning_rate", betas=(0.5, 0.9))

    @property
    def code_groups(self) -> list[list[int]] | None:
        return self.columns if self.config.dimensions > 1 else None

    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        kl = q.kl()
        total_correlation = self.density_ratio(q.sample)
        loss = reconstruction + kl + self.hp["gamma"] * total_correlation
        return {
            "loss": loss,
            "reconstruction": reconstruction,
            "kl": kl,
            "total_correlation": total_correlation,
        }

    def density_ratio(self, z: Tensor) -> Tensor:
        """mean log q(z)/Π q(z_j) as the discriminator estimates it. Its own weights get no gradient."""
        self.discriminator.requires_grad_(False)
        logits = self._discriminate(z)
        self.discriminator.requires_grad_(True)
        return (logits[:, 0] - logits[:, 1]).mean()

    def discriminator_loss(self, z: Tensor) -> Tensor:
        """Cross-entropy of z against its permutation. The codes are detached: no gradient reaches the encoder."""
        z = z.detach()
        logits = self._discriminate(torch.cat([z, permute_latents(z, self.config.dimensions)]))
        classes = torch.arange(2, device=z.device).repeat_interleave(len(z))
        return F.cross_entropy(logits, classes)

    def _discriminate(self, z: Tensor) -> Tensor:
        with self.autocast():
            logits: Tensor = self.discriminator(z)
        return logits.float()

    def update(self, batch: Batch) -> Terms:
        q, reconstruction = self.autoencode(batch["images"])
        terms = self.loss(q, reconstruction)
        self.descend("vae", terms["loss"])
        terms["discriminator"] = self.discriminator_loss(q.sample)
        self.descend("discriminator", terms["discriminator"])
        return {name: term.detach() for name, term in terms.items()}
