"""Choosing a model: table 1 of the paper, and how much each way of choosing loses against the best model there is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from unbraid.figures import data_name
from unbraid.report.estimates import Array, Estimate, average, choices, probability_beats_random, wins
from unbraid.studies.assumptions.draws import RESAMPLES, Draws, drawn, estimate, known_mean, medians
from unbraid.studies.assumptions.models import METRICS, UDR, Models, quietly

TRIALS = 10_000
CASES = {
    # name: (same metric, same data set)
    "same metric, same data set": (True, True),
    "same metric, other data set": (True, False),
    "other metric, same data set": (False, True),
    "other metric, other data set": (False, False),
}
PAPER = dict(zip(CASES, (0.773, 0.550, 0.518, 0.519), strict=True))


@dataclass(frozen=True)
class Transfer:
    """How often a setting chosen with labels does at least as well as a random one, on another seed (table 1)."""

    trials: dict[str, float]
    """By case, over the trials."""
    counted: dict[str, int]
    """Trials in which both models exist."""
    exact: dict[str, Estimate]
    """The same probability over all possible trials, with an interval over seeds."""
    chance: float
    """What a random choice would reach: above one half, for it may draw the very model it is compared with."""


@lru_cache(maxsize=2)
def transfer(models: Models, trials: int = TRIALS) -> Transfer:
    """Section 5.5's trials: draw a seed, a metric and a data set; take the setting with the highest score there.

    Compare it with a setting drawn at random, both trained with one other seed, on the same or another metric and the
    same or another data set. Doing equally well counts as success, and the random setting may be the chosen one. Where
    two settings share the highest score the first in the order of names is taken. Trials in which a model is missing
    are left out.
    """
    scores = _cube(models)  # (data sets, metrics, settings, seeds)
    drawn, counted = _trials(scores, trials)
    exact = {
        case: probability_beats_random(scores, same_metric=same_metric, same_data=same_data)
        for case, (same_metric, same_data) in CASES.items()
    }
    return Transfer(drawn, counted, exact, average(wins(scores)))


def _cube(models: Models) -> Array:
    found = [models.by_setting(models.get(column)) for column in models.known(METRICS)]
    if not found:
        return np.zeros((0, 0, 0, 0))
    return np.stack(found, 1)


def _trials(scores: Array, trials: int) -> tuple[dict[str, float], dict[str, int]]:
    sets, metrics, settings, seeds = scores.shape
    result, counted = dict.fromkeys(CASES, math.nan), dict.fromkeys(CASES, 0)
    if not scores.size or seeds < 2:
        return result, counted
    rng = np.random.default_rng(0)
    data, metric, seed = (rng.integers(size, size=trials) for size in (sets, metrics, seeds))
    other_seed = _another(seed, seeds, rng)
    other_data, other_metric = _another(data, sets, rng), _another(metric, metrics, rng)
    mine, theirs = choices(scores)[data, metric, seed], rng.integers(settings, size=trials)
    for case, (same_metric, same_data) in CASES.items():
        if (sets < 2 and not same_data) or (metrics < 2 and not same_metric):
            continue
        at = scores[data if same_data else other_data, metric if same_metric else other_metric, :, other_seed]
        rows = np.arange(trials)
        left, right = at[rows, mine], at[rows, theirs]
        both = (mine >= 0) & np.isfinite(left) & np.isfinite(right)
        counted[case] = int(both.sum())
        result[case] = average(left[both] >= right[both])
    return result, counted


def _another(values: Array, count: int, rng: np.random.Generator) -> Array:
    """For each value another one of the `count`; the same where there is but one."""
    if count < 2:
        return values
    return np.asarray((values + rng.integers(1, count, size=len(values))) % count)


# What each way of choosing loses

SCORED = {
    # strategy: (column, whether more is better)
    "highest ELBO": ("scores.elbo", True),
    "lowest reconstruction error": ("scores.reconstruction", False),
    "lowest KL": ("scores.kl", False),
    "lowest TC (sampled)": ("scores.total_correlation_sampled", False),
}
STRATEGIES = ("random", *SCORED, *UDR.values(), "transfer from another data set", "best setting (labels)", "oracle")
HOW = (
    "The regret is the best score among the models of a data set minus the score of the selected one. random: the mean "
    "over all models. ELBO, reconstruction error, KL and TC: the one model with the best value. UDR: the setting with "
    "the highest median UDR over its seeds, and within it the model with the highest UDR of its own. transfer: the "
    "setting with the highest median score on another data set with labels, a random seed of it here, averaged over "
    "the other data sets. best setting: the setting with the highest median score on this data set, a random seed of "
    "it. oracle: the best model."
)


def regrets(draws: Draws) -> dict[tuple[str, str, str], Array]:
    """By strategy, metric and data set, in every draw; strategies whose scores are not known are left out."""
    models = draws.models
    found: dict[tuple[str, str, str], Array] = {}
    for metric in models.known(METRICS):
        scores, by_median = models.get(metric), draws.by_setting(draws.medians(metric))
        expected, known = draws.by_setting(draws.means(metric)), draws.known(metric)
        for place, data in enumerate(models.data_sets):
            cells = models.cells(data)
            here, counts = scores[cells], known[:, cells]
            if not np.isfinite(here).any():
                continue
            best = _by_score(here, here, counts)
            mean_score = quietly(np.divide, np.einsum("dcs,cs->d", counts, np.nan_to_num(here)), counts.sum((1, 2)))
            selected = {"random": mean_score, "oracle": best}
            for strategy, (column, more) in SCORED.items():
                selected[strategy] = _by_score(here, models.get(column)[cells] * (1 if more else -1), counts)
            for column, strategy in UDR.items():
                selected[strategy] = _by_setting(here, models.get(column)[cells], counts)
            mine = expected[:, place]
            selected["best setting (labels)"] = _best(by_median[:, place], mine)
            others = [_best(by_median[:, other], mine) for other in range(len(models.data_sets)) if other != place]
            if others:
                selected["transfer from another data set"] = known_mean(np.stack(others), 0)
            found |= {(strategy, metric, data): best - value for strategy, value in selected.items()}
    return {key: value for key, value in found.items() if math.isfinite(value[0])}


def _by_score(scores: Array, by: Array, counts: Array) -> Array:
    """The score of the model with the highest value among those drawn, of scores and values (cells, seeds)."""
    there = ((counts > 0) & np.isfinite(by)).reshape(len(counts), -1)
    chosen = np.where(there, by.ravel(), -np.inf).argmax(1)
    return np.asarray(np.where(there.any(1), scores.ravel()[chosen], np.nan))


def _by_setting(scores: Array, by: Array, counts: Array) -> Array:
    """The score of the model with the highest value within the setting with the highest median value."""
    middle = medians(np.where(np.isfinite(scores), by, np.nan), counts)
    best = np.where(np.isfinite(middle), middle, -np.inf).argmax(1)
    only = np.arange(len(scores)) == best[:, None]  # (draws, cells)
    return _by_score(scores, by, counts * only[:, :, None])


def _best(by: Array, expected: Array) -> Array:
    """What is expected of the setting with the highest value (draws, settings), among those that are known here."""
    there = np.isfinite(by) & np.isfinite(expected)
    chosen = np.where(there, by, -np.inf).argmax(1)
    return np.asarray(np.where(there.any(1), expected[np.arange(len(by)), chosen], np.nan))


def regret_means(draws: Draws) -> dict[str, Array]:
    """By strategy, the mean over metrics and data sets."""
    found = regrets(draws)
    return {
        strategy: known_mean(np.stack(values), 0)
        for strategy in STRATEGIES
        if (values := [value for key, value in found.items() if key[0] == strategy])
    }


def regret_table(models: Models, resamples: int = RESAMPLES) -> pd.DataFrame:
    """A row a strategy: mean regret with its interval over seeds, then the mean by metric and by data set."""
    found, means = regrets(drawn(models)), estimate(models, regret_means, (0, math.inf), resamples)
    rows = []
    for strategy, overall in ((name, one) for name, one in means.items() if one.known):
        mine = {key[1:]: float(value[0]) for key, value in found.items() if key[0] == strategy}
        row: dict[str, object] = {"strategy": strategy, "mean regret [95 %]": overall.text(".3f")}
        for metric, name in models.known(METRICS).items():
            row[name] = average(value for key, value in mine.items() if key[0] == metric)
        if len(models.data_sets) > 1:
            for data in models.data_sets:
                row[data_name(data)] = average(value for key, value in mine.items() if key[1] == data)
        rows.append(row)
    return pd.DataFrame(rows)
