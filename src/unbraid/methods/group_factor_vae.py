"""FactorVAE whose features have several dimensions, as intervention compares itself with on CMNIST (section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from unbraid.errors import InputError
from unbraid.methods import factor_vae
from unbraid.methods.base import Spec, setting


@dataclass(frozen=True)
class Config(factor_vae.Config):
    dimensions: int = setting(1, "dimensions of a feature; the code has latents / dimensions features", low=1)


class GroupFactorVAE(factor_vae.FactorVAE):
    """loss = reconstruction + kl + γ·total_correlation, that between features: latents of one may depend on each other.

    The discriminator tells codes of the batch from the same codes with each feature permuted as a whole.
    """

    config_class = Config
    config: Config

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        if config.latents % config.dimensions:
            raise InputError(f"dimensions is {config.dimensions}; expected a divisor of latents, {config.latents}")
        self.dimensions = config.dimensions

    @property
    def code_groups(self) -> list[list[int]] | None:
        columns, width = list(range(self.config.latents)), self.dimensions
        return [columns[at : at + width] for at in range(0, len(columns), width)] if width > 1 else None
