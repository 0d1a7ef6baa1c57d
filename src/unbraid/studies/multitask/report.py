"""The report: the paper's figures 3 to 15 and tables 1 and 4 to 10 made anew from a table of runs, and its claims.

Everything is a function of the table; only figures 5 to 12 open folders, in `looks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from unbraid.pictures.style import data_name
from unbraid.report import Figure, Picture, Section
from unbraid.report.estimates import SEEDS
from unbraid.report.runs import failures
from unbraid.report.sections import Items, section, tabled, verdict_table
from unbraid.studies.multitask import claims, drawings, tables
from unbraid.studies.multitask.looks import Looks, look
from unbraid.studies.multitask.models import Models, described, table

__all__ = ["report", "table"]

RULES = (
    "Verdicts follow one rule that was fixed before the results were looked at. Each claim comes down to numbers that "
    "every data set and seed gives, such as a difference of two scores, and one threshold. A number is averaged over "
    "seeds and data sets and has a 95 % interval, Student's t over seeds: the variance is estimated in each data set, "
    "and data sets are taken as given. A claim holds where every interval is on its side of the threshold, does not "
    "hold where one is wholly on the other, and inconclusive otherwise, nor of fewer than two data sets with "
    f"{SEEDS} seeds each. That nothing matters holds where intervals are within ±{claims.CLEAR:g} of a rank "
    "correlation. They are verdicts on these runs: other tasks, networks and lengths of training may give others."
)
BARS = "Bars are means over seeds, dots the seeds, error bars 95 % t intervals over seeds."
BRACKETS = "Brackets are 95 % t intervals over seeds."
LOOK_ALIKES = "Our Shapes3D and Arm3D are look-alikes of the paper's Shapes3D and MPI3D."


def report(runs: pd.DataFrame, folder: Path | None = None) -> list[Section]:
    """The sections of the report. `folder` is the study's: figures 5 to 12 are left out without it."""
    models = Models.of(runs)
    looks = {data: look(models, data, folder) for data in models.data_sets} if folder is not None else {}
    parts = [
        _scores(models),
        _codes(models, looks),
        _bases(models),
        _errors(models),
        _counts(models),
        _splits(models),
        _supervision(models),
    ]
    return [_summary(runs, models, parts), *parts]


def _summary(runs: pd.DataFrame, models: Models, parts: Sequence[Section]) -> Section:
    items: Items = [verdict_table(parts)]
    if len(described(runs)):
        items += tabled("states", "Models that are done, of those there are", tables.states(runs))
    items += tabled("failures", "Models that are not done, and why", failures(runs))
    text = (
        f"{len(models.runs)} finished models: {len(models.data_sets)} data sets, {len(models.seeds)} seeds, "
        f"{models.tasks} tasks. The paper has 3 data sets, 3 seeds and 10 tasks. {LOOK_ALIKES} {RULES}"
    )
    return Section("In short", text if len(models.runs) else f"There are no finished models yet. {RULES}", tuple(items))


# 4.1


def _scores(models: Models) -> Section:
    items: Items = []
    if models.metrics:
        caption = (
            f"{BARS} For single-task models the mean over tasks, and the means of the best and the worst task. "
            "Diamonds are the paper's means (table 5). Higher is better."
        )
        drawing = drawings.scores(models, ("random", "single-mean", "multi-head"))
        items.append(
            Figure("figure_3", "Figure 3: scores of codes, untrained, single-task, multi-task", drawing, caption)
        )
        caption = f"{BARS} Diamonds are the paper's means (table 5)."
        drawing = drawings.scores(models, ("one-head", "multi-head"))
        items.append(Figure("figure_4", "Figure 4: one head for all tasks, and a head for each", drawing, caption))
    caption = (
        f"Mean ± standard deviation over seeds. {BRACKETS} single-max and single-min are the tasks whose mean over "
        "seeds is the highest and the lowest."
    )
    items += tabled("table_5", "Table 5: scores", tables.scores(models), caption)
    items += tabled("gains", "Differences of scores", tables.gains(models), BRACKETS)
    items += claims.judge(models, claims.SCORES)
    text = "Does hard parameter sharing encourage disentanglement?"
    return section("4.1 Scores of the codes", text, items, "no finished model has scores")


