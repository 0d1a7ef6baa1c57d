"""Numbers with 95 % intervals over seeds, from arrays of scores.

Values come as (data sets, seeds) unless a function says otherwise, with NaN where a model is missing. Data sets,
settings and metrics are taken as given and seeds as drawn: an interval says what other seeds would have shown. Each
estimator says from how many seeds it gives an interval; below that number it gives the value alone, because no
interval was found that covers the truth often enough. `bench/coverage.py` prints how often each of them covers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaincinv, fdtr, fdtrc, fdtri, stdtrit

from unbraid.errors import InputError

Array = np.ndarray[Any, Any]

LEVEL = 0.95
LOW, HIGH = (1 - LEVEL) / 2, (1 + LEVEL) / 2
SEEDS = 3
"""The fewest seeds, of a data set or setting, from which an estimator gives an interval."""
ROBUST_SEEDS = 5
"""The fewest seeds from which `spread_ratio` does without the assumption of normal values."""
PRIOR = 4.0
"""Degrees of freedom that the variance a rank correlation has by theory weighs beside the one measured over seeds."""


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


# Plain numbers


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


# Means


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
    half = _margin(parts, sizes - 1, comparisons) * math.sqrt(parts.sum())
    return Estimate(value, value - half, value + half, data_sets, int(sizes.min()))


def _margin(parts: Array, freedom: Array, comparisons: int = 1) -> float:
    """From a standard error to half an interval: Student's t with the degrees of freedom of the parts together."""
    return float(stdtrit(_freedom(parts, freedom), 1 - LOW / comparisons))


def _freedom(parts: Array, freedom: Array) -> float:
    """The degrees of freedom of a sum of variances, each known with its own.

    By Satterthwaite (1946); with four parts or more by Welch (1947), whose formula allows for that the squares of the
    parts are overestimated themselves.
    """
    total, most = float(parts.sum()), float(freedom.sum())
    if total <= 0:
        return most
    if len(parts) < 4:
        return total**2 / float((parts**2 / freedom).sum())
    found = total**2 / float((parts**2 / (freedom + 2)).sum()) - 2
    return min(max(found, float(freedom.min())), most)


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
    t = _margin(np.einsum("gij,i,j->g", shares, weights, weights), sizes - 1)
    (aa, ab), (_, bb) = (t**2 * shares.sum(0)).tolist()
    counts = {"data_sets": len(groups), "seeds": int(sizes.min())}
    # (top - r bottom)² <= t² var(top - r bottom), solved for r
    square, middle, rest = bottom**2 - bb, top * bottom - ab, top**2 - aa
    if square <= 0:
        return Estimate(value, -math.inf, math.inf, **counts)
    root = math.sqrt(max(middle**2 - square * rest, 0.0))
    return Estimate(value, (middle - root) / square, (middle + root) / square, **counts)


# Spreads


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
        factor = math.exp(_margin(variances, degrees) * math.sqrt(variances.sum()) / 2)
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


# Shares of outcomes


def share(outcomes: Iterable[float] | Array) -> Estimate:
    """The share of outcomes that are successes, of outcomes 0 and 1 of any shape: the exact interval.

    By Clopper and Pearson (1934). It covers at least 95 %, also where outcomes of different settings have different
    probabilities, and with a single outcome.
    """
    flat = known(outcomes if isinstance(outcomes, np.ndarray) else list(outcomes))
    if not np.isin(flat, (0, 1)).all():
        raise InputError(f"an outcome is {flat[~np.isin(flat, (0, 1))][0]:g}; expected 0 or 1")
    if not len(flat):
        return UNKNOWN
    successes, failures = int(flat.sum()), int((1 - flat).sum())
    low = float(betaincinv(successes, failures + 1, LOW)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, HIGH)) if failures else 1.0
    return Estimate(float(flat.mean()), low, high, seeds=len(flat))


def share_difference(first: Iterable[float] | Array, second: Iterable[float] | Array) -> Estimate:
    """The share of successes among the first outcomes minus that among the second, each 0 and 1 of any shape.

    The exact intervals of both shares combined (Zou and Donner 2008), from one outcome each on. It covers at least
    92 %, mostly 96 to 99 %, and more where outcomes in the same place have a seed in common and go together.
    """
    a, b = share(first), share(second)
    value = a.value - b.value
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, max(low, -1.0), min(high, 1.0), seeds=min(a.seeds, b.seeds))


