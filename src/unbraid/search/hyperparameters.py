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
STARTS = ("random", "grid")


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
    """The first hyperparameters of `size` members: start values at random, or every combination of them (`grid`)."""
    if how == "grid":
        points = [dict(zip(space, values, strict=True)) for values in product(*(one.start for one in space.values()))]
        if len(points) != size:
            raise InputError(f"the grid has {len(points):,} combinations and size is {size}; expected as many")
        return points
    return [{name: float(rng.choice(one.start)) for name, one in space.items()} for _ in range(size)]


def explore(
    hp: Mapping[str, float], space: Mapping[str, Hyperparameter], rng: Rng, factors: Sequence[float]
) -> dict[str, float]:
    """Each hyperparameter times one of the factors, in range."""
    return {name: one.changed(hp[name], float(rng.choice(factors))) for name, one in space.items()}
