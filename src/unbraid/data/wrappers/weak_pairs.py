"""Pairs of images that differ in a few unknown factors (Locatello et al. 2020, weak supervision)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import torch
from torch import Generator, Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, Index, Rng, RowLookup, generator
from unbraid.data.wrappers.annotated import Annotated
from unbraid.errors import InputError


class WeakPairs(Annotated):
    """`data` with a partner for each row of a batch: the same factors except `changes` of them, which are redrawn.

    A batch also holds `partners`, uint8 (n, C, H, W). Which factors change is chosen at random for each row; with
    `changes` 0 so is their number, from one to all but one. A factor is redrawn from its distribution in the data given
    all others: only among rows that exist, by their weight. Several are redrawn one after the other.
    """

    def __init__(self, data: FactorData, changes: int = 1) -> None:
        super().__init__(data)
        data.need_labels("pairs")
        if len(data.names) < 2:
            raise InputError(f"pairs need data with at least two factors; this data has {len(data.names)}")
        if not 0 <= changes < len(data.names):
            raise InputError(f"pair_changes is {changes}; expected 1 to {len(data.names) - 1}, or 0 for any of these")
        self.changes, self.held_out = changes, data.held_out

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {}

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        rng, rows = generator(rng), self.check_index(index)
        batch = self.data.batch_at(rows, rng)
        return {**batch, "partners": self.data.images_at(self.partners_of(rows, rng), rng)}

    def partners_of(self, rows: Tensor, rng: Generator) -> Tensor:
        """A random partner for each of these rows, (n,) -> (n,)."""
        factors, width = self.factors_at(rows), len(self.sizes)
        order = torch.rand(len(rows), width, generator=rng).argsort(1)
        counts = torch.full((len(rows),), self.changes)
        if self.changes == 0:
            counts = torch.randint(1, width, (len(rows),), generator=rng)
        for turn in range(int(counts.max())) if len(rows) else ():
            going = (counts > turn).nonzero().flatten()
            factors[going] = self._redrawn(factors[going], order[going, turn], rng)
        return self._lookup.random(factors, rng)

    def _redrawn(self, factors: Tensor, columns: Tensor, rng: Generator) -> Tensor:
        """Factors (n, k) with one of them, each row's own, redrawn given the others."""
        values, sizes = torch.arange(max(self.sizes)), torch.tensor(self.sizes)
        strides = torch.tensor([math.prod(self.sizes[column + 1 :]) for column in range(len(self.sizes))])
        own = factors.gather(1, columns[:, None])
        cells = self.to_grid(factors)[:, None] + (values - own) * strides[columns, None]  # (row, value)
        weights = torch.where(values < sizes[columns, None], self._weights_of(cells), 0.0)
        weights.scatter_add_(1, own, torch.full(own.shape, 1e-12, dtype=weights.dtype))  # rows of weight 0 stay
        return factors.scatter(1, columns[:, None], torch.multinomial(weights, 1, generator=rng))

    @cached_property
    def _lookup(self) -> RowLookup:
        return RowLookup(self, self.all_factors())

    @cached_property
    def _combinations(self) -> tuple[Tensor, Tensor]:
        """The grid indices of factor combinations that exist, sorted, and the total weight of the rows of each."""
        cells, combination = torch.unique(self.to_grid(self.all_factors()), return_inverse=True)
        weights = torch.ones(len(self), dtype=torch.float64) if self.weights is None else self.weights.double()
        return cells, torch.zeros(len(cells), dtype=torch.float64).index_add_(0, combination, weights)

    def _weights_of(self, cells: Tensor) -> Tensor:
        known, weights = self._combinations
        nearest = torch.searchsorted(known, cells).clamp_(max=len(known) - 1)
        return torch.where(known[nearest] == cells, weights[nearest], 0.0)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "pair_changes": self.changes}


def with_weak_pairs(data: FactorData, pair_changes: int = 1) -> WeakPairs:
    """`data` with partners that differ in this many factors."""
    return WeakPairs(data, pair_changes)


DECLARED = Wrapper(
    with_weak_pairs,
    {"pair_changes": "In how many factors, chosen at random, a pair differs; 0 for one to all but one."},
    gives="partners",
)
