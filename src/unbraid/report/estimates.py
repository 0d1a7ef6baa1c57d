"""Numbers with their intervals over seeds, and what they say of a claim.

Values come with a row a data set and a column a seed; NaN where a model is missing. Data sets are taken as given and
seeds as drawn: an interval says what other seeds would have shown. It is Student's: with three seeds a resampling of
them would be too sure of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SEEDS = 3  # of a data set, below which nothing is said of its spread
LEVEL = 0.95


def number(value: float, form: str = ".2f") -> str:
    """With a real minus sign, and none before a zero."""
    shown = f"{value:{form}}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, NaN where there are too few seeds for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        return math.isfinite(self.value)

    def side(self, threshold: float) -> str:
        """`above` or `below` where the whole interval is, else `unclear`."""
        if self.low > threshold:
            return "above"
        return "below" if self.high < threshold else "unclear"

    def map(self, rising: Callable[[float], float]) -> Estimate:
        """Of a function that rises, such as exp."""
        return Estimate(*(rising(value) for value in (self.value, self.low, self.high)))

    def text(self, form: str = ".2f") -> str:
        if not self.known:
            return "not known"
        shown = number(self.value, form)
        if math.isnan(self.low):
            return shown
        if math.isinf(self.low) and math.isinf(self.high):
            return f"{shown} [no bounds]"
        return f"{shown} [{number(self.low, form)}, {number(self.high, form)}]"


@dataclass(frozen=True)
class _Moments:
    """The mean over data sets, the variance of that mean, and how sure that variance is."""

    mean: Array
    """(k,)"""
    covariance: Array
    """(k, k)"""
    shares: Array
    """(data sets, k, k): each data set's part of the covariance."""
    seeds: Array
    """(data sets,)"""

    def margin(self, weights: Array) -> float:
        """The factor from standard error to half an interval, for a weighted sum: by Welch and Satterthwaite."""
        from scipy.stats import t as student

        parts = np.einsum("gij,i,j->g", self.shares, weights, weights)
        total, doubt = float(parts.sum()), float((parts**2 / (self.seeds - 1)).sum())
        freedom = total**2 / doubt if doubt > 0 else float((self.seeds - 1).sum())
        return float(student.ppf((1 + LEVEL) / 2, freedom))


def _moments(values: Array) -> _Moments | None:
    """Of k numbers a data set and seed (data sets, seeds, k), where all k are known; None with too few seeds.

    Data sets with fewer than three seeds are left out.
    """
    rows = [row[np.isfinite(row).all(1)] for row in values]
    rows = [row for row in rows if len(row) >= SEEDS]
    if not rows:
        return None
    shares = np.stack([np.cov(row.T, ddof=1).reshape(row.shape[1], -1) / len(row) for row in rows]) / len(rows) ** 2
    mean = np.stack([row.mean(0) for row in rows]).mean(0)
    return _Moments(mean, shares.sum(0), shares, np.array([len(row) for row in rows]))


def mean(values: Iterable[float] | Array) -> float:
    """The mean of what is known; NaN of nothing."""
    found = np.asarray(values if isinstance(values, np.ndarray) else list(values), float)
    found = found[np.isfinite(found)]
    return float(found.mean()) if found.size else math.nan


def estimate(values: Array) -> Estimate:
    """The mean over data sets of the mean over seeds, of values (data sets, seeds) or (seeds,), with its t interval.

    Without an interval where no data set has three seeds.
    """
    values = np.atleast_2d(np.asarray(values, float))
    found = _moments(values[..., None])
    if found is None:
        return Estimate(mean(mean(row) for row in values))
    value, half = float(found.mean[0]), found.margin(np.ones(1)) * math.sqrt(found.covariance[0, 0])
    return Estimate(value, value - half, value + half)


def ratio(above: Array, below: Array) -> Estimate:
    """The ratio of two means over (data sets, seeds), with the interval of Fieller (1954).

    It holds every r for which the mean of above - r · below is not clearly different from 0. It has no bounds where
    the lower mean itself is not clearly different from 0.
    """
    above, below = (np.atleast_2d(np.asarray(part, float)) for part in (above, below))
    found = _moments(np.stack([above, below], -1))
    if found is None:
        both = np.isfinite(above) & np.isfinite(below)
        divisor = mean(np.where(both, below, np.nan))
        return Estimate(mean(np.where(both, above, np.nan)) / divisor if divisor else math.nan)
    a, b = found.mean.tolist()
    if b == 0:
        return Estimate(math.nan)
    value = a / b
    t = found.margin(np.array([1.0, -value]))
    (aa, ab), (_, bb) = (t**2 * found.covariance).tolist()
    # (a - r b)² <= t² var(a - r b), solved for r
    square, middle, rest = b * b - bb, a * b - ab, a * a - aa
    if square <= 0:
        return Estimate(value, -math.inf, math.inf)
    root = math.sqrt(max(middle**2 - square * rest, 0.0))
    return Estimate(value, (middle - root) / square, (middle + root) / square)


def counted(values: Array) -> int:
    """How many data sets have seeds enough."""
    return int((np.isfinite(np.atleast_2d(values)).sum(1) >= SEEDS).sum())


@dataclass(frozen=True)
class Rule:
    """Where a claim puts its numbers. It is stated before they are known."""

    numbers: str
    """What is measured, in a few words."""
    side: str
    """`above` or `below` the threshold, or `within` the threshold on both sides of 0."""
    threshold: float
    share: float = 1.0
    """Of the numbers, that have to be there."""

    def verdict(self, estimates: Iterable[Estimate]) -> str:
        stands = [self._stands(entry) for entry in estimates]
        needed = math.ceil(self.share * len(stands) - 1e-9)
        if stands and stands.count("for") >= needed:
            return "holds"
        return "does not hold" if stands.count("against") > len(stands) - needed else "cannot be said"

    def _stands(self, entry: Estimate) -> str:
        if self.side == "within":
            inside = entry.low > -self.threshold and entry.high < self.threshold
            outside = entry.low > self.threshold or entry.high < -self.threshold
        else:
            found = entry.side(self.threshold)
            inside, outside = found == self.side, found not in (self.side, "unclear")
        return "for" if inside else "against" if outside else "unclear"

    def text(self) -> str:
        place = f"within ±{self.threshold:g}" if self.side == "within" else f"{self.side} {self.threshold:g}"
        every = "every" if self.share == 1 else f"at least {self.share:.0%} of the"
        other = "one is" if self.share == 1 else "too many are"
        return (
            f"{self.numbers}: holds where {every} 95 % interval{'' if self.share == 1 else 's'} "
            f"{'is' if self.share == 1 else 'are'} {place}, does not hold where {other} wholly on the other side, "
            f"cannot be said otherwise"
        ).replace(" -", " −")
