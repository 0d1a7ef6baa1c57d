"""What the models of the study show: the paper's claims, figures 3 to 15, tables 1 and 4 to 10.

Arrays are (data sets, seeds). A number is a mean over seeds, and over data sets where the paper speaks of all of them,
with a 95 % interval over seeds; where it speaks of each data set or metric, each is a case of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.names import data_name
from unbraid.report import Figure, Section, Table
from unbraid.report.claims import NEWER_THAN_THE_RUN, Claim, Need, Rule, judge
from unbraid.report.estimates import SEEDS, Array, Estimate, counted, mean, ratio, trend
from unbraid.report.run_table import RunTable, known_mean
from unbraid.report.sections import Items, cell, in_short, pictured, section, tabled, verdict_table
from unbraid.studies.multitask import figures, paper
from unbraid.studies.multitask.models import (
    AGREEMENT,
    ERROR,
    EXPLAINED,
    FACTORS,
    LOOKED_AT,
    METRICS,
    MULTI,
    NAMES,
    ONE,
    RETRIEVED,
    SECTION_4_1,
    SINGLE,
    SPLITS,
    STANDARD,
    SUPERVISION,
    Group,
    Models,
    decoder_on,
    extreme,
    heads_on,
    log,
    single_mean,
    table,
)
from unbraid.studies.multitask.study import AUTOENCODERS

__all__ = ["CLAIMS", "report", "table"]

# What the claims measure

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


def _geometric(values: Array) -> Estimate:
    """The geometric mean of ratios given by their logarithms (data sets, seeds)."""
    return mean(values).map(math.exp)


def decoder_ratios(models: Models) -> Numbers:
    numbers = {}
    for variant in ("", STANDARD):
        random, single, multi = (log(models.scores(ERROR, decoder_on(group, variant))) for group in LOOKED_AT)
        codes = f", {variant}" if variant else ""
        numbers[f"over single-task{codes}"] = _geometric(multi - single)
        numbers[f"over untrained{codes}"] = _geometric(multi - random)
    return numbers


def single_over_untrained(variant: str = "") -> Measure:
    def measure(models: Models) -> Numbers:
        random, single, _ = (log(models.scores(ERROR, decoder_on(group, variant))) for group in LOOKED_AT)
        return {"over untrained": _geometric(single - random)}

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
        return {data_name(d): _geometric(row) for d, row in zip(models.data_sets, values(models), strict=True)}

    return measure


def joint_over_single(models: Models) -> Numbers:
    single = log(single_mean(models, ERROR))
    return {group.name: _geometric(log(models.scores(ERROR, group)) - single) for group in (MULTI, ONE)}


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


# Beyond the paper: what the amount and the kind of supervision explain

ALL_METRICS = "mean of the metrics"


def explained(models: Models, group: Group, index: int | None = None) -> dict[str, Estimate]:
    """(score - single-task mean) / (multi-head - single-task mean), by metric and of the mean of all metrics.

    Over all data sets, or of the one at `index`. 0: no better than single tasks; 1: as good as multi-head.
    """
    rows = slice(None) if index is None else slice(index, index + 1)
    parts = {}
    for column, name in models.metrics.items():
        single = single_mean(models, column)
        parts[name] = (models.scores(column, group) - single, models.scores(column, MULTI) - single)
    if parts:
        both = [np.mean([pair[at] for pair in parts.values()], axis=0) for at in (0, 1)]
        parts = {ALL_METRICS: (both[0], both[1]), **parts}
    return {name: ratio(above[rows], below[rows]) for name, (above, below) in parts.items()}


def in_words(name: str, entry: Estimate) -> str:
    """What a share of the effect says."""
    share = f"{entry.text()} of the gain of multi-head over single tasks"
    if not entry.known or math.isnan(entry.low):
        return f"{name}: {share}; too few seeds to say more"
    if math.isinf(entry.low):
        return f"{name}: {share}; the gain itself is not clear, so its share is not either"
    if entry.low > 0:
        words = "all of it or more" if entry.low >= 1 else "a part of it" if entry.high < 1 else "a part or all of it"
    else:
        words = "less than all of it, perhaps nothing" if entry.high < 1 else "between nothing and all of it"
    return f"{name}: {share}; {words}"


# Tables

HERE, THERE = "here", "paper"
Rows = list[dict[str, Any]]


def spread(values: Array) -> str:
    """Mean ± standard deviation over seeds, and the interval of the mean."""
    known = values[np.isfinite(values)]
    deviation = f"\u00a0±\u00a0{known.std(ddof=1):.3f}" if len(known) > 1 else ""
    number, bracket, interval = cell(values, ".3f", 0, 1).partition(" [")
    return f"{number}{deviation}{bracket}{interval}" if number else ""


def _sets(models: Models) -> list[tuple[int, str, int | None]]:
    """Our data sets: their index, their name, and the paper's column."""
    return [(index, data_name(data), paper.place(data)) for index, data in enumerate(models.data_sets)]


