"""A number with its interval, and what all estimators share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LEVEL = 0.95
LOW, HIGH = (1 - LEVEL) / 2, (1 + LEVEL) / 2
SEEDS = 3
"""The fewest seeds, of a data set or setting, from which an estimator gives an interval."""


def number(value: float, form: str = ".2f") -> str:
    """The number as text, with a real minus sign, and none before a zero."""
    text = f"{value:{form}}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; NaN bounds where there are too few seeds for one."""

    value: float
    low: float = math.nan
    high: float = math.nan
    data_sets: int = field(default=0, compare=False)
    """How many data sets it rests on; 0 where that is not counted."""
    seeds: int = field(default=0, compare=False)
    """How many seeds the smallest of its groups has; 0 where that is not counted."""

    @property
    def known(self) -> bool:
        """Whether there is a number at all."""
        return math.isfinite(self.value)

    @property
    def has_interval(self) -> bool:
        return not (math.isnan(self.low) or math.isnan(self.high))

    def side(self, threshold: float) -> str:
        """`above` or `below` where the whole interval is there, else `unclear`."""
        if self.low > threshold:
            return "above"
        return "below" if self.high < threshold else "unclear"

    def map(self, increasing: Callable[[float], float]) -> Estimate:
        """The estimate of an increasing function of the number, such as exp."""
        value, low, high = (increasing(end) for end in (self.value, self.low, self.high))
        return Estimate(value, low, high, self.data_sets, self.seeds)

    def text(self, form: str = ".2f") -> str:
        """`0.50 [0.25, 0.75]`, the value alone without an interval, `not known` without a value."""
        if not self.known:
            return "not known"
        shown = number(self.value, form)
        if not self.has_interval:
            return shown
        if math.isinf(self.low) and math.isinf(self.high):
            return f"{shown} [no bounds]"
        return f"{shown} [{number(self.low, form)}, {number(self.high, form)}]"


UNKNOWN = Estimate(math.nan)


def known(values: Any) -> Array:
    """The finite ones among some values, as one row."""
    flat = np.asarray(values, float).ravel()
    return np.asarray(flat[np.isfinite(flat)])


def average(values: Iterable[float] | Array) -> float:
    """The mean of the finite ones among some values, without an interval; NaN of none."""
    finite = known(values if isinstance(values, np.ndarray) else list(values))
    return float(finite.mean()) if finite.size else math.nan


def counted(values: Array, seeds: int = SEEDS) -> int:
    """How many data sets have at least so many seeds."""
    return int((np.isfinite(np.atleast_2d(values)).sum(1) >= seeds).sum())
