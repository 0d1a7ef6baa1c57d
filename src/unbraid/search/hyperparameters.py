"""Hyperparameters that a population searches: where they begin, how they change, and their range."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from unbraid.errors import InputError

Rng = np.random.Generator
Array = np.ndarray[Any, Any]
STARTS = ("stratified", "random", "grid")


@dataclass(frozen=True)
class Hyperparameter:
    """Start values, and the range that changes stay in."""

    start: tuple[float, ...]
    low: float
    high: float
    whole: bool = False
    """Whether it is rounded up to a whole number."""

    def __post_init__(self) -> None:
        if not self.start or not self.low <= min(self.start) <= max(self.start) <= self.high:
            given = ", ".join(f"{value:g}" for value in self.start) or "none"
            raise InputError(f"start values are {given}; expected at least one, from {self.low:g} to {self.high:g}")

    @property
    def record(self) -> dict[str, Any]:
        """As JSON has it: no limit is null."""
        return {**dataclasses.asdict(self), "high": self.high if math.isfinite(self.high) else None}

    def changed(self, value: float, factor: float) -> float:
        """The value times the factor, in range."""
        product = value * factor
        if self.whole:
            product = math.ceil(round(product, 9))  # so that 18.000000000000004 becomes 18, not 19
        return float(min(max(product, self.low), self.high))


def starts(space: Mapping[str, Hyperparameter], size: int, how: str, rng: Rng) -> list[dict[str, float]]:
    """The first hyperparameters of `size` members: start values over the whole range of each hyperparameter.

    `stratified` spreads the members over the range, `random` draws each value by itself, and `grid` is every
    combination. Each start value is as likely as the others in both of the first two.
    """
    if how == "grid":
        points = [dict(zip(space, values, strict=True)) for values in product(*(one.start for one in space.values()))]
        if len(points) != size:
            raise InputError(f"the grid has {len(points):,} combinations and size is {size}; expected as many")
        return points
    if how == "random":
        return [{name: float(rng.choice(one.start)) for name, one in space.items()} for _ in range(size)]
    shares = _spread([len(one.start) for one in space.values()], size, rng)
    columns = zip(space.items(), shares.T, strict=True)
    values = {
        name: [float(one.start[int(share * len(one.start))]) for share in column] for (name, one), column in columns
    }
    return [{name: column[member] for name, column in values.items()} for member in range(size)]


def _spread(counts: Sequence[int], size: int, rng: Rng) -> Array:
    """Points in the unit cube (size, hyperparameters), one in each of `size` equal parts of every hyperparameter.

    The two hyperparameters with the most start values, such as learning rate and strength, form a lattice: no large
    rectangle of the two is without a member, as many are by chance where members are few. Others are shuffled.
    """
    order = sorted(range(len(counts)), key=lambda column: -counts[column])
    parts = np.stack([rng.permutation(size) for _ in counts], 1)
    if len(order) > 1:
        parts[:, order[1]] = parts[:, order[0]] * _multiplier(size) % size
    return np.asarray((parts + rng.random(len(counts))) % size / size)


def _multiplier(size: int) -> int:
    """The m for which the points (k, mk) of a torus of `size` are farthest apart."""
    steps = np.arange(1, size)

    def gap(m: int) -> int:
        across = m * steps % size
        return int(min(np.minimum(steps, size - steps) ** 2 + np.minimum(across, size - across) ** 2, default=0))

    return max((m for m in range(1, max(size, 2)) if math.gcd(m, size) == 1), key=gap)


def explore(
    hp: Mapping[str, float], space: Mapping[str, Hyperparameter], rng: Rng, factors: Sequence[float]
) -> dict[str, float]:
    """Each hyperparameter times one of the factors, in range."""
    return {name: one.changed(hp[name], float(rng.choice(factors))) for name, one in space.items()}
