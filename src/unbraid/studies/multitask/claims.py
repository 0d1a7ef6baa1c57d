"""What the paper says, as rules that a table of runs satisfies or violates. The rules were fixed before the results.

Every claim comes down to numbers, each known for every data set and seed, and one threshold. A number's mean over data
sets and seeds has a 95 % interval over seeds (`report.estimates`). The claim holds where every interval lies on the
claimed side of the threshold, does not hold where one lies wholly on the other side, and inconclusive otherwise: nor
with fewer than two data sets of three seeds each. Where the paper speaks of each data set, so do the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.stats import rankdata

from unbraid.pictures.style import data_name
from unbraid.report import Claim, Judged, Rule
from unbraid.report.claims import cases, data_sets
from unbraid.report.estimates import Array, Estimate, mean, ratio
from unbraid.studies.multitask import paper
from unbraid.studies.multitask.models import (
    AGREEMENT,
    AUTOENCODERS,
    ERROR,
    FACTORS,
    HALVES,
    METRICS,
    MULTI,
    ONE,
    ONE_HALF,
    RANDOM,
    RANDOM_FACTORS,
    SECTION_4_1,
    SHARED,
    SHARED_ONE,
    SINGLE,
    Kind,
    Models,
    decoder_on,
    extreme,
    heads_on,
    log,
    mean_known,
    single_mean,
)

DATA_SETS = 2  # with seeds enough, below which nothing is said in general
CLEAR = 0.5  # a mean rank correlation, or mean rank from -1 to 1, from which a trend is clear
TWO_OF_THREE = 2 / 3

Values = Mapping[str, Array]
Judge = Callable[[Models], Judged]


def judged(
    models: Models, words: str, said: str, rule: Rule, values: Values, *, by_data: bool = False, ratios: bool = False
) -> Judged:
    """The claim with its verdict, or with what is missing for one.

    `values` are (data sets, seeds) by name; `by_data` makes a number of each of their rows, `ratios` says that they are
    logarithms of ratios, which are shown.
    """
    if by_data:
        values = {
            data_name(data): rows[place : place + 1]
            for rows in values.values()
            for place, data in enumerate(models.data_sets)
        }
    known = {name: rows for name, rows in values.items() if np.isfinite(rows).any()}
    estimates = {name: mean(rows) for name, rows in (known if by_data else values).items()}
    if ratios:
        estimates = {name: entry.map(math.exp) for name, entry in estimates.items()}
    seeds = max((int(np.isfinite(rows).sum(1).max()) for rows in known.values()), default=0)
    there = sum(bool(np.isfinite(rows).any()) for rows in known.values()) if by_data else _sets(known)
    scale = f"{there} data {'set' if there == 1 else 'sets'}, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    needs = (cases(DATA_SETS, "data sets") if by_data else data_sets(DATA_SETS),)
    return Claim[None](
        "", "", words, said, rule, lambda _: estimates, needs=needs, note=lambda _: scale if known else "",
        form=".2f" if ratios else ".3f",
    ).judge(None)  # fmt: skip


def _sets(known: Values) -> int:
    return max((int(np.isfinite(rows).any(1).sum()) for rows in known.values()), default=0)


# 4.1: scores


def gains(models: Models, model: str, other: str) -> dict[str, Array]:
    """How far a model's scores are above another's, by metric: (data sets, seeds). Names are those of table 5."""
    mine, theirs = SECTION_4_1[model], SECTION_4_1[other]
    return {name: mine(models, column) - theirs(models, column) for column, name in METRICS.items()}


def _beats(models: Models, words: str, model: str, other: str, where: str) -> Judged:
    return judged(
        models,
        words,
        f"{paper.listed(paper.gains(model, other))} (table 5, {where})",
        Rule(f"score of {model} minus score of {other}, mean over data sets, by metric", "above", 0.0),
        gains(models, model, other),
    )


def beats_single(models: Models) -> Judged:
    words = "Multi-task codes are more disentangled than the mean of single-task codes, by every metric."
    return _beats(models, words, "multi-head", "single-mean", "figure 3")


def beats_best_single(models: Models) -> Judged:
    words = "Multi-task codes are even more disentangled than those of the best single task."
    return _beats(models, words, "multi-head", "single-max", "figure 3: almost every case")


def beats_random(models: Models) -> Judged:
    words = "Multi-task codes are more disentangled than those of an untrained encoder."
    return _beats(models, words, "multi-head", "random", "figure 3")


def beats_one_head(models: Models) -> Judged:
    words = "One head for all tasks gives codes that are less disentangled than those of a head for each."
    return _beats(models, words, "multi-head", "one-head", "figure 4")


def one_head_beats_single(models: Models) -> Judged:
    words = "The codes of one head are still more disentangled than the mean of single-task codes."
    return _beats(models, words, "one-head", "single-mean", "4.1")


# 4.2: what codes hold


def _of_looked_at(models: Models, column: str) -> tuple[Array, Array, Array]:
    return models.scores(column, RANDOM), models.scores(column, SINGLE), models.scores(column, MULTI)


def separates(models: Models) -> Judged:
    random, single, multi = _of_looked_at(models, AGREEMENT)
    return judged(
        models,
        "UMAP separates the factors' values for multi-task codes, not for single-task and untrained ones.",
        "seen by eye; not as visible on MPI3D (4.2.1, D.1, figures 5 and 8)",
        Rule("agreement of neighbours on the factors, mean over factors and data sets, difference", "above", 0.0),
        {"multi-task minus single-task": multi - single, "multi-task minus untrained": multi - random},
    )


def _decoders(models: Models) -> tuple[Array, Array, Array]:
    random, single, multi = (log(models.scores(ERROR, decoder_on(kind))) for kind in (RANDOM, SINGLE, MULTI))
    return random, single, multi


def reconstructs_best(models: Models) -> Judged:
    random, single, multi = _decoders(models)
    said = [paper.decoder_ratio("multi-head", other) for other in ("single-task", "random")]
    return judged(
        models,
        "Decoders reconstruct best from multi-task codes.",
        f"over single-task {said[0]:.2f}; over untrained {said[1]:.2f} (table 4)",
        Rule("test error from multi-task codes over that from others, geometric mean over data sets", "below", 1.0),
        {"over single-task": multi - single, "over untrained": multi - random},
        ratios=True,
    )


def single_reconstructs_worst(models: Models) -> Judged:
    random, single, _ = _decoders(models)
    return judged(
        models,
        "Decoders reconstruct worse from single-task codes than from those of an untrained encoder.",
        f"over untrained {paper.decoder_ratio('single-task', 'random'):.2f} (table 4, D.2)",
        Rule("test error from single-task codes over that from untrained ones, geometric mean", "above", 1.0),
        {"over untrained": single - random},
        ratios=True,
    )


# 4.3: heads on frozen codes


def factor_vae_leads(models: Models) -> Judged:
    values, said = {}, {}
    for column in ("scores.mig", "scores.dci.disentanglement"):
        scores, name = [models.scores(column, Kind(method)) for method in AUTOENCODERS], METRICS[column]
        values[name] = scores[2] - extreme(np.stack(scores[:2], -1), True)
        said[name] = paper.factor_vae_lead(name)
    return judged(
        models,
        "Of AE, VAE and FactorVAE, FactorVAE has the most disentangled codes, by MIG and DCI.",
        f"{paper.listed(said)} (table 6, F: in most cases)",
        Rule("FactorVAE's score minus the better of the other two, mean over data sets", "above", 0.0),
        values,
    )


def base_ratio(models: Models, codes: str, others: Sequence[str]) -> Array:
    """log of the test error of heads on these codes over that on the best of the others (data sets, seeds)."""
    errors = np.stack([log(models.scores(ERROR, heads_on(other))) for other in others], -1)
    return np.asarray(log(models.scores(ERROR, heads_on(codes))) - extreme(errors, False))


def factor_vae_is_no_base(models: Models) -> Judged:
    others = AUTOENCODERS[:2]
    return judged(
        models,
        "FactorVAE's codes are never the best to learn the tasks from.",
        f"{paper.listed(paper.base_ratios('factor_vae', others))} (table 1, F)",
        Rule("test error of heads on FactorVAE's codes over that on the better of AE and VAE, by data set", "above", 1),
        {"": base_ratio(models, "factor_vae", others)},
        by_data=True,
        ratios=True,
    )


def true_factors_are_best(models: Models) -> Judged:
    return judged(
        models,
        "The true factors are the best to learn the tasks from, on two of three data sets.",
        f"{paper.listed(paper.base_ratios(FACTORS, AUTOENCODERS))} (table 1)",
        Rule(
            "test error of heads on the true factors over that on the best autoencoder's codes, by data set",
            "below", 1.0, TWO_OF_THREE,
        ),
        {"": base_ratio(models, FACTORS, AUTOENCODERS)},
        by_data=True,
        ratios=True,
    )  # fmt: skip


# E and J: test errors


def joint_errors(models: Models) -> Judged:
    single = log(single_mean(models, ERROR))
    pairs = zip(paper.TOTALS, paper.JOINT_TOTALS, strict=True)
    said = math.exp(float(np.mean([math.log(joint / np.mean(totals)) for totals, joint in pairs])))
    return judged(
        models,
        "Models that learn all tasks jointly have a lower test error over all tasks than single-task models.",
        f"multi-head {said:.2f}; one-head lower too (figure 13, tables 8 to 10)",
        Rule("test error over all tasks, over the mean of single-task models', geometric mean", "below", 1.0),
        {kind.name: log(models.scores(ERROR, kind)) - single for kind in (MULTI, ONE)},
        ratios=True,
    )


def task_gain(models: Models) -> Array:
    """log of the joint model's test error over the own model's, mean over tasks (data sets, seeds)."""
    return np.asarray(mean_known(log(models.task_errors(MULTI)) - log(models.own_errors()), 2))


def joint_beats_own(models: Models) -> Judged:
    said = paper.listed(paper.task_ratios())
    return judged(
        models,
        "A task's test error is lower where all tasks are learned jointly than where it is learned alone.",
        f"{said}: on Shapes3D every task is worse (tables 8 to 10, J)",
        Rule("test error of multi-head over that of the task's own model, geometric mean over tasks", "below", 1.0),
        {"ratio": task_gain(models)} if models.tasks else {},
        by_data=True,
        ratios=True,
    )


# G and H: which tasks


def trends(models: Models) -> dict[str, Array]:
    """The rank correlation of the number of tasks with each score, over the models of a data set and seed."""
    kinds = list(models.counts.values())
    found = {}
    for column, name in models.metrics.items():
        scores = np.stack([models.scores(column, kind) for kind in kinds], -1) if len(kinds) > 2 else None
        if scores is not None:
            found[name] = np.asarray(np.apply_along_axis(_rank_trend, 2, scores))
    return found


def _rank_trend(scores: Array) -> float:
    """Spearman's correlation of scores with their place; NaN where one is missing, or all are the same."""
    if not np.isfinite(scores).all() or np.ptp(scores) == 0:
        return math.nan
    return float(np.corrcoef(np.arange(len(scores)), rankdata(scores))[0, 1])