def _rows(
    models: Models, groups: Mapping[str, Any], cells: Callable[[Any, int], Mapping[str, Any]],
    said: Callable[[str, int], Mapping[str, Any]], beside: bool = True,
) -> pd.DataFrame:  # fmt: skip
    """One row per data set and group with any number, the paper's numbers in a row below it or beside it."""
    rows: Rows = []
    for index, data, column in _sets(models):
        for name, group in groups.items():
            ours = cells(group, index)
            if any(ours.values()):
                printed = {} if column is None else said(name, column)
                head = {"data": data, "model": name}
                rows.append({**head, **ours, **printed} if beside else {**head, "": HERE, **ours})
                if printed and not beside:
                    rows.append({**head, "": THERE, **printed})
    return pd.DataFrame(rows)


def base_errors(models: Models) -> pd.DataFrame:
    """Table 1."""
    groups = {NAMES[codes]: heads_on(codes) for codes in (FACTORS, *AUTOENCODERS)}

    def cells(group: Group, index: int) -> dict[str, str]:
        values = {"MSE": ERROR, "RMSE": "scores.test.rmse", "R²": EXPLAINED}
        return {name: cell(models.scores(column, group)[index], ".2f") for name, column in values.items()}

    def said(name: str, column: int) -> dict[str, str]:
        codes = next(codes for codes in (FACTORS, *AUTOENCODERS) if NAMES[codes] == name)
        return {"paper's RMSE": "{:.1f} ± {:.1f}".format(*paper.TABLE_1[codes][column])}

    return _rows(models, groups, cells, said)


def decoder_errors(models: Models) -> pd.DataFrame:
    """Table 4."""
    return _rows(
        models, {group.name: group for group in LOOKED_AT},
        lambda group, index: {
            "MSE per pixel": cell(models.scores(ERROR, decoder_on(group))[index], ".5f"),
            "from standardised codes": cell(models.scores(ERROR, decoder_on(group, STANDARD))[index], ".5f"),
        },
        lambda name, column: {"paper": f"{paper.TABLE_4[name][column]:g}"},
    )  # fmt: skip


def scores(models: Models) -> pd.DataFrame:
    """Table 5."""
    return _rows(
        models, SECTION_4_1,
        lambda values, index: {metric: spread(values(models, c)[index]) for c, metric in models.metrics.items()},
        lambda name, column: {
            metric: "{:.2f} ± {:.2f}".format(*paper.TABLE_5[name][metric][column]) for metric in models.metrics.values()
        },
        beside=False,
    )  # fmt: skip


GAINS = (
    ("multi-head", "single-mean"), ("multi-head", "single-max"), ("multi-head", "random"), ("multi-head", "one-head"),
    ("one-head", "single-mean"),
)  # fmt: skip


def gain_table(models: Models) -> pd.DataFrame:
    """The differences that the claims on table 5 are about, over all data sets and in each."""
    rows: Rows = []
    for model, other in GAINS:
        differences = gains(models, model, other)
        for index, data in ((None, "all"), *((index, data) for index, data, _ in _sets(models))):
            cells = {
                name: shown for name, values in differences.items()
                if (shown := cell(values if index is None else values[index], ".3f", -1.0))
            }  # fmt: skip
            if cells:
                rows.append({"model": model, "minus": other, "data": data, **cells})
    return pd.DataFrame(rows)


def autoencoder_scores(models: Models) -> pd.DataFrame:
    """Table 6."""
    methods = {Group(method).name: method for method in AUTOENCODERS}
    return _rows(
        models, methods,
        lambda method, index: {
            metric: cell(models.scores(c, Group(method))[index], ".3f") for c, metric in models.metrics.items()
        },
        lambda name, column: {
            metric: f"{paper.TABLE_6[methods[name]][metric][column]:.3f}" for metric in models.metrics.values()
        },
        beside=False,
    )  # fmt: skip