STEP = 0.01
"""Between two differences that `exact_share_difference` looks at."""


def exact_share_difference(first: Iterable[float] | Array, second: Iterable[float] | Array) -> Estimate:
    """`share_difference` with the interval of an exact test on the two counts.

    It holds every difference that neither of two one-sided tests rejects at 2.5 %, whatever the shares themselves are
    (Chan and Zhang 1999, here ordered by the statistic of Agresti and Caffo 2000); so it covers at least 95 %, with any
    number of outcomes.

    >>> exact_share_difference([1] * 10 + [0] * 2, [1] * 3 + [0] * 9).text()  # 10 of 12, and 3 of 12
    '0.58 [0.16, 0.85]'
    """
    counts = [known(outcomes if isinstance(outcomes, np.ndarray) else list(outcomes)) for outcomes in (first, second)]
    value = share(counts[0]).value - share(counts[1]).value  # which checks the outcomes
    if not math.isfinite(value):
        return UNKNOWN
    sizes = [len(row) for row in counts]
    grid = np.round(np.arange(-1, 1 + STEP / 2, STEP), 10)
    seen = tuple(int(row.sum()) for row in counts)
    tails = np.array([_tails(float(delta), seen, sizes) for delta in grid])
    low, high = (grid[tails[:, side] > LOW] for side in (0, 1))
    return Estimate(value, min(float(low.min()), value), max(float(high.max()), value), seeds=min(sizes))


def _tails(delta: float, seen: tuple[int, ...], sizes: Sequence[int]) -> tuple[float, float]:
    """The largest probabilities, over all shares that differ by delta, of counts as extreme as those seen."""
    from scipy.stats import binom

    x, y = np.meshgrid(*(np.arange(size + 1) for size in sizes), indexing="ij")
    a, b = ((count + 1) / (size + 2) for count, size in zip((x, y), sizes, strict=True))
    statistic = (a - b - delta) / np.sqrt(a * (1 - a) / (sizes[0] + 2) + b * (1 - b) / (sizes[1] + 2))
    shares = np.linspace(max(0.0, -delta), min(1.0, 1 - delta), 41)[:, None]  # of the second
    above = binom.pmf(np.arange(sizes[0] + 1), sizes[0], np.clip(shares + delta, 0, 1))
    below = binom.pmf(np.arange(sizes[1] + 1), sizes[1], shares)
    at = statistic[seen]
    extreme = [statistic >= at - 1e-12, statistic <= at + 1e-12]
    upper, lower = (float(np.einsum("pi,pj,ij->p", above, below, side.astype(float)).max()) for side in extreme)
    return upper, lower


# Rank correlations


def rank_correlation(first: Array, second: Array) -> Estimate:
    """Spearman's correlation of two scores over the models of a data set: each (settings, seeds).

    Or (data sets, settings, seeds): the mean over data sets on Fisher's scale. It speaks of a setting drawn from those
    given and a seed of its own. Its interval comes from leaving out one model at a time within its setting, from three
    seeds per setting on; settings with fewer are left out where others have them. Correlations beyond ±0.95 over six
    settings or fewer are covered less often, down to 70 % where scores tie.
    """
    a, b = (np.asarray(scores, float) for scores in (first, second))
    if a.shape != b.shape or a.ndim not in (2, 3):
        raise InputError(f"there are scores of shapes {a.shape} and {b.shape}; expected two of (settings, seeds)")
    pairs = zip(a[None] if a.ndim == 2 else a, b[None] if b.ndim == 2 else b, strict=True)
    parts = [part for x, y in pairs if (part := _spearman(x, y)) is not None]
    if not parts:
        return UNKNOWN
    value = parts[0].value if len(parts) == 1 else math.tanh(sum(part.scaled for part in parts) / len(parts))
    variances = np.array([part.variance for part in parts]) / len(parts) ** 2
    if not np.isfinite(variances).all():
        return Estimate(value)
    half = _margin(variances, np.array([part.freedom for part in parts])) * math.sqrt(variances.sum())
    middle = sum(part.scaled for part in parts) / len(parts)
    low = -1.0 if value == -1 else math.tanh(middle - half)
    high = 1.0 if value == 1 else math.tanh(middle + half)
    return Estimate(value, low, high, len(parts), min(part.seeds for part in parts))


@dataclass(frozen=True)
class _Correlation:
    """Spearman's correlation on one data set."""

    value: float
    scaled: float
    """On Fisher's scale, finite also where it is ±1."""
    variance: float
    """Of `scaled`; NaN with too few seeds."""
    freedom: float
    seeds: int


