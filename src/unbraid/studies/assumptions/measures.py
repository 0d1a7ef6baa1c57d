"""What the claims measure: each a function of the draws, with a number for every draw."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from unbraid.report.estimates import Array
from unbraid.studies.assumptions.draws import Draws, known_mean, rank_correlations
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, UNSUPERVISED, quietly

Numbers = dict[str, Array]  # by name, (draws,)


# 5.2: total correlation


def trend(draws: Draws, column: str, data: str, method: str) -> Array:
    """The rank correlation of a score with the strength of the regularisation, over all models of a method."""
    return draws.strength_correlation(column, draws.models.cells(data, method))


def plain_over_highest(draws: Draws, data: str) -> Array:
    """The median total correlation of the plain VAE over the highest of other settings, AnnealedVAE aside."""
    models, medians = draws.models, draws.medians(SAMPLED)
    plain = np.isin(models.method, ("beta_vae", "beta_tc_vae")) & (models.strength == 1)
    others = ~plain & (models.method != "annealed_vae")
    mine, theirs = (medians[:, (models.data == data) & kind] for kind in (plain, others))
    highest = _highest(theirs)
    return np.asarray(np.where(highest > 0, known_mean(mine, 1) / np.where(highest > 0, highest, 1), np.nan))


def _highest(values: Array) -> Array:
    """The largest of what is known along the last axis; NaN of nothing."""
    found = np.where(np.isfinite(values), values, -np.inf).max(-1, initial=-np.inf)
    return np.asarray(np.where(np.isfinite(found), found, np.nan))


def mean_above_sampled(draws: Draws) -> Array:
    """The share of models whose mean codes have the higher total correlation."""
    mean, sampled = draws.models.get(MEAN), draws.models.get(SAMPLED)
    known = np.isfinite(mean) & np.isfinite(sampled)
    parts = [np.einsum("dcs,cs->d", draws.counts, part) for part in (known & (mean > sampled), known)]
    return np.asarray(quietly(np.divide, *parts))


def dip_i_over_lowest(draws: Draws) -> Array:
    """DIP-VAE-I's median total correlation on its worst data set, over the lowest such number of another method."""
    models = draws.models
    worst = {}
    for method in models.methods:
        found = [draws.median(MEAN, models.cells(data, method)) for data in models.data_sets]
        worst[method] = np.max(found, 0)  # NaN where it is not known of all data sets
    mine = worst.pop("dip_vae_i", np.full(len(draws.counts), np.nan))
    lowest = -_highest(-np.stack(list(worst.values()), 1)) if worst else np.full(len(draws.counts), np.nan)
    return np.asarray(np.where(lowest > 0, mine / np.where(lowest > 0, lowest, 1), np.nan))


# 5.3: agreement of metrics


def agreement(draws: Draws, data: str, pairs: Iterable[tuple[str, str]]) -> Array:
    """The mean rank correlation of pairs of metrics over all models on a data set."""
    columns = list(draws.models.known(METRICS))
    kept = [(columns.index(a), columns.index(b)) for a, b in pairs if a in columns and b in columns]
    if not kept:
        return np.full(len(draws.counts), np.nan)
    matrix = draws.rank_correlations(columns, columns, draws.models.cells(data))
    return known_mean(np.stack([matrix[:, i, j] for i, j in kept]), 0)


# 5.4: methods and their strengths


def variance_shares(draws: Draws, column: str, data: str) -> Array:
    """The shares of a score's variance that come from the method, the strength in it, and the seed (draws, 3).

    Components of variance of the nested design (method, strength, seed), by the method of moments on cell means; a
    negative component counts 0. NaN without two methods, two strengths of one of them, and two seeds of a setting.
    """
    cells = draws.models.cells(data)
    values, counts = np.nan_to_num(draws.models.get(column)[cells]), draws.known(column)[:, cells]
    number, means = counts.sum(2), draws.means(column)[:, cells]
    residual = np.einsum("dcs,dcs->d", counts, (values - np.nan_to_num(means)[:, :, None]) ** 2)
    seed = quietly(np.divide, residual, (number - (number > 0)).sum(1))
    noise = quietly(np.divide, seed[:, None], np.where(number > 0, number, np.nan))  # of a cell's mean, from the seed
    groups = [draws.models.method[cells] == method for method in sorted(set(draws.models.method[cells]))]
    if len(groups) < 2:
        return np.full((len(draws.counts), 3), np.nan)
    sizes = np.stack([(number[:, group] > 0).sum(1) for group in groups], 1)
    spread = np.stack([quietly(_variance, means[:, group]) for group in groups], 1)  # NaN of one strength
    noises = np.stack([known_mean(noise[:, group], 1) for group in groups], 1)
    strength = np.maximum(known_mean(spread - noises, 1), 0)
    centres = np.stack([known_mean(means[:, group], 1) for group in groups], 1)
    below = known_mean(quietly(np.divide, strength[:, None] + noises, sizes), 1)
    method = np.maximum(quietly(_variance, centres) - below, 0)
    parts = np.stack([method, strength, seed], 1)
    return np.asarray(quietly(np.divide, parts, parts.sum(1, keepdims=True)))


