"""The smallest data set: images that are their factors."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid.data import FactorData


class Numbers(FactorData):
    """One pixel a channel: the factors themselves."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes, self.names = sizes, tuple(f"f{i}" for i in range(len(sizes)))
        self.image_shape = (len(sizes), 1, 1)

    def _images(self, factors: Tensor, rng: torch.Generator) -> Tensor:
        return factors.to(torch.uint8)[..., None, None]