def retrieved(models: Models) -> pd.DataFrame:
    """Table 7."""
    columns = {column: RETRIEVED[column] for column in models.table.columns(RETRIEVED)}

    def said(name: str, column: int) -> dict[str, str]:
        if name not in paper.TABLE_7:
            return {}
        count, *correlations = paper.TABLE_7[name][column]
        return dict(zip(columns.values(), [f"{count}", *(f"{value:.3f}" for value in correlations)], strict=False))

    return _rows(
        models, {group.name: group for group in LOOKED_AT},
        lambda group, index: {
            name: cell(models.scores(column, group)[index], *((".3f", 0.0, 1.0) if "corr" in name else (".1f",)))
            for column, name in columns.items()
        },
        said, beside=False,
    )  # fmt: skip


def agreement(models: Models) -> pd.DataFrame:
    """What figures 5 and 8 show, in numbers: how well neighbours in the plane agree, for each factor."""
    rows: Rows = []
    factors = [str(c).removeprefix(f"{AGREEMENT}.") for c in models.table.done if str(c).startswith(f"{AGREEMENT}.")]
    for index, data, _ in _sets(models):
        for name in ("", *factors):
            column = f"{AGREEMENT}.{name}" if name else AGREEMENT
            cells = {group.name: cell(models.scores(column, group)[index], ".2f", -1.0, 1.0) for group in LOOKED_AT}
            if any(cells.values()):
                rows.append({"data": data, "factor": name.replace("_", " ") or "mean over factors", **cells})
    return pd.DataFrame(rows)


def task_errors(models: Models, index: int) -> pd.DataFrame:
    """Tables 8 to 10: mean test errors over seeds, one row per model, one column per task."""
    columns = {f"loss {task}": f"scores.test.error_{task}" for task in range(models.tasks)} | {"total": ERROR}
    rows: Rows = []
    for task in range(models.tasks):
        cells = {name: float(known_mean(models.scores(c, SINGLE, task)[index])) for name, c in columns.items()}
        rows.append({"model": f"single-task {task}", **cells})
    cells = {name: float(known_mean(models.scores(column, MULTI)[index])) for name, column in columns.items()}
    rows.append({"model": "multi-head", **cells})
    frame = pd.DataFrame(rows)
    return frame[frame.iloc[:, 1:].notna().any(axis=1)].reset_index(drop=True)


def own_and_joint(models: Models) -> pd.DataFrame:
    """Of tables 8 to 10 what belongs side by side: a task learned alone, and among the others."""
    rows: Rows = []
    own, joint = models.own_errors(), models.joint_errors()
    for (index, data, column), task in itertools.product(_sets(models), range(models.tasks)):
        alone, together_ = own[index, :, task], joint[index, :, task]
        if np.isfinite(alone).any() or np.isfinite(together_).any():
            quotient = _geometric(log(together_) - log(alone))
            row = {"data": data, "task": task, "alone": cell(alone, ".2f"), "jointly": cell(together_, ".2f")}
            said = {"paper, alone": np.nan, "paper, jointly": np.nan}
            if column is not None and task < len(paper.OWN[column]):
                said = {"paper, alone": paper.OWN[column][task], "paper, jointly": paper.JOINT[column][task]}
            rows.append({**row, "ratio": cell(quotient, ".2f") if quotient.known else "", **said})
    return pd.DataFrame(rows)


def total_errors(models: Models) -> pd.DataFrame:
    """Figure 13, with what the paper's tables 8 to 10 have of it."""
    shown = {name: values for name, values in SECTION_4_1.items() if name not in ("single-max", "single-min")}

    def said(name: str, column: int) -> dict[str, str]:
        known = {"single-mean": np.mean(paper.TOTALS[column]), "multi-head": paper.JOINT_TOTALS[column]}
        return {"paper": f"{known[name]:.1f}" if name in known else ""}

    return _rows(
        models, shown,
        lambda values, index: {
            "MSE": cell(values(models, ERROR)[index], ".1f"), "R²": cell(values(models, EXPLAINED)[index], ".2f"),
        },
        said,
    )  # fmt: skip


def trend_table(models: Models) -> pd.DataFrame:
    """Figure 14 in numbers."""
    trends = count_trends(models)
    names = dict.fromkeys(name for name, _ in trends)
    return pd.DataFrame([
        {"metric": name, **{data_name(d): cell(one, ".2f") for (m, d), one in trends.items() if m == name}}
        for name in names
    ])  # fmt: skip


