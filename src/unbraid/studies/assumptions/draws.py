"""What other seeds would have shown: the models with the seeds of every setting drawn anew, all draws at once.

A draw is how often each model was drawn, so that what is sorted once serves them all. A statistic gives a number for
every draw, the first of which is the models as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unbraid.report.estimates import SEEDS, Array, Estimate
from unbraid.studies.assumptions.models import Models, quietly

RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Draws:
    """Models, and how often each of them was drawn."""

    models: Models
    counts: Array
    """(draws, cells, seeds): a cell has as many as there are models in it. In the first draw every model is once."""

    def known(self, column: str) -> Array:
        """How often each model was drawn whose score is known (draws, cells, seeds)."""
        return np.asarray(self.counts * np.isfinite(self.models.get(column)))

    def medians(self, column: str) -> Array:
        """The median over seeds (draws, cells)."""
        return medians(self.models.get(column), self.counts)

    def median(self, column: str, cells: Array) -> Array:
        """The median over all models of some cells (draws,)."""
        return medians(self.models.get(column)[cells].ravel(), self._flat(cells))

    def means(self, column: str) -> Array:
        """The mean over seeds (draws, cells)."""
        known = self.known(column)
        total = np.einsum("dcs,cs->dc", known, np.nan_to_num(self.models.get(column)))
        return np.asarray(quietly(np.divide, total, known.sum(2)))

    def by_setting(self, values: Array) -> Array:
        """Values of cells (draws, cells) as (draws, data sets, settings), NaN where a setting was not run."""
        return np.moveaxis(self.models.by_setting(values.T), 2, 0)

    def rank_correlations(self, left: Iterable[str], right: Iterable[str], cells: Array) -> Array:
        """Spearman's, of scores over all models of some cells (draws, left, right)."""
        table = self.models.rows(left, cells)
        other = table if right is left else self.models.rows(right, cells)
        return rank_correlations(table, other, self._flat(cells))

    def strength_correlation(self, column: str, cells: Array) -> Array:
        """Spearman's, of a score with the strength of the regularisation, over all models of some cells (draws,)."""
        values = self.models.get(column)[cells]
        strength = np.broadcast_to(self.models.regularisation[cells][:, None], values.shape)
        return rank_correlations(strength.reshape(-1, 1), values.reshape(-1, 1), self._flat(cells))[:, 0, 0]

    def _flat(self, cells: Array) -> Array:
        return np.asarray(self.counts[:, cells].reshape(len(self.counts), -1))


@lru_cache(maxsize=2)
def drawn(models: Models, resamples: int = 0) -> Draws:
    """The models as they are, and with as many of each cell drawn with replacement, `resamples` times.

    None with too few seeds to say anything about their spread. The same draws serve all statistics.
    """
    order, count = np.argsort(~models.present, axis=1, kind="stable"), models.present.sum(1)[:, None]
    cells, seeds = models.present.shape
    there = np.arange(seeds)[None] < count
    found = [models.present.astype(np.int32)]
    rng = np.random.default_rng(0)
    for _ in range(resamples if models.seeds >= SEEDS else 0):
        places = (rng.random(models.present.shape) * count).astype(int)
        chosen = np.arange(cells)[:, None] * seeds + np.take_along_axis(order, places, 1)
        found.append(np.bincount(chosen[there], minlength=cells * seeds).reshape(cells, seeds).astype(np.int32))
    return Draws(models, np.stack(found))


Statistic = Callable[[Draws], Mapping[str, Any]]  # numbers by name: one for every draw