# 4.2


def _codes(models: Models, looks: dict[str, Looks]) -> Section:
    items: Items = []
    numbers = {"shapes3d": "5 and 8", "dsprites": "8", "arm3d": "8"}
    for data, found in looks.items():
        if found.umap is not None:
            title = f"{_paper_number(data, numbers)}: UMAP of test codes, {data_name(data)}"
            caption = f"Seed {found.seed}. A column a factor, coloured by its value; a dot a test image."
            items.append(Figure(f"umap_{data}", title, found.umap, caption))
    caption = (
        "1 − E∣v − v of a neighbour∣ / E∣v − v of any other∣ of a factor's values v over ten neighbours in the plane: "
        f"1 where neighbours agree, 0 where the plane says nothing of it. {BRACKETS} The single-task model is that of "
        "the first task."
    )
    items += tabled(
        "agreement", "Figures 5 and 8 in numbers: agreement of neighbours", tables.agreement(models), caption
    )
    numbers = {"dsprites": "6 and 9", "shapes3d": "9", "arm3d": "9"}
    for data, found in looks.items():
        if found.reconstructions is not None:
            title = f"{_paper_number(data, numbers)}: reconstructions of test images, {data_name(data)}"
            items.append(Picture(f"reconstructions_{data}", title, found.reconstructions, _same(found)))
    caption = (
        f"Mean squared error over pixels of images in [0, 1], on test rows. {BRACKETS} The paper's figures are on "
        "scales of their own."
    )
    items += tabled("table_4", "Table 4: test errors of decoders", tables.decoder_errors(models), caption)
    numbers = {"dsprites": "7 and 10", "arm3d": "11", "shapes3d": "12"}
    for data, found in looks.items():
        if found.traversals is not None:
            title = f"{_paper_number(data, numbers)}: traversals of a test image, {data_name(data)}"
            items.append(Picture(f"traversals_{data}", title, found.traversals, _same(found)))
    caption = (
        f"Each code is matched to the factor of largest significant rank correlation, on test rows. {BRACKETS} The "
        "paper's are of one seed; its std, min and max are over codes, as ours are."
    )
    items += tabled("table_7", "Table 7: factors retrieved, and correlations", tables.retrieved(models), caption)
    items += claims.judge(models, claims.CODES)
    text = (
        "What do the codes of an untrained, a single-task and a multi-task encoder hold? Decoders take codes as they "
        "are. Those of an untrained encoder differ by thousandths only, and a decoder that is not trained for long "
        "gives the mean image for all of them; those of a trained one spread over several units, of which a traversal "
        "from −1 to 1 shows a part."
    )
    if faults := [fault for found in looks.values() for fault in found.faults]:
        text += " Could not be shown: " + "; ".join(faults) + "."
    return section("4.2 What the codes hold", text, items, "no codes were decoded or laid out in a plane")


def _paper_number(data: str, numbers: dict[str, str], kind: str = "Figure") -> str:
    """The paper's figure, of a data set of ours or of the one it looks like."""
    plain = data.removesuffix("_official")
    number = numbers.get("arm3d" if plain.startswith("mpi3d") else plain)
    return "Not in the paper" if number is None else f"{kind}s {number}" if " and " in number else f"{kind} {number}"


def _same(found: Looks) -> str:
    return f"Seed {found.seed}; the same images for all encoders."


# 4.3


def _bases(models: Models) -> Section:
    caption = (
        f"On test rows. {BRACKETS} The paper's figures are called RMSE; they are above the standard deviation of its "
        "targets (13 to 24 by its tables 8 to 10), so that they look like mean squared errors. Its tasks are others."
    )
    items = tabled("table_1", "Table 1: test errors of heads on codes", tables.base_errors(models), caption)
    items += tabled("table_6", "Table 6: scores of autoencoders' codes", tables.autoencoder_scores(models), BRACKETS)
    items += claims.judge(models, claims.BASES)
    text = (
        "Does disentanglement help to learn tasks? Heads on the frozen codes of autoencoders, and on the true factors."
    )
    return section("4.3 Heads on frozen codes", text, items, "no finished heads or autoencoders")


# E and J


