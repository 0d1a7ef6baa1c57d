"""FactorData: images with known factors of variation, and the arithmetic between rows and factors."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.arguments import need_whole
from unbraid.data.labels import Labels, as_labels
from unbraid.errors import InputError, nearest, shown

if TYPE_CHECKING:
    from PIL import Image

LISTED = 12  # factors that `repr` lists
Rng = Generator | np.random.Generator | int | None
Table = Tensor | np.ndarray[Any, Any] | Sequence[Sequence[int]]  # factors (n, k)
Index = Tensor | np.ndarray[Any, Any] | Sequence[int]  # rows (n,)
CLASSES = {
    "background_color", "category", "class", "colour", "digit", "object", "object_color", "object_shape", "shape",
}  # fmt: skip
"""The factors of the data sets here whose values have no order."""
_DIGESTED = 64_000_000  # bytes of images that a digest reads at most


def generator(rng: Rng) -> Generator:
    """A torch generator from a seed, a torch or a NumPy generator. None is seed 0: the same call, the same draw."""
    if isinstance(rng, Generator):
        return rng
    if isinstance(rng, np.random.Generator):
        rng = int(rng.integers(2**63))
    return Generator().manual_seed(0 if rng is None else need_whole("the seed", rng, 0, 2**64 - 1))


def check_resolution(resolution: int, smallest: int = 4, largest: int = 256) -> int:
    """`resolution`, or an InputError when it is not a whole number in the range that can be drawn."""
    if isinstance(resolution, bool) or not isinstance(resolution, int) or not smallest <= resolution <= largest:
        raise InputError(f"resolution is {resolution!r}; expected a whole number from {smallest} to {largest}")
    return resolution


def _as_tensor(values: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{name} are {shown(values)}; expected an array of whole numbers") from error


def digest(*values: Tensor | None) -> str:
    """A short digest of the bytes of tensors."""
    state = hashlib.sha256()
    for value in values:
        if value is not None:
            state.update(f"{value.dtype}{tuple(value.shape)}".encode())
            state.update(value.contiguous().numpy().data)
    return state.hexdigest()[:16]


def png_element(image: Image.Image) -> str:
    """A picture as HTML that holds it."""
    file = io.BytesIO()
    image.save(file, format="PNG")
    return f'<img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'


class FactorData(ABC):
    """Images that are a (possibly stochastic) function of discrete factors of variation.

    `names` and `sizes` list the factors and how many values each has; `image_shape` is (C, H, W). A data set has `len`
    rows; unless a subclass says otherwise they are the full grid of factor values, the last factor fastest. `weights`
    is None where rows are drawn uniformly, else one positive number per row. A data set without factors (a folder of
    pictures) has no names, and `images` cannot tell its rows apart.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    image_shape: tuple[int, int, int]
    source: str = "drawn"  # a few words on where the images come from
    content: str = ""  # a digest of the images, where they come from the user's own files
    opened: Mapping[str, Any] | None = None  # the arguments of `load` that open it again
    weights: Tensor | None = None
    tasks: tuple[int, ...] = ()  # for supervised data, the classes of each task; 1 where its target is a number
    codes: int = 0  # dimensions of the codes in a batch, where it holds some
    held_out: FactorData | None = None  # rows kept for testing
    missing: int = 0  # rows without some label; their factor is -1
    labels: Labels | None = None  # the factors of every row with their types, where they are the user's own
    files: tuple[str, ...] = ()  # the name of each row's picture, where they come from a folder of the user's
    _cumulative: Tensor | None = None

    @abstractmethod
    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        """uint8 (n, C, H, W) for factors (n, k) that have been checked."""

    def __len__(self) -> int:
        return math.prod(self.sizes)

    def __repr__(self) -> str:
        """`DSprites(737,280 images 64x64x1; shape 3, scale 6, orientation 40, x 32, y 32)`."""
        channels, height, width = self.image_shape
        factors = [f"{name} {size}" for name, size in zip(self.names, self.sizes, strict=True)]
        shown = ", ".join([*factors[:LISTED], *(["…"] if len(factors) > LISTED else [])]) or "no factors"
        return f"{type(self).__name__}({len(self):,} images {height}x{width}x{channels}; {shown})"

    def _repr_html_(self) -> str:
        """For notebooks: what it is, and a sheet of images."""
        return f"<div>{html.escape(repr(self))}</div>{png_element(self.plot())}"

    def plot(self) -> Image.Image:
        """A contact sheet: random images, and one row per factor in which only that factor changes."""
        import unbraid  # its public name, imported on first use: data does not depend on pictures

        return unbraid.plot(self)

    def images(self, factors: Table, rng: Rng = None) -> Tensor:
        """The images with these factors: (n, k) in, uint8 (n, C, H, W) out. `rng` draws the rest."""
        return self._images(self.check_factors(factors), generator(rng))

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        """The images of these rows: (n,) in, uint8 (n, C, H, W) out."""
        return self._images(self.factors_at(index), generator(rng))

    def sample(self, n: int, rng: Rng) -> tuple[Tensor, Tensor]:
        """n random images, uint8 (n, C, H, W), and their factors, int64 (n, k)."""
        rng = generator(rng)
        index = self.sample_index(n, rng)
        return self.images_at(index, rng), self.factors_at(index)

    def batch(self, n: int, rng: Rng) -> dict[str, Tensor]:
        """`batch_at` of n random rows."""
        rng = generator(rng)
        return self.batch_at(self.sample_index(n, rng), rng)

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        """What a training step may need, by name. Wrappers add to it (targets, a second view)."""
        return {"images": self.images_at(index, rng), "factors": self.factors_at(index)}

    def sample_index(self, n: int, rng: Rng) -> Tensor:
        """n random rows, int64 (n,), by weight where rows are weighted."""
        rng = generator(rng)
        if self.weights is None:
            return torch.randint(len(self), (n,), generator=rng)
        if self._cumulative is None:
            self._cumulative = self.weights.double().cumsum(0)
        points = torch.rand(n, generator=rng, dtype=torch.float64) * self._cumulative[-1]
        return torch.searchsorted(self._cumulative, points, right=True).clamp_(max=len(self) - 1)

    def factors_at(self, index: Index) -> Tensor:
        """The factors of these rows: (n,) in, int64 (n, k) out."""
        return self.from_grid(self.check_index(index))

    def labels_at(self, index: Index) -> Labels:
        """The factors of these rows with their names and types."""
        if self.labels is not None:
            return self.labels.rows(self.check_index(index).numpy())
        types = dict.fromkeys((name for name in self.names if name in CLASSES), "classes")
        return as_labels(self.factors_at(index), self.names, types)

    def index_of(self, factors: Table) -> Tensor:
        """The first row that has these factors: (n, k) in, int64 (n,) out."""
        return self.to_grid(self.check_factors(factors))

    def to_grid(self, factors: Tensor) -> Tensor:
        """Each factor combination as one number, its index on the full grid, last factor fastest: (n, k) -> (n,)."""
        cells = torch.zeros(len(factors), dtype=torch.int64)
        for column, size in enumerate(self.sizes):
            cells = cells * size + factors[:, column]
        return cells

    def from_grid(self, cells: Tensor) -> Tensor:
        """The inverse of `to_grid`: (n,) -> (n, k)."""
        factors = torch.empty(len(cells), len(self.sizes), dtype=torch.int64)
        for column in range(len(self.sizes) - 1, -1, -1):
            factors[:, column] = cells % self.sizes[column]
            cells = cells // self.sizes[column]
        return factors

    def all_factors(self) -> Tensor:
        """The factors of every row, int64 (len, k)."""
        return self.factors_at(torch.arange(len(self)))

    def describe(self) -> dict[str, Any]:
        """What distinguishes this data from other data, for the identity of a run: nothing about paths or machine."""
        return {
            "data": self.opened["name"] if self.opened else type(self).__name__,
            "image_shape": list(self.image_shape),
            "sizes": list(self.sizes),
            "content": self.content or self._drawn_content(),
        }

    def _drawn_content(self) -> str:
        """A digest of the images and factors of a user's own class, of evenly spaced rows where they are many."""
        if type(self).__module__.partition(".")[0] == "unbraid":
            return ""  # its name says what it holds
        most = max(1, _DIGESTED // math.prod(self.image_shape))
        rows = torch.arange(0, len(self), -(-len(self) // most))
        parts = [(self.images_at(some, 0), self.factors_at(some)) for some in torch.split(rows, 1024)]
        return digest(*(tensor for part in parts for tensor in part))

    def column(self, name: str) -> int:
        """The position of the factor called `name`."""
        if name not in self.names:
            raise InputError(f"there is no factor '{name}'{nearest(name, self.names)}")
        return self.names.index(name)

    def need_labels(self, what: str) -> None:
        """Refuse missing labels; `what` says what needs them."""
        if self.missing:
            raise InputError(f"{what} need every label; {self.missing:,} rows have missing labels")

    def check_factors(self, factors: Table) -> Tensor:
        """`factors` as int64 (n, k), or an InputError that names the factor that is out of range."""
        table = _as_tensor(factors, "factors")
        if table.ndim != 2 or table.shape[1] != len(self.sizes):
            expected = f"(n, {len(self.sizes)})" + (f" for {', '.join(self.names)}" if self.names else "")
            raise InputError(f"factors have shape {tuple(table.shape)}; expected {expected}")
        if table.is_floating_point() or table.is_complex() or table.dtype == torch.bool:
            raise InputError(f"factors are {table.dtype}; expected integers (the index of each factor's value)")
        table = table.to("cpu", torch.int64)
        if len(table):
            low, high = table.amin(0).tolist(), table.amax(0).tolist()
            for name, size, smallest, largest in zip(self.names, self.sizes, low, high, strict=True):
                if smallest < 0 or largest >= size:
                    culprit = smallest if smallest < 0 else largest
                    raise InputError(f"factor '{name}' is {culprit}; expected 0 to {size - 1}")
        return table

    def check_index(self, index: Index) -> Tensor:
        """`index` as int64 (n,), or an InputError."""
        rows = _as_tensor(index, "rows")
        if rows.shape == (0,):
            return rows.to("cpu", torch.int64)
        if rows.ndim != 1 or rows.is_floating_point() or rows.is_complex() or rows.dtype == torch.bool:
            raise InputError(f"rows are {rows.dtype} of shape {tuple(rows.shape)}; expected integers of shape (n,)")
        rows = rows.to("cpu", torch.int64)
        smallest, largest = (int(bound) for bound in rows.aminmax())
        if smallest < 0 or largest >= len(self):
            culprit = smallest if smallest < 0 else largest
            raise InputError(f"row {culprit} does not exist; expected 0 to {len(self) - 1}")
        return rows


class RowLookup:
    """Finds the rows that have given factors, where rows are not the full grid or a combination has several."""

    def __init__(self, data: FactorData, factors: Tensor) -> None:
        self._data = data
        self._cells, self._order = data.to_grid(factors).sort(stable=True)

    def _range(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        cells = self._data.to_grid(factors)
        start = torch.searchsorted(self._cells, cells)
        count = torch.searchsorted(self._cells, cells, right=True) - start
        if bool((count == 0).any()):
            missing = factors[count == 0][0].tolist()
            named = ", ".join(f"{name}={value}" for name, value in zip(self._data.names, missing, strict=True))
            raise InputError(f"no image here has {named}")
        return start, count

    def first(self, factors: Tensor) -> Tensor:
        start, _ = self._range(factors)
        return self._order[start]

    def random(self, factors: Tensor, rng: Generator) -> Tensor:
        start, count = self._range(factors)
        offset = (torch.rand(len(factors), generator=rng, dtype=torch.float64) * count).long()
        return self._order[start + offset]


class Rows(FactorData):
    """Stored images with one factor combination per row, in any order and number: MNIST by digit.

    `images(factors, rng)` draws a row at random among those with the factors, so what the factors do not determine
    (who wrote the digit) varies.
    """

    def __init__(
        self, images: Tensor, factors: Tensor, names: Sequence[str], sizes: Sequence[int], *, source: str
    ) -> None:
        if len(images) != len(factors):
            raise InputError(f"{len(images)} images but {len(factors)} rows of factors")
        self.names, self.sizes, self.source = tuple(names), tuple(sizes), source
        channels, height, width = images.shape[1:]
        self.image_shape = (int(channels), int(height), int(width))
        self._pixels = images
        self._factors = self.check_factors(factors)
        self._lookup: RowLookup | None = None

    def __len__(self) -> int:
        return len(self._pixels)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "content": digest(self._pixels, self._factors)}

    @property
    def lookup(self) -> RowLookup:
        if self._lookup is None:
            self._lookup = RowLookup(self, self._factors)
        return self._lookup

    def factors_at(self, index: Index) -> Tensor:
        return self._factors[self.check_index(index)]

    def index_of(self, factors: Table) -> Tensor:
        return self.lookup.first(self.check_factors(factors))

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self._pixels[self.check_index(index)]

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self.images_at(self.lookup.random(factors, rng))