def no_trend(models: Models) -> Judged:
    found = trends(models)
    return judged(
        models,
        "The disentanglement shows no clear trend with the number of tasks.",
        "no clear conclusion; results vary a lot (G, figure 14)",
        Rule("rank correlation of number of tasks and score, mean over metrics and data sets", "within", CLEAR),
        {"mean": mean_known(np.stack(list(found.values()), -1), 2)} if found else {},
    )


SPLITS = {"all": MULTI, "random": RANDOM_FACTORS, "halves": HALVES}


def split_ranks(models: Models) -> dict[str, Array]:
    """The place of each split of the factors among the three, from -1 (lowest score) to 1, mean over metrics."""
    ranks = []
    for column in models.metrics:
        scores = np.stack([models.scores(column, kind) for kind in SPLITS.values()], -1)
        ranks.append(np.where(np.isfinite(scores).all(-1, keepdims=True), rankdata(scores, axis=-1) - 2, np.nan))
    if not ranks:
        return {}
    means = mean_known(np.stack(ranks), 0)
    return {name: means[..., place] for place, name in enumerate(SPLITS)}


def no_split_matters(models: Models) -> Judged:
    return judged(
        models,
        "Which factors the tasks depend on (all, a random subset each, disjoint halves) has no clear effect.",
        "no conclusive impact (H, figure 15)",
        Rule("rank among the three from −1 (lowest) to 1, mean over metrics and data sets", "within", CLEAR),
        split_ranks(models),
    )


