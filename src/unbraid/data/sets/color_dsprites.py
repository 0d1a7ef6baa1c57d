"""Color-dSprites (assumptions, appendix D): every draw scales each colour channel by a number from U(0.5, 1)."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData
from unbraid.data.sets.dsprites import DSprites


class ColorDSprites(FactorData):
    """dSprites' factors; the colour of the shape is redrawn with every image and is not a factor."""

    names, sizes = DSprites.names, DSprites.sizes
    source = "drawn, by the paper's rule"

    def __init__(self, resolution: int = 64) -> None:
        self._shapes = DSprites(resolution)
        self.image_shape = (3, resolution, resolution)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        masks = torch.from_numpy(self._shapes.masks(factors)).unsqueeze(1)  # (n, 1, H, W)
        scaling = 0.5 + 0.5 * torch.rand(len(factors), 3, 1, 1, generator=rng)
        return masks * (255 * scaling).round().to(torch.uint8)


DECLARED = DataSet(
    "color_dsprites", ColorDSprites.names, ColorDSprites.sizes, "drawn here by the paper's rule", ColorDSprites,
    embedded=True,
)  # fmt: skip