def split_table(models: Models) -> pd.DataFrame:
    """Figure 15 in numbers: how far scores move from those of tasks on all factors, by data set."""
    rows: Rows = []
    for (name, group), (index, data, _) in itertools.product(SPLITS.items(), _sets(models)):
        if group != MULTI:
            cells = {
                metric: cell((models.scores(c, group) - models.scores(c, MULTI))[index], ".3f", -np.inf)
                for c, metric in models.metrics.items()
            }
            if any(cells.values()):
                rows.append({"tasks on": f"{name} minus all", "data": data, **cells})
    return pd.DataFrame(rows)


def supervision(models: Models) -> pd.DataFrame:
    """Beyond the paper, by metric."""
    rows: Rows = []
    for name, group in SUPERVISION.items():
        shares = explained(models, group)
        if any(entry.known for entry in shares.values()):
            rows.append({"": name, **{metric: cell(entry, ".2f") for metric, entry in shares.items()}})
    return pd.DataFrame(rows)


def supervision_by_data(models: Models) -> pd.DataFrame:
    """Beyond the paper, of the mean of all metrics, by data set, with the gain that it is a share of."""
    rows: Rows = []
    for index, data, _ in _sets(models):
        differences = gains(models, "multi-head", "single-mean")
        known = [differences[name][index] for name in models.metrics.values()]
        row = {"data": data, "gain of multi-head": cell(known_mean(known, 0), ".3f", -1.0) if known else ""}
        for name, group in SUPERVISION.items():
            entry = explained(models, group, index).get(ALL_METRICS)
            row[name] = cell(entry, ".2f") if entry is not None and entry.known else ""
        if any(list(row.values())[1:]):
            rows.append(row)
    return pd.DataFrame(rows)


def states(models: Models) -> pd.DataFrame:
    """How many models of each group are done, of those there are."""
    known = models.table.known
    if known.empty:
        return pd.DataFrame()
    order = {name: index for index, name in enumerate(NAMES)}
    columns = known[["method", "variant", "encoder"]].astype(str)
    groups = [Group(*row) for row in columns.itertuples(index=False, name=None)]
    ranked = sorted(set(groups), key=lambda g: (order.get(g.method, len(order)), g.variant, order.get(g.encoder, -1)))
    frame = RunTable(known.assign(model=[group.name for group in groups])).states("model", "data", data_name)
    return frame.set_index("model").loc[list(dict.fromkeys(group.name for group in ranked))].reset_index()


# The report

RULES = (
    "Verdicts follow rules that were fixed before the run; the table says which have changed since the first edition. "
    "Each claim comes down to numbers that "
    "every data set and seed gives, such as a difference of two scores, and one threshold. A number has a 95 % "
    "interval, Student's t over seeds; data sets are taken as given. A claim holds where the intervals are on its side "
    "of the threshold, does not hold where too many are wholly on the other, and is inconclusive otherwise, as it is "
    f"with fewer than two data sets with {SEEDS} seeds each. That nothing matters holds where intervals are within "
    f"±{CLEAR:g} in at least {MOSTLY:.0%} of the cases. They are verdicts on these runs: other tasks, networks and "
    "lengths of training may give others."
    f" {NEWER_THAN_THE_RUN}"
)
BARS = "Bars are means over seeds, dots the seeds, error bars 95 % t intervals over seeds."
BRACKETS = "Brackets are 95 % t intervals over seeds."
LOOK_ALIKES = "Our Shapes3D and Arm3D are look-alikes of the paper's Shapes3D and MPI3D."


def report(runs: RunTable) -> list[Section]:
    """The sections of the report."""
    models = Models(runs)
    parts = [
        _scores(models), _codes(models), _bases(models), _errors(models), _counts(models), _splits(models),
        _supervision(models),
    ]  # fmt: skip
    return [_summary(models, parts), *parts]


def _summary(models: Models, parts: Sequence[Section]) -> Section:
    words = (
        f"{len(models.data_sets)} data sets, {len(models.table.seeds)} seeds, {models.tasks} tasks. The paper has 3 "
        f"data sets, 3 seeds and 10 tasks. {LOOK_ALIKES}"
    )
    caption = "First edition: the verdict of this study's first run, by its rule of then; — for a new claim."
    verdicts = verdict_table(parts, caption, paper.FIRST_EDITION, paper.CHANGED)
    return in_short(models.table, parts, words, RULES, states(models), verdicts=verdicts)


