"""What the paper says, as claims about the models, and what each of them measures.

Arrays are (data sets, seeds). A number is a mean over seeds, and over data sets where the paper speaks of all of them,
with a 95 % interval over seeds; where it speaks of each data set or metric, each is a case of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from unbraid.pictures.names import data_name
from unbraid.report.claims import Claim, Need, Rule
from unbraid.report.estimates import SEEDS, Array, Estimate, counted, mean, trend
from unbraid.report.run_table import known_mean
from unbraid.studies.multitask import paper
from unbraid.studies.multitask.models import (
    AGREEMENT,
    ERROR,
    FACTORS,
    LOOKED_AT,
    METRICS,
    MULTI,
    NAMES,
    ONE,
    SECTION_4_1,
    SINGLE,
    SPLITS,
    STANDARD,
    Group,
    Models,
    decoder_on,
    extreme,
    heads_on,
    log,
    single_mean,
)
from unbraid.studies.multitask.study import AUTOENCODERS

CLEAR = 0.5  # a trend, or a mean rank from -1 to 1, from which an effect is clear
TWO_OF_THREE = 2 / 3
MOSTLY = 0.75  # of the cases, where the paper says typically
ALMOST = 0.8  # where it says in almost every case
Numbers = Mapping[str, Estimate]
Measure = Callable[[Models], Numbers]


def gains(models: Models, model: str, other: str) -> dict[str, Array]:
    """How far a model's scores are above another's, by metric: (data sets, seeds). Names are those of table 5."""
    first, second = SECTION_4_1[model], SECTION_4_1[other]
    return {name: first(models, column) - second(models, column) for column, name in METRICS.items()}


def gain(model: str, other: str) -> Measure:
    return lambda models: {name: mean(values) for name, values in gains(models, model, other).items()}


def separation(models: Models) -> Numbers:
    random, single, multi = (models.scores(AGREEMENT, group) for group in LOOKED_AT)
    return {"multi-task minus single-task": mean(multi - single), "multi-task minus untrained": mean(multi - random)}


def geometric(values: Array) -> Estimate:
    """The geometric mean of ratios given by their logarithms (data sets, seeds)."""
    return mean(values).map(math.exp)


def decoder_ratios(models: Models) -> Numbers:
    numbers = {}
    for variant in ("", STANDARD):
        random, single, multi = (log(models.scores(ERROR, decoder_on(group, variant))) for group in LOOKED_AT)
        codes = f", {variant}" if variant else ""
        numbers[f"over single-task{codes}"] = geometric(multi - single)
        numbers[f"over untrained{codes}"] = geometric(multi - random)
    return numbers


def single_over_untrained(variant: str = "") -> Measure:
    def measure(models: Models) -> Numbers:
        random, single, _ = (log(models.scores(ERROR, decoder_on(group, variant))) for group in LOOKED_AT)
        return {"over untrained": geometric(single - random)}

    return measure


def multi_minus_single(column: str) -> Measure:
    """Of a number of table 7, by data set."""

    def measure(models: Models) -> Numbers:
        differences = models.scores(column, MULTI) - models.scores(column, SINGLE)
        return {data_name(data): mean(row) for data, row in zip(models.data_sets, differences, strict=True)}

    return measure


def order_gaps(models: Models) -> Numbers:
    """How far VAE's codes score above AE's, and FactorVAE's above VAE's, mean over data sets, by metric."""
    numbers = {}
    for column in ("scores.mig", "scores.dci.disentanglement"):
        for low, high in itertools.pairwise(AUTOENCODERS):
            gap = models.scores(column, Group(high)) - models.scores(column, Group(low))
            numbers[f"{NAMES[high]} − {NAMES[low]}, {METRICS[column]}"] = mean(gap)
    return numbers


def ae_ratios(models: Models) -> Array:
    """log of the test error of heads on AE's codes over that on another's (data sets, seeds).

    That is the better of VAE and FactorVAE; on dSprites, where the paper has AE second, the worse.
    """
    best = base_ratio(models, "autoencoder", AUTOENCODERS[1:])
    errors = np.stack([log(models.scores(ERROR, heads_on(other))) for other in AUTOENCODERS[1:]], -1)
    worst = log(models.scores(ERROR, heads_on("autoencoder"))) - extreme(errors, True)
    second = np.array([[paper.place(data) == 0] for data in models.data_sets])
    return np.asarray(np.where(second, worst, best)) if len(models.data_sets) else best


def factor_vae_lead(models: Models) -> Numbers:
    numbers = {}
    for column in ("scores.mig", "scores.dci.disentanglement"):
        scores = [models.scores(column, Group(method)) for method in AUTOENCODERS]
        numbers[METRICS[column]] = mean(scores[2] - extreme(np.stack(scores[:2], -1), True))
    return numbers


def base_ratio(models: Models, codes: str, others: Sequence[str]) -> Array:
    """log of the test error of heads on these codes over that on the best of the others (data sets, seeds)."""
    errors = np.stack([log(models.scores(ERROR, heads_on(other))) for other in others], -1)
    return np.asarray(log(models.scores(ERROR, heads_on(codes))) - extreme(errors, False))


def by_data(values: Callable[[Models], Array]) -> Measure:
    """The geometric mean over seeds of ratios given by their logarithms, by data set."""

    def measure(models: Models) -> Numbers:
        return {data_name(d): geometric(row) for d, row in zip(models.data_sets, values(models), strict=True)}

    return measure


def joint_over_single(models: Models) -> Numbers:
    single = log(single_mean(models, ERROR))
    return {group.name: geometric(log(models.scores(ERROR, group)) - single) for group in (MULTI, ONE)}


def task_gain(models: Models) -> Array:
    """log of the joint model's test error over the own model's, mean over tasks (data sets, seeds)."""
    ratios = log(models.joint_errors()) - log(models.own_errors())
    return np.asarray(known_mean(ratios, 2)) if ratios.shape[2] else np.full(ratios.shape[:2], np.nan)


def count_trends(models: Models) -> dict[tuple[str, str], Estimate]:
    """How steadily a score rises with the number of tasks, by metric and data set."""
    groups = list(models.counts.values())
    if len(groups) < 3:
        return {}
    grids = {name: np.stack([models.scores(c, g) for g in groups], 1) for c, name in models.metrics.items()}
    return {
        (name, data): trend(grid[index]) for name, grid in grids.items() for index, data in enumerate(models.data_sets)
    }


def split_differences(models: Models) -> Numbers:
    """A split's score minus the mean of the three, over the standard deviation of all three, by metric and data set."""
    numbers: dict[str, Estimate] = {}
    for column, name in models.metrics.items():
        scores = np.stack([models.scores(column, group) for group in SPLITS.values()], -1)
        for (index, data), (at, split) in itertools.product(enumerate(models.data_sets), enumerate(SPLITS)):
            rows = scores[index][np.isfinite(scores[index]).all(1)]  # (seeds, splits)
            ranks = np.stack([np.argsort(np.argsort(row)) - 1.0 for row in rows]) if len(rows) else np.zeros((0, 3))
            numbers[f"{split}, {name} on {data_name(data)}"] = mean(ranks[:, at])
    return numbers


