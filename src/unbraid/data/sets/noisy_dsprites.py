"""Noisy-dSprites (assumptions, appendix D): a white shape on a background of uniform noise, new with every draw."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData
from unbraid.data.sets.dsprites import DSprites


class NoisyDSprites(FactorData):
    """dSprites' factors; every channel of every background pixel is drawn from U(0, 1)."""

    names, sizes = DSprites.names, DSprites.sizes
    source = "drawn, by the paper's rule"

    def __init__(self, resolution: int = 64) -> None:
        self._shapes = DSprites(resolution)
        self.image_shape = (3, resolution, resolution)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        white = self._shapes.images(factors)
        pixels = len(factors) * 3 * self.image_shape[1] * self.image_shape[2]
        words = torch.empty(-(-pixels // 8), dtype=torch.int64)
        words.random_(-(2**63), None, generator=rng)  # eight pixels to a draw
        noise = words.view(torch.uint8)[:pixels].view(len(factors), *self.image_shape)
        return noise | white  # white is 255 or 0


DECLARED = DataSet(
    "noisy_dsprites", NoisyDSprites.names, NoisyDSprites.sizes, "drawn here by the paper's rule", NoisyDSprites,
    embedded=True,
)  # fmt: skip
