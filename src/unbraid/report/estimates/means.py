"""Means, their differences and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import stdtrit

from unbraid.errors import InputError
from unbraid.report.estimates.estimate import LOW, SEEDS, UNKNOWN, Array, Estimate, average, known


def mean(values: Iterable[float] | Array, *, comparisons: int = 1) -> Estimate:
    """The mean over data sets of the mean over seeds, of values (data sets, seeds) or (seeds,).

    Student's interval, with the degrees of freedom of Welch and Satterthwaite where there are several data sets. Data
    sets with fewer than three seeds are left out; where all have fewer, they give a value without an interval.
    Outcomes that are either 0 or 1 belong to `share`. If it is one of several `comparisons`, the interval is as wide as
    Bonferroni's correction makes it: all of them together cover their truths 95 % of the time, however they depend on
    each other.

    >>> mean([0.1, 0.4, 0.2]).text()
    '0.23 [−0.15, 0.61]'
    """
    rows = _table(values)
    groups = [row for row in map(known, rows) if len(row) >= SEEDS]
    if not groups:
        return Estimate(average(average(row) for row in rows))
    return _combined([(group, 1 / len(groups)) for group in groups], len(groups), comparisons)


def difference(
    first: Iterable[float] | Array, second: Iterable[float] | Array, *, paired: bool = False, comparisons: int = 1
) -> Estimate:
    """The mean of the first minus the mean of the second, over data sets: each (data sets, seeds) or (seeds,).

    Unpaired, the runs of the two have nothing in common, and may differ in number: Welch's interval. Paired, values in
    the same place belong to one seed, and a seed that misses one of them is left out. Data sets with fewer than three
    seeds of either are left out. `comparisons` as in `mean`.
    """
    a, b = _table(first), _table(second)
    if len(a) != len(b) or (paired and a.shape != b.shape):
        raise InputError(f"there are values of shapes {a.shape} and {b.shape}; expected the same data sets"
                         f"{' and seeds' if paired else ''}")  # fmt: skip
    if paired:
        return mean(a - b, comparisons=comparisons)
    rows = list(zip(map(known, a), map(known, b), strict=True))
    pairs = [(left, right) for left, right in rows if min(len(left), len(right)) >= SEEDS]
    if not pairs:
        return Estimate(average(average(left) - average(right) for left, right in rows))
    groups = [(row, sign / len(pairs)) for pair in pairs for row, sign in zip(pair, (1, -1), strict=True)]
    return _combined(groups, len(pairs), comparisons)


def _table(values: Iterable[float] | Array) -> Array:
    return np.atleast_2d(np.asarray(values if isinstance(values, np.ndarray) else list(values), float))


def _combined(groups: Sequence[tuple[Array, float]], data_sets: int, comparisons: int = 1) -> Estimate:
    """The weighted sum of the means of independent groups."""
    value = sum(weight * float(row.mean()) for row, weight in groups)
    parts = np.array([weight**2 * float(row.var(ddof=1)) / len(row) for row, weight in groups])
    sizes = np.array([len(row) for row, _ in groups])
    half = margin(parts, sizes - 1, comparisons) * math.sqrt(parts.sum())
    return Estimate(value, value - half, value + half, data_sets, int(sizes.min()))


def margin(parts: Array, freedom: Array, comparisons: int = 1) -> float:
    """From a standard error to half an interval: Student's t with the degrees of freedom of the parts together."""
    return float(stdtrit(freedom_of(parts, freedom), 1 - LOW / comparisons))


def freedom_of(parts: Array, freedom: Array) -> float:
    """The degrees of freedom of a sum of variances, each known with its own.

    By Satterthwaite (1946); with four parts or more by Welch (1947), whose formula allows for that the squares of the
    parts are overestimated themselves.
    """
    total, most = float(parts.sum()), float(freedom.sum())
    if total <= 0:
        return most
    if len(parts) < 4:
        return total**2 / float((parts**2 / freedom).sum())
    degrees = total**2 / float((parts**2 / (freedom + 2)).sum()) - 2
    return min(max(degrees, float(freedom.min())), most)


def ratio(above: Array, below: Array) -> Estimate:
    """The ratio of two means over (data sets, seeds), seeds matched, with the interval of Fieller (1954).

    It holds every r for which the mean of above - r · below is not clearly different from 0. It has no bounds where
    the lower mean itself is not clearly different from 0. From three seeds of a data set on.
    """
    a, b = _table(above), _table(below)
    if a.shape != b.shape:
        raise InputError(f"there are values of shapes {a.shape} and {b.shape}; expected the same data sets and seeds")
    rows = [pair[np.isfinite(pair).all(1)] for pair in np.stack([a, b], -1)]
    groups = [pair for pair in rows if len(pair) >= SEEDS]
    if not groups:
        means = [average(average(pair[:, side]) for pair in rows) for side in (0, 1)]
        return Estimate(means[0] / means[1] if means[1] else math.nan)
    top, bottom = np.mean([pair.mean(0) for pair in groups], 0).tolist()
    if bottom == 0:
        return UNKNOWN
    value, sizes = top / bottom, np.array([len(pair) for pair in groups])
    shares = np.stack([np.cov(pair.T, ddof=1) / len(pair) for pair in groups]) / len(groups) ** 2
    weights = np.array([1, -value])
    t = margin(np.einsum("gij,i,j->g", shares, weights, weights), sizes - 1)
    (aa, ab), (_, bb) = (t**2 * shares.sum(0)).tolist()
    counts = {"data_sets": len(groups), "seeds": int(sizes.min())}
    # (top - r bottom)² <= t² var(top - r bottom), solved for r
    square, middle, rest = bottom**2 - bb, top * bottom - ab, top**2 - aa
    if square <= 0:
        return Estimate(value, -math.inf, math.inf, **counts)
    root = math.sqrt(max(middle**2 - square * rest, 0.0))
    return Estimate(value, (middle - root) / square, (middle + root) / square, **counts)
