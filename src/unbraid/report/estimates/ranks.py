"""Rank correlations and trends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from unbraid.errors import InputError
from unbraid.report.estimates.estimate import HIGH, SEEDS, UNKNOWN, Array, Estimate
from unbraid.report.estimates.means import freedom_of, margin

PRIOR = 4.0
"""Degrees of freedom that the variance a rank correlation has by theory weighs beside the one measured over seeds."""


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
    half = margin(variances, np.array([part.freedom for part in parts])) * math.sqrt(variances.sum())
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
    return _Correlation(value, scaled, variance, PRIOR + freedom_of(parts, sizes - 1.0), int(sizes.min()))


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
        positions = np.empty(len(self.order), int)
        positions[other.order] = np.arange(len(self.order))
        counts = [
            _count_above(positions[self.order], start, lowest)
            for start in (self.first, self.after)
            for lowest in (other.first, other.after)
        ]
        return np.asarray((sum(counts) - 1) / 4)


def _count_above(positions: Array, start: Array, lowest: Array) -> Array:
    """For each pair (start, lowest), how many of `positions[start:]` are at least `lowest`.

    `positions` is a permutation. It is cut into blocks: a table has the counts of whole blocks, and the rest is at most
    one block.
    """
    count = len(positions)
    width = math.isqrt(count) + 1
    blocks = -(-count // width)
    padded = np.full(blocks * width + width, -1)
    padded[:count] = positions
    table = np.zeros((blocks + 1, count + 1), int)
    table[np.arange(count) // width, positions] = 1
    table = table[::-1, ::-1].cumsum(0).cumsum(1)[::-1, ::-1]
    block = -(-start // width)
    window = start[:, None] + np.arange(width)
    rest = (padded[window] >= lowest[:, None]) & (window < (block * width)[:, None])
    return np.asarray(table[block, lowest] + rest.sum(1))


def _with_seeds(known: Array) -> Array:
    """Which of the known models (settings, seeds) to use: those of settings with three seeds, or all of them.

    All of them where fewer than two settings have three seeds. So one setting whose models failed does not leave all
    the others without an interval.
    """
    enough = known.sum(1, keepdims=True) >= SEEDS
    return np.asarray(known & enough if enough.sum() > 1 else known)


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
    known = _with_seeds(np.isfinite(table))
    strengths, values, sizes = np.nonzero(known)[0], table[known], known.sum(1)
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
    half = margin(parts, counts - 1.0) * math.sqrt(parts.sum())
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
        known = np.isfinite(self.ranks)
        if (own[known] <= 0).any():
            return np.full(settings, math.inf)
        correlations = np.divide(
            shared, np.sqrt(np.where(known, own, 1) * spread), out=np.zeros(known.shape), where=known
        )
        middle = correlations.sum(1) / self.counts
        squares = (np.where(known, correlations - middle[:, None], 0) ** 2).sum(1)
        return np.asarray((self.counts - 1) / self.counts * squares)
