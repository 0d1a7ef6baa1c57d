"""Rows that share the value of a factor, for the BetaVAE and FactorVAE scores."""

from __future__ import annotations

import warnings

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array
from unbraid.metrics._information import relabel

FEW = 8  # rows; values with fewer give batches that repeat the same few rows


def need_points(**counts: int) -> None:
    """Refuse empty batches and empty sets of points."""
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} is {count}; expected at least 1")


class Interventions:
    """Draws rows that share the value of a factor from the given rows."""

    def __init__(self, labels: Array) -> None:
        numbered, self.values = relabel(labels)
        self.labels = numbered
        self._order = [np.argsort(column, kind="stable") for column in numbered.T]
        self._count = [np.bincount(column) for column in numbered.T]
        self._start = [np.cumsum(count) - count for count in self._count]
        few = [f"{j} ({int((count < FEW).sum())} values)" for j, count in enumerate(self._count) if count.min() < FEW]
        if few:
            warnings.warn(f"some factors have values with fewer than {FEW} rows: {', '.join(few)}", stacklevel=3)

    def same_value(self, rng: np.random.Generator, column: int, values: Array) -> Array:
        """A random row for each of the given values of a factor, in the shape of `values`."""
        offset = rng.random(values.shape) * self._count[column][values]
        return np.asarray(self._order[column][self._start[column][values] + offset.astype(np.int64)])
