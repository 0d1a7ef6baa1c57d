"""Two groups of runs beside each other: how far apart their means are, and how their spreads compare.

Intervals are 95 % ones for normal values, as those of `report.estimates`; without one where a group has fewer than
three runs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unbraid.report.estimates import LEVEL, SEEDS, Array, Estimate

LOW, HIGH = (1 - LEVEL) / 2, (1 + LEVEL) / 2


def known(values: Any) -> Array:
    """Those that are numbers."""
    found = np.asarray(values, float).ravel()
    return np.asarray(found[np.isfinite(found)])


def difference(first: Array, second: Array) -> Estimate:
    """The mean of the first minus the mean of the second, of runs that have nothing in common: Welch's interval."""
    from scipy.stats import t as student

    a, b = known(first), known(second)
    if not len(a) or not len(b):
        return Estimate(math.nan)
    value = float(a.mean() - b.mean())
    if min(len(a), len(b)) < SEEDS:
        return Estimate(value)
    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    doubt = float((parts**2 / [len(a) - 1, len(b) - 1]).sum())
    freedom = float(parts.sum()) ** 2 / doubt if doubt > 0 else len(a) + len(b) - 2
    half = float(student.ppf(HIGH, freedom)) * math.sqrt(parts.sum())
    return Estimate(value, value - half, value + half)


def spread_ratio(first: Array, *others: Array) -> Estimate:
    """The standard deviation of the first over that within the others, taken together: the interval of the F test.

    Not known where the others do not vary at all.
    """
    from scipy.stats import f

    a, groups = known(first), [group for group in map(known, others) if len(group) > 1]
    freedom = sum(len(group) - 1 for group in groups)
    if len(a) < 2 or not freedom:
        return Estimate(math.nan)
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / freedom
    if within == 0:
        return Estimate(math.nan)
    value = math.sqrt(a.var(ddof=1) / within)
    if len(a) < SEEDS or max(map(len, groups)) < SEEDS:
        return Estimate(value)
    low, high = (float(f.ppf(place, len(a) - 1, freedom)) for place in (HIGH, LOW))
    return Estimate(value, value / math.sqrt(low), value / math.sqrt(high))