def _spearman(x: Array, y: Array) -> _Correlation | None:
    """Of scores (settings, seeds); None where it is not defined."""
    both = _with_seeds(np.isfinite(x) & np.isfinite(y))
    settings, a, b = np.nonzero(both)[0], x[both], y[both]
    count = len(a)
    if count < 4:
        return None
    orders = [_Order.of(one) for one in (a, b)]
    ranks = [order.ranks for order in orders]

    def covariance(i: int, j: int) -> Array:
        """Of the ranks without each model, times the number of others."""
        # leaving out a model takes 1 off the rank of each that is above it, and 1/2 off those that tie with it
        changes = orders[i].above_both(orders[j]) - orders[i].sums_above(ranks[j]) - orders[j].sums_above(ranks[i])
        return np.asarray(ranks[i] @ ranks[j] - ranks[i] * ranks[j] + changes - (count - 1) / 4)

    scale = math.sqrt(float(ranks[0] @ ranks[0]) * float(ranks[1] @ ranks[1]))
    if scale == 0:
        return None
    value = float(np.clip(ranks[0] @ ranks[1] / scale, -1, 1))
    most = 1 - 6 / (count**3 - count)  # half a step below 1
    scaled, slope = math.atanh(min(max(value, -most), most)), 1 / (1 - min(abs(value), most) ** 2)
    sizes = np.bincount(settings)
    sizes = sizes[sizes > 0]
    if sizes.min() < SEEDS:
        return _Correlation(value, scaled, math.nan, math.nan, int(sizes.min()))
    norm = np.sqrt(np.maximum(covariance(0, 0) * covariance(1, 1), 0))
    without = np.divide(covariance(0, 1), norm, out=np.full(count, value), where=norm > 0)
    # leaving out a model moves the correlation by its influence over the number of all models, not of its setting
    influence = slope * (count - 1) * without
    parts = np.array([len(row) * float(row.var(ddof=1)) for row in _split(influence, settings)]) / count**2
    freedom = float((sizes - 1).sum())
    variance = (PRIOR / (count - 3) + freedom * float(parts.sum())) / (PRIOR + freedom)
    return _Correlation(value, scaled, variance, PRIOR + _freedom(parts, sizes - 1.0), int(sizes.min()))


@dataclass(frozen=True, eq=False)
class _Order:
    """The order of n values. What is summed over the values above one counts half for those that tie with it."""

    order: Array
    first: Array
    """Where in the order the values begin that tie with each; it is itself one of them."""
    after: Array
    """And where they end."""

    @classmethod
    def of(cls, values: Array) -> _Order:
        order = np.argsort(values, kind="stable")
        first, after = (np.searchsorted(values, values, side, sorter=order) for side in ("left", "right"))
        return cls(order, first, after)

    @property
    def ranks(self) -> Array:
        """Around 0."""
        return np.asarray((self.first + self.after - len(self.order)) / 2)

    def sums_above(self, weights: Array) -> Array:
        """For each value the sum of the weights of those above it."""
        sums = np.append(np.cumsum(weights[self.order][::-1])[::-1], 0.0)
        return np.asarray((sums[self.first] + sums[self.after] - weights) / 2)

    def above_both(self, other: _Order) -> Array:
        """For each value how many are above it in both orders: those that tie in one count 1/2, in both 1/4."""
        if other is self:
            return np.asarray(len(self.order) - self.after + (self.after - self.first - 1) / 4)
        places = np.empty(len(self.order), int)
        places[other.order] = np.arange(len(self.order))
        counts = [
            _count_above(places[self.order], here, there)
            for here in (self.first, self.after)
            for there in (other.first, other.after)
        ]
        return np.asarray((sum(counts) - 1) / 4)


