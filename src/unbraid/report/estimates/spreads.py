"""Ratios of standard deviations, and how many seeds it takes to tell them apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import fdtr, fdtrc, fdtri

from unbraid.report.estimates.estimate import HIGH, LOW, SEEDS, UNKNOWN, Array, Estimate, known
from unbraid.report.estimates.means import margin

ROBUST_SEEDS = 5
"""The fewest seeds from which `spread_ratio` does without the assumption of normal values."""


def spread_ratio(first: Array, *others: Array) -> Estimate:
    """The standard deviation of the first over that within the others, taken together; each (seeds,).

    With three or four seeds it has the interval of the F test, which needs values that are about normal; from five on,
    that of leaving out one seed at a time on the scale of the logarithm (Miller 1968), which does not. Not known where
    the others do not vary at all.
    """
    a, groups = known(first), [group for group in map(known, others) if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    if len(a) < 2 or not freedom:
        return UNKNOWN
    value = math.sqrt(a.var(ddof=1) / _within(groups)) if _within(groups) > 0 else math.nan
    if not math.isfinite(value) or len(a) < SEEDS or max(map(len, groups)) < SEEDS:
        return Estimate(value)
    seeds = min(len(a), *map(len, groups))
    parts = [_log_variance([a]), _log_variance(groups)] if min(len(a), freedom + 1) >= ROBUST_SEEDS else []
    if parts and np.isfinite(parts).all():
        variances, degrees = (np.array(column) for column in zip(*parts, strict=True))
        factor = math.exp(margin(variances, degrees) * math.sqrt(variances.sum()) / 2)
        return Estimate(value, value / factor, value * factor, 1, seeds)
    low, high = (float(fdtri(len(a) - 1, freedom, end)) for end in (HIGH, LOW))
    return Estimate(value, value / math.sqrt(low), value / math.sqrt(high), 1, seeds)


def spread_limit(seeds: int, others: int) -> float:
    """The ratio of standard deviations below which the F test tells it from 1, of normal values.

    >>> round(spread_limit(3, 3), 2), round(spread_limit(5, 5), 2)
    (0.16, 0.32)
    """
    return math.sqrt(float(fdtri(seeds - 1, others - 1, LOW)))


def spread_power(ratio: float, seeds: int, others: int) -> float:
    """The probability that the F test tells a true ratio of standard deviations from 1, of normal values.

    >>> round(spread_power(0.5, 5, 5), 2), round(spread_power(0.5, 18, 18), 2)
    (0.21, 0.79)
    """
    low, high = (float(fdtri(seeds - 1, others - 1, end)) for end in (LOW, HIGH))
    return float(fdtr(seeds - 1, others - 1, low / ratio**2) + fdtrc(seeds - 1, others - 1, high / ratio**2))


def spread_seeds(ratio: float = 0.5, power: float = 0.8) -> int:
    """How many seeds of each side it takes to tell such a ratio of standard deviations from 1 with this probability.

    >>> spread_seeds()
    19
    """
    return next(seeds for seeds in range(SEEDS, 10_000) if spread_power(ratio, seeds, seeds) >= power)


def _within(groups: Sequence[Array]) -> float:
    """The variance within groups."""
    return sum(float(((row - row.mean()) ** 2).sum()) for row in groups) / sum(len(row) - 1 for row in groups)


def _log_variance(groups: Sequence[Array]) -> tuple[float, float]:
    """The variance of the logarithm of the variance within groups, and its degrees of freedom; infinite on ties.

    From leaving out one value at a time, all at once: the sum of squares loses n/(n-1) of a value's squared deviation.
    """
    squares = [(row - row.mean()) ** 2 for row in groups]
    total, freedom = sum(float(row.sum()) for row in squares), sum(len(row) - 1 for row in groups)
    count = freedom + len(groups)
    lost = np.concatenate([row * len(row) / (len(row) - 1) for row in squares])
    without = total - lost
    if without.min() <= 1e-12 * total:
        return math.inf, freedom
    logs = np.log(without / (freedom - 1))
    return (count - 1) ** 2 / count * float(logs.var(ddof=1)), freedom
