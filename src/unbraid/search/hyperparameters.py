"""What a population searches: where its members' hyperparameters begin, and how far they may go."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.methods import method_class

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
        found = value * factor
        if self.whole:
            found = math.ceil(round(found, 9))  # what should be 18 is not 19 for its last digit
        return float(min(max(found, self.low), self.high))


# The start values of the paper's released code. It has no smallest batch and no range of learning rates; here halving
# ends at the smallest batch it begins with, and at a tenth of the least learning rate.
KNOWN = {
    "learning_rate": Hyperparameter(tuple(np.logspace(-5, 0, 30).tolist()), 1e-6, 1.0),
    "batch_size": Hyperparameter((8, 16, 32, 64, 128, 256, 512, 1024), 8, 1024, whole=True),
    "beta": Hyperparameter(
        (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 37, 47, 60, 77, 99, 127, 163, 208, 267, 342, 437),
        1, math.inf, whole=True,
    ),
}  # fmt: skip

AROUND = (0.2, 0.4, 1.0, 2.0, 4.0, 10.0)  # start values of other strengths, times their default
FROM_ZERO = (0.001, 0.01, 0.1)  # start values of a strength whose default is 0


def search_space(method: str, fixed: Mapping[str, Any] | None = None) -> dict[str, Hyperparameter]:
    """What is searched unless said otherwise: learning rate, batch size and the method's strength, but what is `fixed`.

    A strength that is not called beta starts around its default, or at small values where that is 0, and may go to a
    tenth of the least start value and ten times the largest.
    """
    defaults, strengths = method_class(method).config_class().live(), {}
    for name in method_class(method).strength:
        start = tuple(defaults[name] * factor for factor in AROUND) if defaults[name] else FROM_ZERO
        strengths[name] = Hyperparameter(start, min(start) / 10, max(start) * 10)
    space, live = {**strengths, **KNOWN}, live_settings(method)
    return {name: space[name] for name in live if name in space and name not in (fixed or {})}


def live_settings(method: str) -> dict[str, type]:
    """The settings of a method that may change while it trains, each with its type."""
    fields = dataclasses.fields(method_class(method).config_class)
    return {one.name: type(one.default) for one in fields if one.metadata["live"]}


def check_space(method: str, space: Mapping[str, Hyperparameter], settings: Mapping[str, Any]) -> None:
    """See that the method can be given all that the space holds beside these settings."""
    live = live_settings(method)
    for name, one in space.items():
        if name not in live:
            raise InputError(f"{method} has no live setting '{name}'{nearest(name, live)}")
        if name in settings:
            raise InputError(f"{name} is both set to {settings[name]} and searched; expected one of them")
        if live[name] is int and not (one.whole and all(float(value).is_integer() for value in one.start)):
            raise InputError(f"{name} is a whole number; expected whole start values, and whole=True")
        for value in (one.low, one.high, *one.start):
            if math.isfinite(value):
                method_class(method).config_class.make({**settings, name: live[name](value)})


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
