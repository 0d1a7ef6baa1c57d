"""Rows of another data set, each with a weight: what subsets, correlated draws and held-out rows are."""

from __future__ import annotations

from typing import Any

from torch import Generator, Tensor

from unbraid.data.factors import FactorData, Index, Rng, RowLookup, Table, digest
from unbraid.errors import InputError


class Selection(FactorData):
    """Rows of another data set, each with a weight. Factors keep their names, sizes and values."""

    def __init__(self, data: FactorData, rows: Tensor, weights: Tensor | None) -> None:
        if not len(rows):
            raise InputError("there is no row to draw from")
        if weights is not None and not bool(weights.sum() > 0):
            raise InputError("no row has a positive weight")
        self.data, self.rows, self.weights = data, rows, weights
        self.names, self.sizes, self.image_shape, self.source = data.names, data.sizes, data.image_shape, data.source
        self.tasks, self.codes, self.missing = data.tasks, data.codes, data.missing
        self.labels = None if data.labels is None else data.labels.rows(rows.numpy())
        self.files = tuple(data.files[row] for row in rows.tolist()) if data.files else ()
        self._lookup: RowLookup | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lookup(self) -> RowLookup:
        if self._lookup is None:
            self._lookup = RowLookup(self, self.all_factors())
        return self._lookup

    def describe(self) -> dict[str, Any]:
        return {**self.data.describe(), "selection": digest(self.rows, self.weights)}

    def factors_at(self, index: Index) -> Tensor:
        return self.data.factors_at(self.rows[self.check_index(index)])

    def index_of(self, factors: Table) -> Tensor:
        return self.lookup.first(self.check_factors(factors))

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self.data.images_at(self.rows[self.check_index(index)], rng)

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        return self.data.batch_at(self.rows[self.check_index(index)], rng)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self.images_at(self.lookup.random(factors, rng), rng)
