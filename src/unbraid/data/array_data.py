"""ArrayData: your own images with labels, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.factors import FactorData, Index, Rng, Table, digest
from unbraid.data.labels import Labels, as_labels
from unbraid.errors import InputError

Array = np.ndarray[Any, Any]
BINS = 20  # that a continuous factor has as a factor of the data set


class ArrayData(FactorData):
    """Images with typed factors, one row per image, in any order and number.

    `labels` holds the factors as they were given, with their types. As factors of a data set (`factors_at`, int64) they
    are numbered: classes and ordered values by value, continuous ones by 20 bins of equal width, and a missing label
    is -1. `images(factors, rng)` draws among the images with these factors. `digest` identifies images and labels.

    >>> data = ArrayData(np.zeros((4, 8, 8)), {"shape": ["heart", "square", "heart", None]})
    >>> data.names, data.sizes, data.missing
    (('shape',), (2,), 1)
    """

    def __init__(
        self,
        images: Any,
        factors: Any,
        names: Iterable[str] | None = None,
        *,
        types: Mapping[str, str] | None = None,
        source: str = "arrays",
        files: Sequence[str] = (),
        skipped: Sequence[str] = (),
    ) -> None:
        """`images` are uint8, or floats in [0, 1]: (n, H, W), (n, H, W, C) or (n, C, H, W) with C 1, 3 or 4.

        `factors`, `names` and `types` are those of `as_labels`. `files` names each row's file, `skipped` those that
        could not be read.
        """
        self._pixels = _planes(images)
        labels = self.labels = as_labels(factors, names, types)
        if len(self._pixels) != len(labels):
            raise InputError(f"there are {len(self._pixels)} images but {len(labels)} rows of factors")
        self.names, self.source = labels.names, source
        self.files, self.skipped = tuple(files), tuple(skipped)
        channels, height, width = self._pixels.shape[1:]
        self.image_shape = (int(channels), int(height), int(width))
        numbered, self.sizes = _numbered(labels)
        self._factors = torch.from_numpy(numbered)
        self.missing = int((~labels.complete).sum())
        words = "\n".join(map(repr, (self.names, labels.types, labels.levels)))
        described = torch.frombuffer(bytearray(words.encode()), dtype=torch.uint8)
        self.digest = self.content = digest(self._pixels, torch.from_numpy(labels.values), described)
        self._rows_with: dict[bytes, list[int]] | None = None

    def __len__(self) -> int:
        return len(self._pixels)

    def factors_at(self, index: Index) -> Tensor:
        return self._factors[self.check_index(index)]

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self._pixels[self.check_index(index)]

    def index_of(self, factors: Table) -> Tensor:
        return torch.tensor([rows[0] for rows in self._matching(self.check_factors(factors))], dtype=torch.int64)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        matching = self._matching(factors)
        return self._pixels[[rows[int(torch.randint(len(rows), (1,), generator=rng))] for rows in matching]]

    def _matching(self, factors: Tensor) -> list[list[int]]:
        """The rows with each of these combinations of factors. Those of many factors have no grid to be numbered by."""
        if self._rows_with is None:
            self._rows_with = {}
            for row, combination in enumerate(self._factors.numpy()):
                self._rows_with.setdefault(combination.tobytes(), []).append(row)
        matching = []
        for combination in factors.numpy():
            rows = self._rows_with.get(np.ascontiguousarray(combination).tobytes())
            if rows is None:
                named = ", ".join(f"{name}={value}" for name, value in zip(self.names, combination, strict=True))
                raise InputError(f"no image here has {named}")
            matching.append(rows)
        return matching


def as_bytes(where: str, array: Array) -> Array:
    """uint8 (n, H, W) or (n, H, W, C) from other layouts: channels first or last, bytes or floats in [0, 1].

    `where` names the images in errors.
    """
    expected = "expected uint8, or floats in [0, 1], of shape (n, H, W), (n, H, W, C) or (n, C, H, W) with C 1, 3 or 4"
    colours = (1, 3, 4)
    if array.ndim == 4 and array.shape[3] not in colours and array.shape[1] in colours:
        array = array.transpose(0, 2, 3, 1)
    shaped = array.ndim == 3 or (array.ndim == 4 and array.shape[3] in colours)
    if not shaped or array.size == 0:
        raise InputError(f"{where}: images are {array.dtype} {array.shape}; {expected}")
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            raise InputError(f"{where}: images are floats from {array.min():g} to {array.max():g}; {expected}")
        array = (array * 255).round().astype(np.uint8)
    elif array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype != np.uint8:
        raise InputError(f"{where}: images are {array.dtype}; {expected}")
    return np.ascontiguousarray(array[..., 0] if array.ndim == 4 and array.shape[3] == 1 else array)


def _planes(images: Any) -> Tensor:
    """uint8 (n, C, H, W) with C 1 or 3, transparent images on white."""
    if isinstance(images, Tensor):
        images = images.detach().cpu().numpy()
    array = as_bytes("ArrayData", np.asarray(images))
    if array.ndim == 3:
        return torch.from_numpy(array[:, None].copy())
    if array.shape[3] == 4:
        alpha = array[..., 3:].astype(np.float32) / 255
        array = (array[..., :3] * alpha + 255 * (1 - alpha)).round().astype(np.uint8)
    return torch.from_numpy(array.transpose(0, 3, 1, 2).copy())


def _numbered(labels: Labels) -> tuple[Array, tuple[int, ...]]:
    """The factors as numbers 0, 1, …, -1 where a label is missing: int64 (n, k), and how many each has."""
    numbered, sizes = np.full(labels.values.shape, -1, np.int64), []
    for column, (name, factor_type, levels) in enumerate(zip(labels.names, labels.types, labels.levels, strict=True)):
        values = labels.values[:, column]
        known = ~np.isnan(values)
        if not known.any():
            raise InputError(f"factor '{name}' has no labels; leave it out")
        if factor_type == "continuous":
            low, high = values[known].min(), values[known].max()
            width = (high - low) / BINS or 1.0
            numbered[known, column] = ((values[known] - low) / width).clip(0, BINS - 1).astype(np.int64)
            sizes.append(BINS)
        elif levels:
            numbered[known, column] = values[known]
            sizes.append(len(levels))
        else:
            distinct, numbered[known, column] = np.unique(values[known], return_inverse=True)
            sizes.append(len(distinct))
    return numbered, tuple(sizes)
