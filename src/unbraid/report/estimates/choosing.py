"""How good it is to choose settings by the scores of others."""

from __future__ import annotations

import math

import numpy as np

from unbraid.errors import InputError
from unbraid.report.estimates.estimate import SEEDS, UNKNOWN, Array, Estimate, average
from unbraid.report.estimates.leaving_out import left_out
from unbraid.report.estimates.means import margin


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
    known = np.isfinite(scores).any((1, 2))  # (data sets, seeds)
    value, sizes = _mean_of_pairs(table, known), known.sum(1)
    sizes = sizes[sizes > 0]
    if not math.isfinite(value) or sizes.min() < SEEDS:
        return Estimate(value)

    def without(data: int, seeds: Array) -> Array:
        kept = np.repeat(known[None], len(seeds), 0)
        kept[np.arange(len(seeds)), data, seeds] = False
        return np.array([_mean_of_pairs(table, one) for one in kept])

    parts = left_out(known, without)
    if not np.isfinite(parts).all():
        return Estimate(value)
    if same_data:  # of pairs of seeds of one data set: leaving out one counts what is peculiar to a pair too often
        parts = parts * (sizes - 2) / (sizes - 1)
    half = margin(parts, sizes - 1.0) * math.sqrt(parts.sum())
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
    means = np.full((sets, sets, seeds, seeds), np.nan)
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
        means[one, other] = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means


def _mean_of_pairs(table: Array, seeds: Array) -> float:
    """The mean over pairs of data sets of the mean over pairs of their seeds."""
    kept = seeds[:, None, :, None] & seeds[None, :, None, :] & np.isfinite(table)
    count = kept.sum((2, 3))
    total = np.where(kept, table, 0).sum((2, 3))
    return average((total[count > 0] / count[count > 0]).ravel())
