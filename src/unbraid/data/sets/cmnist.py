"""CMNIST (intervention, appendix B): handwritten digits in ten colours. The writer is not a factor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Index, Rows, Table, check_resolution
from unbraid.data.sets import mnist
from unbraid.data.sets.digits import SPLITS, open_from
from unbraid.data.sets.shapes3d import HUES, LEVELS
from unbraid.data.stored import check_split

NAMES = ("digit", "colour")
SIZES = (10, len(HUES))
FILES = mnist.FILES
COLOURS = torch.from_numpy(LEVELS[HUES]).float()  # (10, 3): the hues of 3D Shapes


class ColouredDigits(FactorData):
    """Every digit in every colour, on black: one row per digit and colour, the colour fastest."""

    names, sizes = NAMES, SIZES

    def __init__(self, digits: Rows) -> None:
        """`digits` are grey images whose one factor is the digit."""
        self.digits = digits
        self.image_shape = (3, *digits.image_shape[1:])
        self.source = f"{digits.source}, in ten colours"

    def __len__(self) -> int:
        return len(self.digits) * len(COLOURS)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "content": self.digits.describe()["content"]}

    def factors_at(self, index: Index) -> Tensor:
        rows = self.check_index(index)
        return torch.cat([self.digits.factors_at(rows // len(COLOURS)), rows[:, None] % len(COLOURS)], 1)

    def index_of(self, factors: Table) -> Tensor:
        table = self.check_factors(factors)
        return self.digits.index_of(table[:, :1]) * len(COLOURS) + table[:, 1]

    def images_at(self, index: Index, rng: Any = None) -> Tensor:
        rows = self.check_index(index)
        return painted(self.digits.images_at(rows // len(COLOURS)), rows % len(COLOURS))

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return painted(self.digits.images(factors[:, :1], rng), factors[:, 1])


def painted(images: Tensor, colours: Tensor) -> Tensor:
    """Grey images (n, 1, H, W) in these colours (n,): uint8 (n, 3, H, W)."""
    return (images * COLOURS[colours][:, :, None, None]).round().to(torch.uint8)


def open_cmnist(resolution: int = 28, split: str = "train", digits: str = "auto") -> ColouredDigits:
    """Digits of the training split, with those of the test split in `held_out`; or those alone (`split`).

    `digits` is mnist, sklearn, or auto for mnist where its files are on this machine, else sklearn.
    """
    check_resolution(resolution)
    check_split("cmnist", split, SPLITS)
    parts = {name: ColouredDigits(open_from(digits, resolution, name)) for name in SPLITS}
    data = parts[split]
    data.held_out = parts["test"] if split == "train" else None
    return data


DECLARED = DataSet(
    "cmnist", NAMES, SIZES, "MNIST's digits if downloaded, else scikit-learn's 1,797, in ten colours", open_cmnist,
    FILES, embedded=True, count=700_000,
)  # fmt: skip