def _count_above(places: Array, here: Array, there: Array) -> Array:
    """For each pair (here, there), how many of `places[here:]` are at least `there`; of a permutation `places`.

    The places are cut into blocks; a table has the counts of the blocks, and the rest is at most one block.
    """
    count = len(places)
    width = math.isqrt(count) + 1
    blocks = -(-count // width)
    padded = np.full(blocks * width + width, -1)
    padded[:count] = places
    table = np.zeros((blocks + 1, count + 1), int)
    table[np.arange(count) // width, places] = 1
    table = table[::-1, ::-1].cumsum(0).cumsum(1)[::-1, ::-1]
    block = -(-here // width)
    window = here[:, None] + np.arange(width)
    rest = (padded[window] >= there[:, None]) & (window < (block * width)[:, None])
    return np.asarray(table[block, there] + rest.sum(1))


def _with_seeds(there: Array) -> Array:
    """Which models (settings, seeds) of those there are to take: of settings with three seeds, or all without two such.

    A setting of which models failed does not take the interval from all others.
    """
    enough = there.sum(1, keepdims=True) >= SEEDS
    return np.asarray(there & enough if enough.sum() > 1 else there)


def _split(values: Array, groups: Array) -> list[Array]:
    """The values of each group."""
    return [values[groups == group] for group in np.unique(groups)]


def trend(scores: Array) -> Estimate:
    """How steadily scores rise with a strength, from -1 to 1: Somers' D of (strengths, seeds), weakest first.

    The probability that of two models of different strengths the stronger one has the higher score, minus that of the
    lower one. Unlike Spearman's and Kendall's correlations it reaches ±1 whatever the number of seeds per strength. The
    interval is a score interval as Wilson's (1927) for shares, its variance partly by theory (no trend; Jonckheere
    1954) and partly over seeds. From three seeds per strength on; strengths with fewer are left out as settings are in
    `rank_correlation`.
    """
    table = np.asarray(scores, float)
    if table.ndim != 2:
        raise InputError(f"there are scores of shape {table.shape}; expected (strengths, seeds)")
    there = _with_seeds(np.isfinite(table))
    strengths, values, sizes = np.nonzero(there)[0], table[there], there.sum(1)
    sizes = sizes[sizes > 0]
    order = np.sign(strengths - strengths[:, None])
    agreement, pairs = (order * np.sign(values - values[:, None])).sum(1), np.abs(order).sum(1)
    comparisons = float(pairs.sum())  # each pair twice
    if comparisons == 0:
        return UNKNOWN
    value = float(agreement.sum()) / comparisons
    if sizes.min() < SEEDS:
        return Estimate(value)
    influence = 2 * (agreement - value * pairs) / comparisons
    measured = sum(len(row) * float(row.var(ddof=1)) for row in _split(influence, strengths))
    count, freedom = float(len(values)), float((sizes - 1).sum())
    by_theory = 2 * float(count**2 * (2 * count + 3) - (sizes**2 * (2 * sizes + 3)).sum()) / (9 * comparisons**2)
    variance, degrees = by_theory, math.inf  # of the value, over 1 - its square
    if measured > 0 and abs(value) < 1:
        variance = (PRIOR * by_theory + freedom * measured / (1 - value**2)) / (PRIOR + freedom)
        degrees = (PRIOR + freedom) ** 2 / freedom  # of a sum in which one part is certain
    # (value - D)² <= t² variance (1 - D²), solved for D
    square = float(stdtrit(degrees, HIGH)) ** 2 * variance
    root = math.sqrt(square * (1 + square - value**2))
    return Estimate(value, (value - root) / (1 + square), (value + root) / (1 + square), 1, int(sizes.min()))


def setting_correlation(first: Array, second: Array) -> Estimate:
    """How far settings that rank high on one data set rank high on another: scores (settings, seeds) on each.

    The correlation, over settings, of a setting's expected rank among all models. What seeds add to the spread of a
    setting's mean rank is taken off, which a correlation of the means themselves would be pulled to 0 by. The two data
    sets need not have the same seeds. Not known where settings differ no more than seeds do. From three seeds per
    setting on; settings with fewer are left out where three others have them.
    """
    a, b = (np.asarray(scores, float) for scores in (first, second))
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise InputError(f"there are scores of shapes {a.shape} and {b.shape}; expected two of (settings, seeds)")
    kept = np.minimum(np.isfinite(a).sum(1), np.isfinite(b).sum(1))
    kept = kept >= (SEEDS if (kept >= SEEDS).sum() > 2 else 1)
    tables = [_Ranks.of(a[kept]), _Ranks.of(b[kept])]
    if kept.sum() < 3 or min(table.counts.min() for table in tables) < 2:
        return UNKNOWN
    spreads = [table.spread() for table in tables]
    if min(spreads) <= 0:
        return UNKNOWN
    value = _covariance(tables[0].means, tables[1].means) / math.sqrt(spreads[0] * spreads[1])
    bounded = min(max(value, -1.0), 1.0)
    counts = np.concatenate([table.counts for table in tables])
    if counts.min() < SEEDS:
        return Estimate(bounded)
    parts = np.concatenate([
        tables[0].left_out(tables[1].means, spreads[1]),
        tables[1].left_out(tables[0].means, spreads[0]),
    ])  # fmt: skip
    if not np.isfinite(parts).all():
        return Estimate(bounded)
    half = _margin(parts, counts - 1.0) * math.sqrt(parts.sum())
    return Estimate(bounded, max(value - half, -1.0), min(value + half, 1.0), 2, int(counts.min()))


def _covariance(a: Array, b: Array) -> float:
    return float((a - a.mean()) @ (b - b.mean())) / (len(a) - 1)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """The ranks of all models of a data set (settings, seeds), NaN where one is missing, and their means."""

    ranks: Array
    counts: Array
    """(settings,) seeds."""
    means: Array
    squares: Array
    """(settings,): the sum of squares around the mean."""

    @classmethod
    def of(cls, scores: Array) -> _Ranks:
        from scipy.stats import rankdata

        finite = np.isfinite(scores)
        ranks = np.full(scores.shape, np.nan)
        ranks[finite] = rankdata(scores[finite])
        counts = finite.sum(1)
        means = np.where(finite, ranks, 0).sum(1) / np.maximum(counts, 1)
        squares = (np.where(finite, ranks - means[:, None], 0) ** 2).sum(1)
        return cls(ranks, counts, means, squares)

    def spread(self) -> float:
        """The variance of the settings' expected ranks: that of their means, less what seeds add to it."""
        noise = self.squares / (self.counts - 1) / self.counts
        return _covariance(self.means, self.means) - float(noise.mean())

    def left_out(self, others: Array, spread: float) -> Array:
        """The variance that each setting's seeds bring to the correlation with the other data set (settings,).

        From leaving out one seed at a time: the mean of its setting moves, and with it the sums over settings.
        """
        settings, counts = len(self.means), self.counts[:, None]
        apart = self.ranks - self.means[:, None]
        moved = -apart / (counts - 1)
        noise = self.squares / (self.counts - 1) / self.counts
        noise_without = (self.squares[:, None] - apart**2 * counts / (counts - 1)) / (counts - 2) / (counts - 1)
        centred = (self.means - self.means.mean())[:, None]
        variance = _covariance(self.means, self.means) + (2 * centred * moved + moved**2 * (1 - 1 / settings)) / (
            settings - 1
        )
        own = variance - (noise.sum() - noise[:, None] + noise_without) / settings
        shared = _covariance(self.means, others) + moved * (others - others.mean())[:, None] / (settings - 1)
        there = np.isfinite(self.ranks)
        if (own[there] <= 0).any():
            return np.full(settings, math.inf)
        correlations = np.divide(
            shared, np.sqrt(np.where(there, own, 1) * spread), out=np.zeros(there.shape), where=there
        )
        middle = correlations.sum(1) / self.counts
        squares = (np.where(there, correlations - middle[:, None], 0) ** 2).sum(1)
        return np.asarray((self.counts - 1) / self.counts * squares)


# Any other statistic


def jackknife(statistic: Callable[[Array], Any], values: Array, *, stacked: bool = False) -> Estimate:
    """Any smooth statistic of values (groups, seeds, …); its interval leaves out one seed of a group at a time.

    Groups are data sets or settings, each of which the statistic has to take as a whole, such as by the mean over its
    seeds: it gets the values with NaN in place of what is left out. It must not hang on a maximum or a median, of whose
    spread leaving out one value says nothing. From three seeds per group on. A statistic that is `stacked` also takes
    several tables at once (tables, groups, seeds, …) and gives a number for each, which is faster.
    """
    values = np.asarray(values, float)
    there = np.isfinite(values).reshape(*values.shape[:2], -1).any(2)
    value, sizes = float(statistic(values)), there.sum(1)
    groups = np.flatnonzero(sizes)
    if not math.isfinite(value) or not len(groups) or sizes[groups].min() < SEEDS:
        return Estimate(value)

    def without(group: int, seeds: Array) -> Array:
        tables = np.repeat(values[None], len(seeds), 0)
        tables[np.arange(len(seeds)), group, seeds] = np.nan
        return np.asarray(statistic(tables) if stacked else [float(statistic(table)) for table in tables])

    parts = _left_out(there, without)
    if not np.isfinite(parts).all():
        return Estimate(value)
    half = _margin(parts, sizes[groups] - 1.0) * math.sqrt(parts.sum())
    return Estimate(value, value - half, value + half, seeds=int(sizes[groups].min()))


def _left_out(there: Array, without: Callable[[int, Array], Array]) -> Array:
    """The variance that the seeds of each group bring to a number, from what it is without each of them."""
    parts = []
    for group in np.flatnonzero(there.any(1)):
        replicates = without(int(group), np.flatnonzero(there[group]))
        parts.append((len(replicates) - 1) ** 2 / len(replicates) * float(np.var(replicates, ddof=1)))
    return np.array(parts)


# Choosing settings


def probability_beats_random(scores: Array, *, same_metric: bool, same_data: bool) -> Estimate:
    """How often the setting with the highest score does at least as well as a random one, on another seed.

    Of scores (data sets, metrics, settings, seeds): on a data set, a metric and a seed the setting with the highest
    score is chosen (the first of several). It is compared with a setting drawn at random, both trained with one other
    seed, on the same or another metric and the same or another data set. Doing equally well counts as success, and the
    random setting may be the chosen one. The interval leaves out one seed of a data set at a time, from three on.
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 4:
        raise InputError(f"there are scores of shape {scores.shape}; expected (data sets, metrics, settings, seeds)")
    if not scores.size:
        return UNKNOWN
    table = _beaten(choices(scores), wins(scores), same_metric, same_data)
    there = np.isfinite(scores).any((1, 2))  # (data sets, seeds)
    value, sizes = _mean_of_pairs(table, there), there.sum(1)
    sizes = sizes[sizes > 0]
    if not math.isfinite(value) or sizes.min() < SEEDS:
        return Estimate(value)

    def without(data: int, seeds: Array) -> Array:
        kept = np.repeat(there[None], len(seeds), 0)
        kept[np.arange(len(seeds)), data, seeds] = False
        return np.array([_mean_of_pairs(table, one) for one in kept])

    parts = _left_out(there, without)
    if not np.isfinite(parts).all():
        return Estimate(value)
    if same_data:  # of pairs of seeds of one data set: leaving out one counts what is peculiar to a pair too often
        parts = parts * (sizes - 2) / (sizes - 1)
    half = _margin(parts, sizes - 1.0) * math.sqrt(parts.sum())
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0), len(sizes), int(sizes.min()))


def choices(scores: Array) -> Array:
    """The setting with the highest score, of scores (…, settings, seeds): (…, seeds), -1 where there is none."""
    finite = np.isfinite(scores)
    best = np.where(finite, scores, -np.inf).argmax(-2)
    return np.asarray(np.where(finite.any(-2), best, -1))


def wins(scores: Array) -> Array:
    """The share of settings that each does at least as well as, with the same seed: the shape of the scores."""
    finite = np.isfinite(scores)
    better = (scores[..., :, None, :] >= scores[..., None, :, :]).sum(-2)  # NaN is never at least as good, nor beaten
    return np.asarray(np.where(finite, better / np.maximum(finite.sum(-2, keepdims=True), 1), np.nan))


def _beaten(chosen: Array, shares: Array, same_metric: bool, same_data: bool) -> Array:
    """The mean over pairs of metrics (data sets, data sets, seeds, seeds): chosen on the first, compared on the second.

    NaN where the case does not allow it, or a model is missing.
    """
    sets, metrics, seeds = chosen.shape
    found = np.full((sets, sets, seeds, seeds), np.nan)
    for one, other in np.ndindex(sets, sets):
        if (one == other) != same_data:
            continue
        total, count = np.zeros((seeds, seeds)), np.zeros((seeds, seeds))
        for metric, compared in np.ndindex(metrics, metrics):
            if (metric == compared) == same_metric:
                choice = chosen[one, metric]
                won = np.where((choice >= 0)[:, None], shares[other, compared][choice], np.nan)
                total, count = total + np.nan_to_num(won), count + np.isfinite(won)
        np.fill_diagonal(count, 0)  # another seed
        found[one, other] = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return found


def _mean_of_pairs(table: Array, seeds: Array) -> float:
    """The mean over pairs of data sets of the mean over pairs of their seeds."""
    kept = seeds[:, None, :, None] & seeds[None, :, None, :] & np.isfinite(table)
    count = kept.sum((2, 3))
    total = np.where(kept, table, 0).sum((2, 3))
    return average((total[count > 0] / count[count > 0]).ravel())
