"""Data that holds more for each row than an image and factors: targets to learn, codes of an encoder, a partner."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from torch import Generator, Tensor

from unbraid.data.factors import FactorData, Index, Rng, Table
from unbraid.errors import InputError

Array = np.ndarray[Any, Any]


class Annotated(FactorData):
    """Another data set whose batches hold further entries. Rows, factors and images are those of `data`."""

    def __init__(self, data: FactorData) -> None:
        self.data = data
        self.names, self.sizes, self.image_shape, self.source = data.names, data.sizes, data.image_shape, data.source
        self.weights, self.tasks, self.codes, self.missing = data.weights, data.tasks, data.codes, data.missing
        self.labels = data.labels

    @abstractmethod
    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        """What is added to the batch of these rows, by name, samples first."""

    def __len__(self) -> int:
        return len(self.data)

    def describe(self) -> dict[str, Any]:
        return self.data.describe()

    def factors_at(self, index: Index) -> Tensor:
        return self.data.factors_at(index)

    def index_of(self, factors: Table) -> Tensor:
        return self.data.index_of(factors)

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self.data.images_at(index, rng)

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        rows = self.check_index(index)
        return {**self.data.batch_at(rows, rng), **self.extras(rows)}

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self.data._images(factors, rng)


def one_row_each(array: Array, data: FactorData, what: str) -> Array:
    """`array` as (rows, columns), or an InputError unless it has one row for each row of the data."""
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2 or not table.shape[1]:
        raise InputError(f"{what} have shape {array.shape}; expected ({len(data)}, columns)")
    if len(table) != len(data):
        raise InputError(f"{what} have {len(table):,} rows and the data has {len(data):,}; expected one for each")
    return table


def finite_numbers(column: Array, name: str, otherwise: str = "") -> Array:
    """A column (n,) as float32, or an InputError that names the first value that is not a finite number."""
    if column.dtype.kind not in "fiub":
        raise InputError(f"{name} is {column[0].item()!r} at row 0; expected numbers{otherwise}")
    numbers = column.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(f"{name} is {column[bad[0]]} at row {bad[0]}; expected finite numbers")
    return numbers