def estimate(
    models: Models,
    statistic: Statistic,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Numbers by name with 95 % intervals, from a bootstrap that draws seeds anew within every setting.

    The settings and the data sets are taken as given: the interval says what other seeds would have shown. A number
    that is not known is NaN, for whoever reads it to name.
    """
    found = {name: np.asarray(values) for name, values in statistic(drawn(models, resamples)).items()}
    return {name: around(values[0], values[1:], models.seeds, bounds) for name, values in found.items()}


def around(value: float, resampled: Array, seeds: int, bounds: tuple[float, float]) -> Estimate:
    """The spread of bootstrap values around their median, put around the value itself.

    Drawing n seeds from n shows (n-1)/n of the variance; the spread is widened by √(n/(n-1)) to make up for it.
    """
    value, values = float(value), resampled[np.isfinite(resampled)]
    if not math.isfinite(value) or seeds < SEEDS or len(values) < 20:
        return Estimate(value)
    spread = (np.quantile(values, [0.025, 0.975]) - np.median(values)) * math.sqrt(seeds / (seeds - 1))
    low, high = np.clip(value + spread, *bounds).tolist()
    return Estimate(value, low, high)


# Statistics of values that were drawn so and so often


def known_mean(values: Array, axis: int | tuple[int, ...]) -> Array:
    """The mean of what is known; NaN of nothing."""
    return np.asarray(quietly(np.nanmean, values, axis))


def medians(values: Array, counts: Array) -> Array:
    """The median of values (…, n) that were drawn `counts` times (draws, …, n): (draws, …). NaN is left out."""
    if not counts.size:
        return np.full(counts.shape[:-1], np.nan)
    order = np.argsort(values, axis=-1)  # NaN last
    known = np.take_along_axis(counts * np.isfinite(values), order[None], -1)
    reached = np.cumsum(known, -1, dtype=np.int32)
    total = reached[..., -1:]
    ends = [(reached >= middle).argmax(-1) for middle in ((total + 1) // 2, total // 2 + 1)]
    ordered = np.broadcast_to(np.take_along_axis(values, order, -1), counts.shape)
    lower, upper = (np.take_along_axis(ordered, end[..., None], -1)[..., 0] for end in ends)
    return np.asarray(np.where(total[..., 0] > 0, (lower + upper) / 2, np.nan))


def rank_correlations(left: Array, right: Array, counts: Array | None = None) -> Array:
    """Spearman's rank correlation of the columns of two tables (n, a) and (n, b): (a, b).

    With `counts` (draws, n), that of rows that were drawn so often: (draws, a, b). Rows where either is not known are
    left out. NaN with fewer than three rows, or where a column is constant.
    """
    if counts is None:
        return np.asarray(rank_correlations(left, right, np.ones((1, len(left)), np.int32))[0])
    there = np.isfinite(left).any(1) & np.isfinite(right).any(1)
    if np.isfinite(left[there]).all() and np.isfinite(right[there]).all():
        ranked = _ranks(left[there], counts[:, there])
        return _correlate(ranked, ranked if right is left else _ranks(right[there], counts[:, there]), counts[:, there])
    found = np.full((len(counts), left.shape[1], right.shape[1]), np.nan)
    for i, j in np.ndindex(found.shape[1:]):
        rows = np.isfinite(left[:, i]) & np.isfinite(right[:, j])
        mine, theirs = (_ranks(column[rows, None], counts[:, rows]) for column in (left[:, i], right[:, j]))
        found[:, i, j] = _correlate(mine, theirs, counts[:, rows])[:, 0, 0]
    return found


def _correlate(left: Array, right: Array, counts: Array) -> Array:
    """The correlation of ranks (draws, a, n) and (draws, b, n): (draws, a, b)."""
    norms = [np.sqrt(np.einsum("dan,dan,dn->da", ranks, ranks, counts)) for ranks in (left, right)]
    scale = norms[0][:, :, None] * norms[1][:, None]
    scale[counts.sum(1) < 3] = 0
    products = (left * counts[:, None]) @ right.swapaxes(1, 2)
    return np.asarray(np.where(scale > 0, products / np.where(scale > 0, scale, 1), np.nan))


def _ranks(table: Array, counts: Array) -> Array:
    """The ranks in each column of a table (n, a), less their mean, of rows that stand `counts` times: (draws, a, n)."""
    found = np.empty((len(counts), table.shape[1], len(table)))
    for place, column in enumerate(table.T):
        found[:, place] = _ranks_of(column, counts)
    return found


def _ranks_of(values: Array, counts: Array) -> Array:
    """Equal values share the mean of their ranks: (those below + those up to them + 1) / 2."""
    order = np.argsort(values, kind="stable")
    ordered, times = values[order], counts[:, order]
    up_to = np.cumsum(times, 1)
    below = up_to - times
    starts = np.flatnonzero(np.diff(ordered, prepend=np.nan))  # of runs of equal values
    if len(starts) < len(values):
        run = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
        below, up_to = below[:, starts][:, run], up_to[:, np.append(starts[1:], len(values)) - 1][:, run]
    found = np.empty(counts.shape)
    found[:, order] = (below + up_to - counts.sum(1)[:, None]) / 2
    return found