SCORES: tuple[Judge, ...] = (beats_single, beats_best_single, beats_random, beats_one_head, one_head_beats_single)
CODES: tuple[Judge, ...] = (separates, reconstructs_best, single_reconstructs_worst)
BASES: tuple[Judge, ...] = (factor_vae_leads, factor_vae_is_no_base, true_factors_are_best)
ERRORS: tuple[Judge, ...] = (joint_errors, joint_beats_own)
COUNTS: tuple[Judge, ...] = (no_trend,)
FACTOR_SPLITS: tuple[Judge, ...] = (no_split_matters,)
ALL = (*SCORES, *CODES, *BASES, *ERRORS, *COUNTS, *FACTOR_SPLITS)


def judge(models: Models, judges: Sequence[Judge]) -> list[Judged]:
    return [judge(models) for judge in judges]


# Beyond the paper

SUPERVISION = {
    "one head for all tasks": ONE,
    "a head each, tasks of one network": SHARED,
    "one head, tasks of one network": SHARED_ONE,
    "a head each, tasks on one half of the factors": ONE_HALF,
}
ALL_METRICS = "mean of the metrics"


def explained(models: Models, kind: Kind, place: int | None = None) -> dict[str, Estimate]:
    """(score - single-task mean) / (multi-head - single-task mean), by metric and of the mean of all metrics.

    Over all data sets, or of the one at `place`. 0: no better than single tasks; 1: as good as multi-head.
    """
    rows = slice(None) if place is None else slice(place, place + 1)
    parts = {
        name: (models.scores(column, kind) - single_mean(models, column), _gain(models, column))
        for column, name in models.metrics.items()
    }
    if parts:
        both = [np.mean([pair[at] for pair in parts.values()], axis=0) for at in (0, 1)]
        parts = {ALL_METRICS: (both[0], both[1]), **parts}
    return {name: ratio(above[rows], below[rows]) for name, (above, below) in parts.items()}


def _gain(models: Models, column: str) -> Array:
    return models.scores(column, MULTI) - single_mean(models, column)


def in_words(name: str, entry: Estimate) -> str:
    """What a share of the effect says."""
    share = f"{entry.text()} of the gain of multi-head over single tasks"
    if not entry.known or math.isnan(entry.low):
        return f"{name}: {share}; too few seeds to say more"
    if math.isinf(entry.low):
        return f"{name}: {share}; the gain itself is not clear, so that its share inconclusive"
    if entry.low > 0:
        words = "all of it or more" if entry.low >= 1 else "a part of it" if entry.high < 1 else "a part or all of it"
    else:
        words = "less than all of it, perhaps nothing" if entry.high < 1 else "between nothing and all of it"
    return f"{name}: {share}; {words}"