def _errors(models: Models) -> Section:
    items: Items = []
    totals = tables.total_errors(models)
    if len(totals):
        title = "Figure 13: test error over all tasks"
        caption = (
            f"{BARS} A single-task model has learned one of the tasks; the heads of the others are as they started."
        )
        items.append(Figure("figure_13", title, drawings.joint_errors(models), caption))
        caption = f"{BRACKETS} The paper's from its tables 8 to 10; its tasks are others."
        items += tabled("totals", "Figure 13 in numbers", totals, caption)
    numbers = {"dsprites": "8", "shapes3d": "9", "arm3d": "10"}
    for at, data in enumerate(models.data_sets):
        title = f"{_paper_number(data, numbers, 'Table')}: test errors by task, {data_name(data)}"
        caption = "Means over seeds. A row a model, a column a task's head."
        items += tabled(f"losses_{data}", title, tables.task_errors(models, at), caption)
    caption = f"{BRACKETS} The paper's tasks are others than ours: task 3 here is not task 3 there."
    title = "Tables 8 to 10: a task learned alone, and jointly with the others"
    items += tabled("own_and_joint", title, tables.own_and_joint(models), caption)
    items += claims.judge(models, claims.ERRORS)
    text = "How well are the tasks themselves learned? Mean squared errors on test rows (appendices E and J)."
    return section("J Test errors by task", text, items, "no finished model has test errors")


# G


def _counts(models: Models) -> Section:
    items: Items = []
    if models.metrics and len(models.counts) > 1:
        caption = "Means over seeds with 95 % t intervals. The paper's figure has 5 to 50 tasks and no table."
        title = "Figure 14: scores against the number of tasks"
        items.append(Figure("figure_14", title, drawings.by_count(models), caption))
    caption = f"Spearman's, over the models of one data set and seed. {BRACKETS}"
    items += tabled(
        "trends", "Rank correlation of scores with the number of tasks", tables.trend_table(models), caption
    )
    items += claims.judge(models, claims.COUNTS)
    return section(
        "G Number of tasks", "Do more tasks disentangle more?", items, "no models with other numbers of tasks"
    )


# H


def _splits(models: Models) -> Section:
    items: Items = []
    differences = tables.split_table(models)
    if len(differences):
        caption = (
            f"{BARS} all: every task depends on all factors; random: each on a random subset; halves: by turns on one "
            "half and the other."
        )
        drawing = drawings.by_split(models, claims.SPLITS)
        items.append(Figure("figure_15", "Figure 15: scores by the factors that tasks depend on", drawing, caption))
        title = "Difference of scores, mean over data sets"
        items += tabled("splits", title, differences, BRACKETS)
    items += claims.judge(models, claims.FACTOR_SPLITS)
    text = "Does it matter which factors the tasks depend on?"
    return section("H Factors of the tasks", text, items, "no models with tasks on some of the factors")


# Beyond the paper


def _supervision(models: Models) -> Section:
    caption = (
        "(score − mean of single tasks) / (multi-head − mean of single tasks), over all data sets: 0 is no better than "
        "single tasks, 1 as good as a head for each of the tasks. Brackets are 95 % intervals over seeds by Fieller's "
        "method for ratios; there are no bounds where the gain of multi-head itself is not clear."
    )
    items = tabled("supervision", "Share of the gain of multi-task learning", tables.supervision(models), caption)
    title = "The same for the mean of the metrics, by data set"
    if items:
        items += tabled(
            "supervision_data", title, tables.supervision_by_data(models), "The gain is in points of score."
        )
    found = {name: claims.explained(models, kind).get(claims.ALL_METRICS) for name, kind in claims.SUPERVISION.items()}
    words = [claims.in_words(name, entry) for name, entry in found.items() if entry is not None and entry.known]
    text = (
        "How much of the effect do the amount and the kind of supervision explain? Beside multi-head on tasks that are "
        "networks of their own: one head with as many outputs; tasks that are the outputs of one network, so that "
        "there is as much to learn but less that differs; and tasks that all depend on the first half of the factors. "
        "By the mean of the metrics:\n\n" + "\n".join(f"- {line}." for line in words)
    )
    return section("Beyond the paper: amount and kind of supervision", text, items, "no such models are finished")
