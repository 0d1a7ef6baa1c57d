"""Other draws from the same images: some of the rows, correlated factors, combinations kept out of training.

Each is a FactorData over a FactorData, so that they compose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.factors import FactorData, Index, Rng, RowLookup, Table, digest, generator
from unbraid.data.wrappers.annotated import read_array
from unbraid.errors import InputError


class Selection(FactorData):
    """Rows of another data set, each with a weight. Factors keep their names, sizes and values."""

    def __init__(self, data: FactorData, rows: Tensor, weights: Tensor | None) -> None:
        if not len(rows):
            raise InputError("no row is left to draw from")
        if weights is not None and not bool(weights.sum() > 0):
            raise InputError("no row with a positive weight is left to draw from")
        self.data, self.rows, self.weights = data, rows, weights
        self.names, self.sizes, self.image_shape, self.source = data.names, data.sizes, data.image_shape, data.source
        self.tasks, self.codes = data.tasks, data.codes
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


class Subset(Selection):
    """The given rows of `data`, in the order given."""

    def __init__(self, data: FactorData, rows: Index) -> None:
        rows = data.check_index(rows)
        super().__init__(data, rows, None if data.weights is None else data.weights[rows])


class HeldOut(Selection):
    """`data` without the rows for which `predicate` holds; those are in `held_out`, for testing.

    `predicate` gets the factors by name, a column each, and answers with a boolean column:
    `HeldOut(data, lambda f: (f["shape"] == 2) & (f["x"] < 16))` never shows a heart on the left.
    """

    def __init__(self, data: FactorData, predicate: Callable[[Mapping[str, Tensor]], Tensor]) -> None:
        columns = dict(zip(data.names, data.all_factors().T, strict=True))
        try:
            out = torch.as_tensor(predicate(columns))
        except KeyError as error:
            raise InputError(f"there is no factor {error}; known are {', '.join(data.names)}") from error
        if out.shape != (len(data),) or out.dtype != torch.bool:
            found = f"{out.dtype} of shape {tuple(out.shape)}"
            raise InputError(f"the predicate gave {found}; expected bool ({len(data)},)")
        if not bool(out.any()):
            raise InputError("the predicate holds for no row; nothing would be held out")
        rows = (~out).nonzero().flatten()
        super().__init__(data, rows, None if data.weights is None else data.weights[rows])
        self.held_out = Subset(data, out.nonzero().flatten())


class Correlated(Selection):
    """`data` with rows drawn by weight, so that pairs of factors are correlated. No row is added or taken away.

    `pairs` names the factors: a sequence of `(a, b)`, for each of which p(a, b) ∝ exp(-(a - b)² / 2σ²) with both
    factors scaled to [0, 1] and σ = `strength` (0.1 is strong, 1 is weak); or a mapping from `(a, b)` to a joint table
    of its own, nonnegative, of shape (size of a, size of b). The weights of several pairs multiply.
    """

    def __init__(
        self,
        data: FactorData,
        pairs: Sequence[tuple[str, str]] | Mapping[tuple[str, str], Tensor | np.ndarray[Any, Any]],
        strength: float = 0.2,
    ) -> None:
        factors = data.all_factors()
        weights = torch.ones(len(data), dtype=torch.float64) if data.weights is None else data.weights.clone()
        self.tables: dict[tuple[str, str], Tensor] = {}
        for pair in pairs:
            a, b = data.column(pair[0]), data.column(pair[1])
            if a == b:
                raise InputError(f"factor '{pair[0]}' cannot be correlated with itself")
            sizes = (data.sizes[a], data.sizes[b])
            table = _joint(pair, pairs[pair], sizes) if isinstance(pairs, Mapping) else _bell(sizes, strength)
            weights *= table[factors[:, a], factors[:, b]]
            self.tables[pair] = table / table.sum()
        super().__init__(data, torch.arange(len(data)), weights)


def _bell(sizes: tuple[int, int], strength: float) -> Tensor:
    """exp(-(a - b)² / 2σ²) on factors scaled to [0, 1]."""
    if not strength > 0:
        raise InputError(f"strength is {strength}; expected the width of the joint distribution, a number above 0")
    a, b = (torch.linspace(0, 1, size, dtype=torch.float64) for size in sizes)
    return torch.exp(-((a[:, None] - b) ** 2) / (2 * strength**2))


def _joint(pair: tuple[str, str], table: Tensor | np.ndarray[Any, Any], sizes: tuple[int, int]) -> Tensor:
    joint = torch.as_tensor(table, dtype=torch.float64)
    if tuple(joint.shape) != sizes:
        raise InputError(f"the joint table of {pair} has shape {tuple(joint.shape)}; expected {sizes}")
    if not bool((joint >= 0).all() and joint.isfinite().all() and joint.sum() > 0):
        raise InputError(f"the joint table of {pair} must be finite and nonnegative with a positive sum")
    return joint


def split(data: FactorData, fractions: Sequence[float], rng: Rng) -> list[Subset]:
    """Disjoint random subsets with these fractions of the rows; what the fractions leave over is in none of them."""
    if not fractions or min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
        raise InputError(f"fractions are {list(fractions)}; expected positive numbers that sum to at most 1")
    order = torch.randperm(len(data), generator=generator(rng))
    edges = [min(round(sum(fractions[:i]) * len(data)), len(data)) for i in range(len(fractions) + 1)]
    return [Subset(data, order[start:stop]) for start, stop in pairwise(edges)]


def with_rows(data: FactorData, rows: int = 0, rows_seed: int = 0) -> FactorData:
    """This many random rows of `data`, in the order they have there, as if it had no more."""
    if not 0 < rows <= len(data):
        raise InputError(f"rows is {rows:,}; the data has {len(data):,}, and at least one is needed")
    return Subset(data, torch.randperm(len(data), generator=generator(rows_seed))[:rows].sort().values)


def with_row_file(data: FactorData, row_file: str = "") -> Subset:
    """The rows of `data` that an .npy file lists, in its order, as if it had no more."""
    return Subset(data, read_array(row_file, "rows"))


def with_coarse(data: FactorData, coarse: str = "") -> FactorData:
    """`data` on a coarser grid: `x=4,y=4` keeps every fourth value of x and of y, the first among them."""
    keep = torch.ones(len(data), dtype=torch.bool)
    factors = data.all_factors()
    for part in coarse.split(","):
        name, _, step = part.partition("=")
        column = data.column(name)
        if not step.isdigit() or not 0 < int(step) <= data.sizes[column]:
            raise InputError(f"coarse is '{coarse}'; expected factors with steps from 1 to their size, as x=4,y=4")
        keep &= factors[:, column] % int(step) == 0
    return Subset(data, keep.nonzero().flatten())


def with_held_out(data: FactorData, held_out: float = 0.0, split_seed: int = 0) -> FactorData:
    """`data` without a random fraction of its rows; those are its `held_out`, for testing."""
    if not 0 < held_out < 1:
        raise InputError(f"held_out is {held_out}; expected a fraction of the rows between 0 and 1")
    train, test = split(data, [1 - held_out, held_out], split_seed)
    train.held_out = test
    return train


def with_correlated(
    data: FactorData, correlated: str = "", correlation_width: float = 0.2, joint_file: str = ""
) -> Correlated:
    """`data` drawn so that factors are correlated, `a,b` or several pairs `a,b;c,d`; rows held out stay as they are.

    p(a, b) is a band of this width, or what an .npy file (values of a, values of b) says of one pair.
    """
    pairs = [tuple(part.strip() for part in pair.split(",")) for pair in correlated.split(";")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise InputError(f"correlated is '{correlated}'; expected two factors as a,b, or several pairs as a,b;c,d")
    if not correlation_width > 0:
        raise InputError(f"correlation_width is {correlation_width}; expected a number above 0")
    named = [(pair[0], pair[1]) for pair in pairs]
    if joint_file and len(named) > 1:
        raise InputError(f"joint_file is a table of two factors and correlated names {len(named)} pairs; expected one")
    if joint_file:
        found = Correlated(data, {named[0]: read_array(joint_file, "probabilities")})
    else:
        found = Correlated(data, named, correlation_width)
    found.held_out = data.held_out
    return found


def with_draws(data: FactorData, draws: int = 0, draws_seed: int = 0) -> Selection:
    """A set of this many random rows of `data`, by weight and with repetition, as if it had no more."""
    if draws < 1:
        raise InputError(f"draws is {draws}; expected at least 1")
    found = Selection(data, data.sample_index(draws, draws_seed), None)
    found.held_out = data.held_out
    return found
