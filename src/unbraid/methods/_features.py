"""Features of several dimensions: which columns of the codes belong together."""

from __future__ import annotations

from unbraid.errors import InputError


def feature_columns(latents: int, dimensions: int) -> list[list[int]]:
    """The columns of each feature: `dimensions` of them side by side."""
    if latents % dimensions:
        raise InputError(f"dimensions is {dimensions}; expected a divisor of latents, {latents}")
    return [list(range(first, first + dimensions)) for first in range(0, latents, dimensions)]
