"""The report: figures 3 to 15, tables 1 and 4 to 10, the verdicts on the paper's claims, and more.

Arrays are (data sets, seeds).
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
from unbraid.report.claims import NEWER_THAN_THE_RUN, judge
from unbraid.report.estimates import SEEDS, Array, Estimate, ratio
from unbraid.report.run_table import RunTable, known_mean
from unbraid.report.sections import Items, cell, in_short, pictured, section, tabled, verdict_table
from unbraid.studies.multitask import claims, figures, paper
from unbraid.studies.multitask.claims import CLEAR, MOSTLY, count_trends, gains, geometric
from unbraid.studies.multitask.models import (
    AGREEMENT,
    ERROR,
    EXPLAINED,
    FACTORS,
    LOOKED_AT,
    MULTI,
    NAMES,
    RETRIEVED,
    SECTION_4_1,
    SINGLE,
    SPLITS,
    STANDARD,
    SUPERVISION,
    Group,
    Models,
    decoder_on,
    heads_on,
    log,
    single_mean,
    table,
)
from unbraid.studies.multitask.study import AUTOENCODERS

__all__ = ["report", "table"]

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
            quotient = geometric(log(together_) - log(alone))
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
    items += judge(claims.SCORES, models)
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
    items += judge(claims.CODES, models)
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
    items += judge(claims.BASES, models)
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
    items += judge(claims.ERRORS, models)
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
    items += judge(claims.COUNTS, models)
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
    items += judge(claims.FACTOR_SPLITS, models)
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
