"""MNIST/STL-10 (contrastive, section 3.1 and appendix A.1): a digit on a photograph, at one of eight positions.

Where the published files are absent, scikit-learn's digits stand in for MNIST and scenes drawn here for STL-10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Index, Rows, Table, check_resolution
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
RECIPES = ("text", "released")
TRAINED = 0.9  # of all images, by the released generator
CROP = 64  # of the 96 pixels of a photograph, by the released generator
FILES = (*mnist.FILES, *stl10.FILES)


class DigitsOnBackgrounds(FactorData):
    """A digit over a background, the brighter of the two in every pixel; `rows` of them, at least one per combination.

    `digits` (n, 1, h, w) and `backgrounds` (n, 3, H, W) have one factor each, their class. Which digit of the class
    and which background of the class is redrawn with every image. All combinations of factors have equally many rows,
    up to rounding, the first factor slowest. Backgrounds have this `brightness`, and are mixed with another of any
    class, which has up to `blend` of the weight.
    """

    names = NAMES

    def __init__(
        self,
        digits: FactorData,
        backgrounds: FactorData,
        rows: int,
        *,
        released: bool = False,
        brightness: float = 1.0,
        blend: float = 0.0,
    ) -> None:
        for part, what in ((digits, "digits"), (backgrounds, "backgrounds")):
            if len(part.sizes) != 1:
                names = ", ".join(part.names) or "none"
                raise InputError(f"{what} have the factors {names}; expected one, their class")
        for name, value in (("brightness", brightness), ("blend", blend)):
            if not 0 <= value <= 1:
                raise InputError(f"{name} is {value:g}; expected 0 to 1")
        self.digits, self.backgrounds = digits, backgrounds
        self.brightness, self.blend = brightness, blend
        self.sizes = (digits.sizes[0], backgrounds.sizes[0], GRID[0] * GRID[1])
        self.image_shape = backgrounds.image_shape
        self.source = f"{digits.source}, on {backgrounds.source}"
        self._rows = max(rows, math.prod(self.sizes))
        self.corners = corners(self.image_shape[1], digits.image_shape[1], released)

    def __len__(self) -> int:
        return self._rows

    def factors_at(self, index: Index) -> Tensor:
        return self.from_grid(self.check_index(index) * math.prod(self.sizes) // len(self))

    def index_of(self, factors: Table) -> Tensor:
        cells = self.to_grid(self.check_factors(factors))
        return -(-cells * len(self) // math.prod(self.sizes))  # rounded up

    def describe(self) -> dict[str, Any]:
        parts = {"digits": self.digits.describe(), "backgrounds": self.backgrounds.describe()}
        changed = {"brightness": self.brightness} if self.brightness < 1 else {}
        changed |= {"blend": self.blend} if self.blend else {}
        return {**super().describe(), "rows": len(self), **parts, **changed}

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        digit = self.digits.images(factors[:, :1], rng)
        images = self._behind(factors[:, 1:2], rng)
        height, width = digit.shape[2:]
        for location, (top, left) in enumerate(self.corners):
            rows = (factors[:, 2] == location).nonzero().flatten()
            box = images[rows, :, top : top + height, left : left + width]
            images[rows, :, top : top + height, left : left + width] = torch.maximum(box, digit[rows])
        return images

    def _behind(self, classes: Tensor, rng: Generator) -> Tensor:
        images = self.backgrounds.images(classes, rng)
        if self.blend:
            others = self.backgrounds.images(torch.randint(self.sizes[1], classes.shape, generator=rng), rng)
            weights = self.blend * torch.rand(len(images), 1, 1, 1, generator=rng)
            images = torch.lerp(images.float(), others.float(), weights).round().to(torch.uint8)
        return images if self.brightness == 1 else (images * self.brightness).round().to(torch.uint8)


def corners(side: int, box: int, released: bool = False) -> list[tuple[int, int]]:
    """Top and left of each position, two rows of four: as far apart as a box inside the image can be.

    The released generator puts a box into the middle of its cell along an axis on which boxes do not overlap.

    >>> corners(64, 28, released=True)[:5]
    [(2, 0), (2, 12), (2, 24), (2, 36), (34, 0)]
    """
    tops, lefts = (_released(side, box, count) if released else _spread(side, box, count) for count in GRID)
    if len(set(lefts)) < len(lefts) or len(set(tops)) < len(tops):
        raise InputError(f"a digit of {box} pixels has no {GRID[1]} positions across {side}; expected a smaller one")
    return [(top, left) for top in tops for left in lefts]


def _spread(side: int, box: int, count: int) -> list[int]:
    positions: list[int] = torch.linspace(0, side - box, count).round().long().tolist()
    return positions


def _released(side: int, box: int, count: int) -> list[int]:
    cell = side // count
    if cell >= box:
        return [position * cell + (cell - box) // 2 for position in range(count)]
    return [position * (side - box) // (count - 1) for position in range(count)]


def open_mnist_stl10(
    resolution: int = 64,
    variant: str = "dc_bc",
    split: str = "train",
    digits: str = "auto",
    backgrounds: str | Path = "auto",
    recipe: str = "text",
    digit_size: float = BOX,
    brightness: float = 1.0,
    blend: float = 0.0,
) -> PairData:
    """Pairs of one variant: 100,000 rows, and 10,000 of the test split in `held_out`; or those alone (`split`).

    `digits` is mnist, sklearn, or auto for mnist where its files are on this machine. `backgrounds` is stl10; scenes,
    drawn once and kept; new_scenes, drawn with every image; auto for one of the first two; or the path of labelled
    pictures: a folder of class folders, or an .npz of images and labels.

    By the recipe `text` (appendix A.1) both files keep their splits, photographs are resized, positions are as far
    apart as can be, and the third factor of a pair is redrawn. By `released`, the generator that the paper's footnote
    names, each file's images are pooled and split 90 to 10, photographs are cropped to their middle, positions are its
    own, and the third factor always differs within a pair.

    `digit_size` is the side of a digit's box over that of the image, `brightness` that of backgrounds. With `blend` b a
    background is mixed with one of a random class, whose weight is uniform from 0 to b. Above ½ the class cannot
    always be told: of ten classes at best 0.1 + 0.9 · ½/b of them.
    """
    check_resolution(resolution, 16)
    check_split("mnist_stl10", split, SPLITS)
    for name, value, known in (("variant", variant, VARIANTS), ("recipe", recipe, RECIPES)):
        if value not in known:
            raise InputError(f"{name} is '{value}'{nearest(value, known)}")
    if not 0 < digit_size < 1:
        raise InputError(f"digit_size is {digit_size:g}; expected more than 0 and less than 1")
    released, box = recipe == "released", max(round(digit_size * resolution), 4)

    def composed(part: str) -> DigitsOnBackgrounds:
        return DigitsOnBackgrounds(
            _open_digits(box, part, digits, released), _open_backgrounds(resolution, part, backgrounds, released),
            ROWS[part], released=released, brightness=brightness, blend=blend,
        )  # fmt: skip

    parts = {name: composed(name) for name in SPLITS}
    data = parts[split]
    data.held_out = parts["test"] if split == "train" else None
    return PairData(data, VARIANTS[variant], differ=released)


def _open_digits(box: int, split: str, name: str, released: bool) -> FactorData:
    if released and (source_here() if name == "auto" else name) == "mnist":
        return pooled([mnist.open_mnist(box, part) for part in SPLITS], split)
    return open_from(name, box, split)


def pooled(parts: Sequence[FactorData], split: str, cropped: int | None = None) -> Rows:
    """The first 90 % of the images of all parts, or for the test split the rest; `cropped` to their middle."""
    images = torch.cat([part.images_at(range(len(part))) for part in parts])
    factors = torch.cat([part.all_factors() for part in parts])
    count = round(TRAINED * len(images))
    rows = slice(count) if split == "train" else slice(count, None)
    margin = 0 if cropped is None else (images.shape[2] - cropped) // 2
    middle = slice(margin, images.shape[2] - margin)
    source = f"{parts[0].source}, pooled"
    return Rows(images[rows, :, middle, middle].clone(), factors[rows], parts[0].names, parts[0].sizes, source=source)


_BACKGROUNDS: dict[str, Callable[[int, str], FactorData]] = {
    "stl10": stl10.open_stl10,
    "scenes": open_scenes,
    "new_scenes": Scenes,
}


def _open_backgrounds(resolution: int, split: str, name: str | Path, released: bool) -> FactorData:
    chosen = _backgrounds_here() if name == "auto" else str(name)
    if released and chosen == "stl10":
        if resolution != CROP:
            raise InputError(f"the released recipe crops photographs to {CROP} pixels; resolution is {resolution}")
        return pooled([stl10.open_stl10(96, part) for part in SPLITS], split, CROP)
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
    defaults={"digit_size": BOX, "brightness": 1.0, "blend": 0.0},
)  # fmt: skip