def _seeded(least: int) -> Need[Models]:
    """Data sets of which some group of models has seeds enough."""

    def count(models: Models, numbers: Numbers) -> int:
        done = models.table.done
        return counted(done.groupby(["data", "seed"]).size().unstack()) if len(done) else 0

    return Need(least, f"data sets with {SEEDS} seeds", count)


def _sample(models: Models) -> str:
    sets, seeds = len(models.data_sets), len(models.table.seeds)
    return f"{sets} data set{'' if sets == 1 else 's'}, {seeds} seed{'' if seeds == 1 else 's'}"


def claim(
    key: str, where: str, words: str, said: str, rule: Rule, measure: Measure, form: str = ".3f"
) -> Claim[Models]:
    return Claim(
        key=key, section=where, words=words, paper=said, rule=rule, measure=measure, needs=(_seeded(2),), note=_sample,
        form=form,
    )  # fmt: skip


def _beats(key: str, words: str, model: str, other: str, where: str, share: float = MOSTLY) -> Claim[Models]:
    said = f"{paper.listed(paper.gains(model, other))} (table 5, {where})"
    rule = Rule(f"score of {model} minus score of {other}, mean over data sets, by metric", "above", 0.0, share)
    return claim(key, "4.1", words, said, rule, gain(model, other))