def _scores(models: Models) -> Section:
    items: Items = []
    if models.metrics:
        caption = (
            f"{BARS} For single-task models the mean over tasks, and the means of the best and the worst task. "
            "Diamonds are the paper's means (table 5). Higher is better."
        )
        drawing = partial(figures.scores, models, ("random", "single-mean", "multi-head"))
        title = "Figure 3: scores of codes, untrained, single-task, multi-task"
        items.append(Figure("figure_3", title, drawing, caption))
        caption = f"{BARS} Diamonds are the paper's means (table 5)."
        drawing = partial(figures.scores, models, ("one-head", "multi-head"))
        items.append(Figure("figure_4", "Figure 4: one head for all tasks, and a head for each", drawing, caption))
    caption = (
        f"Mean ± standard deviation over seeds. {BRACKETS} single-max and single-min are the tasks whose mean over "
        "seeds is the highest and the lowest."
    )
    items += tabled("table_5", "Table 5: scores", scores(models), caption)
    items += tabled("gains", "Differences of scores", gain_table(models), BRACKETS)
    items += judge(SCORES, models)
    words = "Does hard parameter sharing encourage disentanglement?"
    return section("4.1 Scores of the codes", words, items, "no finished model has scores")


def _codes(models: Models) -> Section:
    items: Items = []
    faults: list[str] = []
    for data in models.data_sets:
        title = f"{_paper_number(data, {'shapes3d': '5 and 8', 'dsprites': '8', 'arm3d': '8'})}: UMAP of test codes"
        caption = "One column per factor, coloured by its value; one dot per test image."
        draw = partial(figures.umap, models, data)
        items += pictured(models.table, f"umap_{data}", f"{title}, {data_name(data)}", draw, caption, faults)
    caption = (
        "1 − E∣v − v of a neighbour∣ / E∣v − v of any other∣ of a factor's values v over ten neighbours in the plane: "
        f"1 where neighbours agree, 0 where the plane says nothing of it. {BRACKETS} The single-task model is that of "
        "the first task."
    )
    items += tabled("agreement", "Figures 5 and 8 in numbers: agreement of neighbours", agreement(models), caption)
    same = "The same images for all encoders."
    for data in models.data_sets:
        number = _paper_number(data, {"dsprites": "6 and 9", "shapes3d": "9", "arm3d": "9"})
        title, draw = f"{number}: reconstructions of test images", partial(figures.reconstructions, models, data)
        items += pictured(models.table, f"reconstructions_{data}", f"{title}, {data_name(data)}", draw, same, faults)
    caption = (
        f"Mean squared error over pixels of images in [0, 1], on test rows. {BRACKETS} The paper's figures are on "
        "scales of their own."
    )
    items += tabled("table_4", "Table 4: test errors of decoders", decoder_errors(models), caption)
    for data in models.data_sets:
        number = _paper_number(data, {"dsprites": "7 and 10", "arm3d": "11", "shapes3d": "12"})
        title, draw = f"{number}: traversals of a test image", partial(figures.traversals, models, data)
        items += pictured(models.table, f"traversals_{data}", f"{title}, {data_name(data)}", draw, same, faults)
    caption = (
        f"Each code is matched to the factor of largest significant rank correlation, on test rows. {BRACKETS} The "
        "paper's are of one seed; its std, min and max are over codes, as ours are."
    )
    items += tabled("table_7", "Table 7: factors retrieved, and correlations", retrieved(models), caption)
    items += judge(CODES, models)
    words = (
        "What do the codes of an untrained, a single-task and a multi-task encoder hold? Decoders take codes as they "
        "are, as in the paper. Those of an untrained encoder differ by thousandths only, and a decoder that is not "
        "trained for long gives the mean image for all of them; those of a trained one spread over several units, of "
        "which a traversal from −1 to 1 shows a part. Decoders on standardised codes, each dimension with mean 0 and "
        "variance 1, show what codes hold whatever their size."
    )
    if faults:
        words += " Could not be shown: " + "; ".join(faults) + "."
    return section("4.2 What the codes hold", words, items, "no codes were decoded or laid out in a plane")


def _paper_number(data: str, numbers: Mapping[str, str], label: str = "Figure") -> str:
    """The paper's figure, of a data set of ours or of the one it looks like."""
    plain = data.removesuffix("_official")
    number = numbers.get("arm3d" if plain.startswith("mpi3d") else plain)
    return "Not in the paper" if number is None else f"{label}s {number}" if " and " in number else f"{label} {number}"


