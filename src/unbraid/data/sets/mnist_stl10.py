"""MNIST/STL-10 (contrastive, section 3.1 and appendix A.1): a digit on a photograph, at one of eight positions.

Where the published files are absent, scikit-learn's digits stand in for MNIST and scenes drawn here for STL-10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Index, Table, check_resolution
from unbraid.data.files import stored
from unbraid.data.sets import mnist, stl10
from unbraid.data.sets.class_pictures import open_class_pictures
from unbraid.data.sets.digits import SPLITS, open_from, source_here
from unbraid.data.sets.scenes import Scenes, open_scenes
from unbraid.data.stored import check_split
from unbraid.data.wrappers.pairs import PairData
from unbraid.errors import InputError, nearest

NAMES = ("digit", "background", "location")
SIZES = (10, 10, 8)
ROWS = {"train": 100_000, "test": 10_000}
GRID = (2, 4)  # rows and columns of positions
BOX = 28 / 64  # side of a digit's box over that of the image
# What both images of a pair have; the third factor is drawn again.
VARIANTS = {
    "dc_bc": ("digit", "background"),
    "dc_dl": ("digit", "location"),
    "bc_dl": ("background", "location"),
}
FILES = (*mnist.FILES, *stl10.FILES)


class DigitsOnBackgrounds(FactorData):
    """A digit over a background, the brighter of the two in every pixel; `rows` of them, at least one per combination.

    `digits` (n, 1, h, w) and `backgrounds` (n, 3, H, W) have one factor each, their class. Which digit of the class
    and which background of the class is redrawn with every image. All combinations of factors have equally many rows,
    up to rounding, the first factor slowest.
    """

    names = NAMES

    def __init__(self, digits: FactorData, backgrounds: FactorData, rows: int) -> None:
        for part, what in ((digits, "digits"), (backgrounds, "backgrounds")):
            if len(part.sizes) != 1:
                names = ", ".join(part.names) or "none"
                raise InputError(f"{what} have the factors {names}; expected one, their class")
        self.digits, self.backgrounds = digits, backgrounds
        self.sizes = (digits.sizes[0], backgrounds.sizes[0], GRID[0] * GRID[1])
        self.image_shape = backgrounds.image_shape
        self.source = f"{digits.source}, on {backgrounds.source}"
        self._rows = max(rows, math.prod(self.sizes))
        self.corners = corners(self.image_shape[1], digits.image_shape[1])

    def __len__(self) -> int:
        return self._rows

    def factors_at(self, index: Index) -> Tensor:
        return self.from_grid(self.check_index(index) * math.prod(self.sizes) // len(self))

    def index_of(self, factors: Table) -> Tensor:
        cells = self.to_grid(self.check_factors(factors))
        return -(-cells * len(self) // math.prod(self.sizes))  # rounded up

    def describe(self) -> dict[str, Any]:
        parts = {"digits": self.digits.describe(), "backgrounds": self.backgrounds.describe()}
        return {**super().describe(), "rows": len(self), **parts}

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        digit = self.digits.images(factors[:, :1], rng)
        images = self.backgrounds.images(factors[:, 1:2], rng)
        height, width = digit.shape[2:]
        for location, (top, left) in enumerate(self.corners):
            rows = (factors[:, 2] == location).nonzero().flatten()
            box = images[rows, :, top : top + height, left : left + width]
            images[rows, :, top : top + height, left : left + width] = torch.maximum(box, digit[rows])
        return images


def corners(side: int, box: int) -> list[tuple[int, int]]:
    """Top and left of each position: two rows of four, as far apart as a box inside the image can be."""
    tops, lefts = (torch.linspace(0, side - box, count).round().long().tolist() for count in GRID)
    return [(top, left) for top in tops for left in lefts]


def open_mnist_stl10(
    resolution: int = 64,
    variant: str = "dc_bc",
    split: str = "train",
    digits: str = "auto",
    backgrounds: str | Path = "auto",
) -> PairData:
    """Pairs of one variant: 100,000 rows, and 10,000 of the test split in `held_out`; or those alone (`split`).

    `digits` is mnist, sklearn, or auto for mnist where its files are on this machine. `backgrounds` is stl10; scenes,
    drawn once and kept; new_scenes, drawn with every image; auto for one of the first two; or the path of labelled
    pictures: a folder of class folders, or an .npz of images and labels.
    """
    check_resolution(resolution, 16)
    check_split("mnist_stl10", split, SPLITS)
    if variant not in VARIANTS:
        raise InputError(f"variant is '{variant}'{nearest(variant, VARIANTS)}")
    parts = {name: _compose(resolution, name, digits, backgrounds) for name in SPLITS}
    data = parts[split]
    data.held_out = parts["test"] if split == "train" else None
    return PairData(data, VARIANTS[variant])


def _compose(resolution: int, split: str, digits: str, backgrounds: str | Path) -> DigitsOnBackgrounds:
    box = round(BOX * resolution)
    return DigitsOnBackgrounds(
        open_from(digits, box, split), _open_backgrounds(resolution, split, backgrounds), ROWS[split]
    )


_BACKGROUNDS: dict[str, Callable[[int, str], FactorData]] = {
    "stl10": stl10.open_stl10,
    "scenes": open_scenes,
    "new_scenes": Scenes,
}


def _open_backgrounds(resolution: int, split: str, name: str | Path) -> FactorData:
    chosen = _backgrounds_here() if name == "auto" else str(name)
    if chosen in _BACKGROUNDS:
        return _BACKGROUNDS[chosen](resolution, split)
    if not Path(chosen).expanduser().exists():
        known = ["auto", *_BACKGROUNDS]
        raise InputError(f"backgrounds is '{name}', which is not a path either{nearest(chosen, known)}")
    return open_class_pictures(chosen, resolution, split)


def _backgrounds_here() -> str:
    return "stl10" if all(stored(file) for file in stl10.FILES) else "scenes"


def parts_here() -> str:
    """Which parts are real on this machine."""
    digits = {"mnist": "MNIST's digits", "sklearn": "scikit-learn's digits, not MNIST's"}[source_here()]
    backgrounds = {"stl10": "STL-10's photographs", "scenes": "scenes drawn here, not STL-10"}[_backgrounds_here()]
    return f"{digits}; {backgrounds}"


DECLARED = DataSet(
    "mnist_stl10", NAMES, SIZES, "composed here in pairs", open_mnist_stl10, FILES, embedded=True, count=ROWS["train"],
    parts=parts_here, user_files={"backgrounds": ("auto", *_BACKGROUNDS)},
)  # fmt: skip