_JOINT = math.exp(
    float(np.mean([math.log(j / np.mean(t)) for t, j in zip(paper.TOTALS, paper.JOINT_TOTALS, strict=True)]))
)
SCORES = (
    _beats(
        "beats-single", "Multi-task codes are more disentangled than the mean of single-task codes, by most metrics.",
        "multi-head", "single-mean", "figure 3: typically",
    ),
    _beats(
        "beats-best-single", "Multi-task codes are even more disentangled than those of the best single task.",
        "multi-head", "single-max", "figure 3: almost every case", ALMOST,
    ),
    _beats(
        "beats-random", "Multi-task codes are more disentangled than those of an untrained encoder.",
        "multi-head", "random", "figure 3: typically",
    ),
    _beats(
        "beats-one-head",
        "One head for all tasks gives codes that are less disentangled than those of a head for each.",
        "multi-head", "one-head", "figure 4",
    ),
    _beats(
        "one-head-beats-single", "One head for all tasks gives codes more disentangled than those of single tasks.",
        "one-head", "single-mean", "figures 3 and 4",
    ),
)  # fmt: skip
CODES = (
    claim(
        "separates", "4.2",
        "UMAP separates the factors' values for multi-task codes, not for single-task and untrained ones.",
        "seen by eye; not as visible on MPI3D (4.2.1, D.1, figures 5 and 8)",
        Rule("agreement of neighbours on the factors, mean over factors and data sets, difference", "above", 0.0),
        separation,
    ),
    claim(
        "reconstructs-best", "4.2", "Decoders reconstruct best from multi-task codes.",
        f"over single-task {paper.decoder_ratio('multi-head', 'single-task'):.2f}; "
        f"over untrained {paper.decoder_ratio('multi-head', 'random'):.2f} (table 4)",
        Rule("test error from multi-task codes over that from others, geometric mean over data sets", "below", 1.0),
        decoder_ratios, ".2f",
    ),
    claim(
        "single-reconstructs-worst", "4.2",
        "Decoders reconstruct worse from single-task codes than from those of an untrained encoder.",
        f"over untrained {paper.decoder_ratio('single-task', 'random'):.2f} (table 4, D.2)",
        Rule("test error from single-task codes over that from untrained ones, geometric mean", "above", 1.0),
        single_over_untrained(), ".2f",
    ),
    claim(
        "single-reconstructs-worst-standardised", "4.2",
        "The same where all codes have mean 0 and variance 1, so that their size plays no part (beyond the paper).",
        "not compared: untrained codes are much smaller than trained ones",
        Rule("test error from single-task codes over that from untrained ones, both standardised, geometric mean",
             "above", 1.0),
        single_over_untrained(STANDARD), ".2f",
    ),
    claim(
        "correlates-more", "I", "Multi-task codes have a higher rank correlation with the factors they retrieve.",
        f"{paper.listed(paper.retrieved_gap(1))} (table 7)",
        Rule("mean correlation of codes with their factors, multi-task minus single-task, by data set", "above", 0.0),
        multi_minus_single("scores.embed.correlation.mean"),
    ),
    claim(
        "retrieves-as-many", "I", "Multi-task codes retrieve as many factors as single-task codes, or more.",
        f"{paper.listed(paper.retrieved_gap(0), '.0f')} (table 7)",
        Rule("number of factors retrieved, multi-task minus single-task, by data set", "above", -0.5),
        multi_minus_single("scores.embed.retrieved"), ".1f",
    ),
)  # fmt: skip
BASES = (
    claim(
        "factor-vae-leads", "4.3",
        "Of AE, VAE and FactorVAE, FactorVAE has the most disentangled codes, by MIG and DCI.",
        f"{paper.listed({name: paper.factor_vae_lead(name) for name in ('MIG', 'DCI disentanglement')})} "
        "(table 6, F: in most cases)",
        Rule("FactorVAE's score minus the better of the other two, mean over data sets", "above", 0.0), factor_vae_lead,
    ),
    claim(
        "ordered", "4.3", "The codes of AE, VAE and FactorVAE are ordered by disentanglement.",
        f"{paper.listed(paper.order_gaps())} (table 6, 4.3)",
        Rule("score of a model minus that of the one before it, mean over data sets, by metric", "above", 0.0, MOSTLY),
        order_gaps,
    ),
    claim(
        "ae-is-best-base", "4.3",
        "AE's codes are the best of the three to learn the tasks from on Shapes3D and MPI3D, and second on dSprites.",
        f"{paper.listed(paper.ae_ratios())} (table 1)",
        Rule("test error of heads on AE's codes over that on the better of VAE's and FactorVAE's; on dSprites over "
             "that on the worse", "below", 1.0),
        by_data(ae_ratios), ".2f",
    ),
    claim(
        "factor-vae-is-no-base", "4.3", "FactorVAE's codes are never the best to learn the tasks from.",
        f"{paper.listed(paper.base_ratios('factor_vae', AUTOENCODERS[:2]))} (table 1, F)",
        Rule("test error of heads on FactorVAE's codes over that on the better of AE and VAE, by data set", "above", 1),
        by_data(lambda models: base_ratio(models, "factor_vae", AUTOENCODERS[:2])), ".2f",
    ),
    claim(
        "true-factors-are-best", "4.3",
        "The true factors are the best to learn the tasks from, on two of three data sets.",
        f"{paper.listed(paper.base_ratios(FACTORS, AUTOENCODERS))} (table 1)",
        Rule(
            "test error of heads on the true factors over that on the best autoencoder's codes, by data set",
            "below", 1.0, TWO_OF_THREE,
        ),
        by_data(lambda models: base_ratio(models, FACTORS, AUTOENCODERS)), ".2f",
    ),
)  # fmt: skip
ERRORS = (
    claim(
        "joint-errors", "J",
        "Models that learn all tasks jointly have a lower test error over all tasks than single-task models.",
        f"multi-head {_JOINT:.2f}; one-head lower too (figure 13, tables 8 to 10)",
        Rule("test error over all tasks, over the mean of single-task models', geometric mean", "below", 1.0),
        joint_over_single, ".2f",
    ),
    claim(
        "joint-beats-own", "J",
        "A task's test error is lower where all tasks are learned jointly than where it is learned alone.",
        f"{paper.listed(paper.task_ratios())}: on Shapes3D every task is worse (tables 8 to 10, J)",
        Rule("test error of multi-head over that of the task's own model, geometric mean over tasks", "below", 1.0),
        by_data(task_gain), ".2f",
    ),
)  # fmt: skip
COUNTS = (
    claim(
        "no-trend", "G", "The disentanglement shows no clear trend with the number of tasks.",
        "no clear conclusion; results vary a lot (G, figure 14)",
        Rule("Somers' D of score against number of tasks, by metric and data set", "within", CLEAR, MOSTLY),
        lambda models: {f"{name} on {data_name(data)}": one for (name, data), one in count_trends(models).items()},
        ".2f",
    ),
)  # fmt: skip
FACTOR_SPLITS = (
    claim(
        "no-split-matters", "H",
        "Which factors the tasks depend on (all, a random subset each, disjoint halves) has no clear effect.",
        "no conclusive impact (H, figure 15)",
        Rule("rank among the three from −1 (lowest) to 1, by split, metric and data set", "within", CLEAR, MOSTLY),
        split_differences, ".2f",
    ),
)  # fmt: skip
CLAIMS = (*SCORES, *CODES, *BASES, *ERRORS, *COUNTS, *FACTOR_SPLITS)