def _variance(values: Array) -> Array:
    """Of what is known of each row; NaN of less than two."""
    return np.asarray(np.nanvar(values, 1, ddof=1))


def largest_share(contests: Sequence[Array]) -> Array:
    """The share of contests, each (draws, rivals), that the most frequent winner wins; those that tie share the win.

    NaN is a rival that did not take part. Contests of one count for nothing; NaN where there are no others.
    """
    scores = np.where(np.isfinite(contests), contests, -np.inf)  # (contests, draws, rivals)
    fought = np.isfinite(scores).sum(2) > 1
    best = (scores == scores.max(2, keepdims=True)) & fought[:, :, None]
    wins = (best / np.maximum(best.sum(2, keepdims=True), 1)).sum(0)
    return np.asarray(quietly(np.divide, wins.max(1), fought.sum(0)))


def best_methods(draws: Draws) -> Array:
    """The share of data sets and metrics on which the most frequent best method is the best, by its best median."""
    models = draws.models
    contests = []
    for column in models.known(METRICS):
        medians = draws.medians(column)
        for data in models.data_sets:
            contests.append(np.stack([_highest(medians[:, models.cells(data, m)]) for m in models.methods], 1))
    return largest_share(contests) if contests else np.full(len(draws.counts), np.nan)


def best_strengths(draws: Draws) -> Array:
    """The share of data sets and metrics on which a method's most frequent best strength is the best, over methods."""
    models = draws.models
    by_setting = [draws.by_setting(draws.medians(column)) for column in models.known(METRICS)]
    shares = []
    for method in models.methods if by_setting else ():
        mine = [place for place, (name, _) in enumerate(models.settings) if name == method]
        shares.append(largest_share([table[:, data, mine] for table in by_setting for data in range(table.shape[1])]))
    return known_mean(np.stack(shares), 0) if shares else np.full(len(draws.counts), np.nan)


# 5.5: choosing without labels, and transfer


def unsupervised(draws: Draws) -> Numbers:
    """The size of each unsupervised score's mean rank correlation with the metrics, over metrics and data sets.

    The mean is taken with signs, so that they may cancel: a score that goes up with disentanglement here and down with
    it there does not tell a user which model to take.
    """
    models = draws.models
    scores, metrics = models.known(UNSUPERVISED), models.known(METRICS)
    if not scores or not metrics:
        return {}
    found = np.stack([draws.rank_correlations(scores, metrics, models.cells(data)) for data in models.data_sets])
    known = {name: np.abs(known_mean(found[:, :, place], (0, 2))) for place, name in enumerate(scores.values())}
    return {name: known.get(name, np.full(len(draws.counts), np.nan)) for name in UNSUPERVISED.values()}


def across_data(draws: Draws, column: str) -> Array:
    """The rank correlation of the settings' medians between data sets (draws, data sets, data sets)."""
    medians = draws.by_setting(draws.medians(column))
    return np.stack([rank_correlations(table, table) for table in medians.swapaxes(1, 2)])


def is_colour_pair(one: str, other: str) -> bool:
    return {one.removesuffix("_official"), other.removesuffix("_official")} == {"dsprites", "color_dsprites"}


def transfers(draws: Draws, colour: bool) -> Array:
    """The mean over metrics and pairs of data sets: dSprites with Color-dSprites, or all others."""
    names, metrics = draws.models.data_sets, draws.models.known(METRICS)
    pairs = itertools.combinations(range(len(names)), 2)
    kept = [(i, j) for i, j in pairs if is_colour_pair(names[i], names[j]) == colour]
    found = [across_data(draws, column) for column in metrics] if kept else []
    if not found:
        return np.full(len(draws.counts), np.nan)
    return known_mean(np.stack([matrix[:, i, j] for matrix in found for i, j in kept]), 0)


# 5.6: downstream tasks


def usefulness(
    draws: Draws, metrics: Iterable[str], targets: Iterable[str], kept: Callable[[str], bool] = lambda data: True
) -> Numbers:
    """The rank correlation of metrics and targets, mean over both and over data sets."""
    models = draws.models
    columns, targets = [column for column in metrics if column in models.scores], list(targets)
    sets = [models.cells(data) for data in filter(kept, models.data_sets)]
    if not columns or not targets or not sets:
        return {}
    found = [known_mean(draws.rank_correlations(columns, targets, cells), (1, 2)) for cells in sets]
    return {"mean": known_mean(np.stack(found), 0)}