def _bases(models: Models) -> Section:
    caption = (
        f"On test rows. {BRACKETS} The paper's figures are called RMSE; they are above the standard deviation of its "
        "targets (13 to 24 by its tables 8 to 10), so that they look like mean squared errors. Its tasks are others."
    )
    items = tabled("table_1", "Table 1: test errors of heads on codes", base_errors(models), caption)
    items += tabled("table_6", "Table 6: scores of autoencoders' codes", autoencoder_scores(models), BRACKETS)
    items += judge(BASES, models)
    words = (
        "Does disentanglement help to learn tasks? Heads on the frozen codes of autoencoders, and on the true factors."
    )
    return section("4.3 Heads on frozen codes", words, items, "no finished heads or autoencoders")


def _errors(models: Models) -> Section:
    items: Items = []
    totals = total_errors(models)
    if len(totals):
        caption = (
            f"{BARS} A single-task model has learned one of the tasks; the heads of the others are as they started."
        )
        drawing = partial(figures.joint_errors, models)
        items.append(Figure("figure_13", "Figure 13: test error over all tasks", drawing, caption))
        caption = f"{BRACKETS} The paper's from its tables 8 to 10; its tasks are others."
        items += tabled("totals", "Figure 13 in numbers", totals, caption)
    for index, data in enumerate(models.data_sets):
        number = _paper_number(data, {"dsprites": "8", "shapes3d": "9", "arm3d": "10"}, "Table")
        caption = "Means over seeds. One row per model, one column per task's head."
        title = f"{number}: test errors by task, {data_name(data)}"
        items += tabled(f"losses_{data}", title, task_errors(models, index), caption)
    caption = f"{BRACKETS} The paper's tasks are others than ours: task 3 here is not task 3 there."
    title = "Tables 8 to 10: a task learned alone, and jointly with the others"
    items += tabled("own_and_joint", title, own_and_joint(models), caption)
    items += judge(ERRORS, models)
    words = "How well are the tasks themselves learned? Mean squared errors on test rows (appendices E and J)."
    return section("J Test errors by task", words, items, "no finished model has test errors")


def _counts(models: Models) -> Section:
    items: Items = []
    if models.metrics and len(models.counts) > 1:
        caption = "Means over seeds with 95 % t intervals. The paper's figure has 5 to 50 tasks and no table."
        drawing = partial(figures.by_count, models)
        items.append(Figure("figure_14", "Figure 14: scores against the number of tasks", drawing, caption))
    caption = f"Somers' D, from −1 to 1, over the models of a data set. {BRACKETS}"
    items += tabled("trends", "How scores rise with the number of tasks", trend_table(models), caption)
    items += judge(COUNTS, models)
    words, missing = "Do more tasks disentangle more?", "no models with other numbers of tasks"
    return section("G Number of tasks", words, items, missing)


def _splits(models: Models) -> Section:
    items: Items = []
    differences = split_table(models)
    if len(differences):
        caption = (
            f"{BARS} all: every task depends on all factors; random: each on a random subset; halves: by turns on one "
            "half and the other."
        )
        drawing = partial(figures.by_split, models)
        items.append(Figure("figure_15", "Figure 15: scores by the factors that tasks depend on", drawing, caption))
        items.append(Table("splits", "Difference of scores", differences, BRACKETS))
    items += judge(FACTOR_SPLITS, models)
    words = "Does it matter which factors the tasks depend on?"
    return section("H Factors of the tasks", words, items, "no models with tasks on some of the factors")


def _supervision(models: Models) -> Section:
    caption = (
        "(score − mean of single tasks) / (multi-head − mean of single tasks), over all data sets: 0 is no better than "
        "single tasks, 1 as good as a head for each of the tasks. Brackets are 95 % intervals over seeds by Fieller's "
        "method for ratios; there are no bounds where the gain of multi-head itself is not clear."
    )
    items = tabled("supervision", "Share of the gain of multi-task learning", supervision(models), caption)
    if items:
        title = "The same for the mean of the metrics, by data set"
        items += tabled("supervision_data", title, supervision_by_data(models), "The gain is in points of score.")
    shares = {name: explained(models, group).get(ALL_METRICS) for name, group in SUPERVISION.items()}
    lines = [in_words(name, entry) for name, entry in shares.items() if entry is not None and entry.known]
    words = (
        "How much of the effect do the amount and the kind of supervision explain? Beside multi-head on tasks that are "
        "networks of their own: one head with as many outputs; tasks that are the outputs of one network, so that "
        "there is as much to learn but less that differs; and tasks that all depend on the first half of the factors. "
        "By the mean of the metrics:\n\n" + "\n".join(f"- {line}." for line in lines)
    )
    return section("Beyond the paper: amount and kind of supervision", words, items, "no such models are finished")
