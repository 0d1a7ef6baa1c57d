"""The report: the paper's figures 1 to 6 made anew from the study's outcomes, and its claims.

Everything is a function of the tables of models and metaEpochs; pictures and histories come from folders, in `looks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from unbraid.pictures.style import data_name
from unbraid.report import Figure, Picture, Section
from unbraid.report.estimates import SEEDS
from unbraid.report.sections import Items, section, tabled, verdict_table
from unbraid.search import lineages
from unbraid.studies.population import claims, drawings, paper, tables
from unbraid.studies.population.looks import Looks, look, searched
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    BY_UDR,
    CHOSEN_FEW,
    FOUND,
    MATCH,
    RPU,
    SEARCH_FEW,
    Models,
    meta_epochs,
    table,
)
from unbraid.studies.population.study import FEW, SIX

__all__ = ["report", "table"]

RULES = (
    "Verdicts follow one rule that was fixed before the results were looked at. Each claim comes down to numbers and "
    "one threshold. A number has a 95 % interval over seeds: Student's for a mean, by pairs where both sides have the "
    "same seeds and so begin with the same weights and hyperparameters, Welch's for two means, that of the F test for "
    "a ratio of standard deviations. A claim holds where every interval is on its side of the threshold, does not hold "
    f"where one is wholly on the other, and inconclusive otherwise, nor with fewer than {SEEDS} seeds. Few seeds "
    "leave ratios of deviations wide open: with three against three, one must be six times the other. They are "
    "verdicts on these runs: other data, networks and lengths of training may give others."
)
DOTS = "A dot is a model, the bar the mean, the line its 95 % interval."
FIGURE_1B = (FEW, SEARCH_FEW, CHOSEN_FEW, BY_FEW, BY_MIG)
FIGURE_4 = (*SIX, MATCH, BY_UDR, RPU, BY_MIG)
COUNTS = (
    "Trained images are all that an approach spends on one model: every member of every generation, and for rPU-VAE "
    "every metaEpoch. Those seen by the model are its own and its ancestors'."
)


def report(runs: pd.DataFrame, folder: Path | None = None) -> list[Section]:
    """The sections of the report. `folder` is the study's: without it there are no metaEpochs and no pictures."""
    models = Models.of(runs, meta_epochs(folder) if folder is not None and folder.is_dir() else None)
    looks = {data: look(models, data, folder) for data in models.data_sets} if folder is not None else {}
    first = next(iter(models.data_sets), "dsprites")
    found = looks.get(first, Looks())
    parts = [
        _fitness(models, first),
        _labels(models, first),
        _unsupervised(models, first, found),
        _recursion(models, looks),
        _comparison(models),
        _leaf_runs(models),
        _histories(looks),
    ]
    return [_summary(runs, models, parts), *parts]


def _there(models: Models, approaches: Sequence[str], data: str) -> list[str]:
    return [approach for approach in approaches if len(models.of_approach(approach, data))]


def _summary(runs: pd.DataFrame, models: Models, parts: Sequence[Section]) -> Section:
    items: Items = [verdict_table(parts)]
    items += tabled("states", "Models that are done, of those there are", tables.states(runs))
    items += tabled("failures", "Models that are not done, and why", tables.failures(runs))
    sets = ", ".join(data_name(data) for data in models.data_sets)
    text = (
        f"{len(models.runs)} finished models on {sets}. The paper has dSprites and Shapes3D, populations of 56, "
        f"{paper.SEEDS} seeds, {paper.LEAF_RUNS} leaf-runs, and {paper.BASELINE_SEEDS} seeds of every strength of the "
        f"six methods. {paper.NO_NUMBERS.replace('figure is a plot', 'figures are plots')} So its side of a claim is "
        f"words. DCI is its disentanglement. {RULES}"
    )
    return Section("In short", text if len(models.runs) else f"There are no finished models yet. {RULES}", tuple(items))


# Figure 1


def _fitness(models: Models, data: str) -> Section:
    items: Items = []
    approaches = _there(models, (BY_MIG, BY_DCI), data)
    if approaches:
        caption = f"{DOTS} {paper.NO_NUMBERS}"
        drawing = drawings.scores(models, approaches, [data])
        items.append(Figure("figure_1a", "Figure 1a: populations by MIG and by DCI", drawing, caption))
    frame = tables.comparison(models, approaches, [data])
    items += tabled("table_1a", "Figure 1a in numbers", frame, COUNTS)
    items += claims.judge(models, claims.FITNESS)
    text = "Which metric should be the fitness of a population that has all labels?"
    return section("3.1 MIG or DCI as fitness", text, items, "no population with labels is finished")


def _labels(models: Models, data: str) -> Section:
    items: Items = []
    approaches = _there(models, FIGURE_1B, data)
    if approaches:
        caption = f"{DOTS} {paper.NO_NUMBERS}"
        drawing = drawings.scores(models, approaches, [data])
        items.append(Figure("figure_1b", "Figure 1b: few labels, and all", drawing, caption))
    caption = (
        f"{COUNTS} Single few-label VAEs are of several strengths. Selected ones are the best of a random search by "
        "the MIG of other labels, so that they have had twice as many."
    )
    items += tabled("table_1b", "Figure 1b in numbers", tables.comparison(models, approaches, [data]), caption)
    items += claims.judge(models, claims.LABELS)
    text = f"What do populations make of few labels ({paper.LABELS:,} in the paper)?"
    return section("3.2 Few labels", text, items, "no population with few labels is finished")


# Figure 2


def _unsupervised(models: Models, data: str, found: Looks) -> Section:
    items: Items = []
    if found.first is not None:
        caption = f"The best model of each population. Active latents come first, others are pale. {paper.NO_NUMBERS}"
        title = f"Figure 2: populations by UDR on {data_name(data)}"
        items.append(Picture("figure_2", title, found.first, caption))
    caption = (
        "The first metaEpoch of each rPU-VAE. Known of a factor is the largest share of its entropy that one active "
        f"latent tells, above chance; from {FOUND:g} on it counts as found."
    )
    items += tabled("table_2", "Figure 2 in numbers", tables.first_epochs(models, data), caption)
    items += claims.judge(models, claims.UDR)
    text = "What does a population find without labels, where a member is five models and its fitness their agreement?"
    text += _faults(found)
    return section("4.1 Populations by UDR", text, items, "no rPU-VAE is finished")


def _faults(found: Looks) -> str:
    return f" Could not be shown: {'; '.join(found.faults)}." if found.faults else ""


# Figures 3 and 5


def _recursion(models: Models, looks: dict[str, Looks]) -> Section:
    items: Items = []
    for data, found in looks.items():
        name = data_name(data)
        if found.reduction is not None:
            caption = (
                "A label sorted (green), its derivative (blue), peaks (red crosses), the chosen interval (red bar), of "
                "the first seed that went on after its first metaEpoch."
            )
            items.append(Picture(f"figure_3_{data}", f"Figure 3: reduction of {name}", found.reduction, caption))
        if found.epochs is not None:
            caption = "Active latents of every metaEpoch of the same seed, with the factor each tells most about."
            items.append(Picture(f"figure_5_{data}", f"Figure 5: metaEpochs on {name}", found.epochs, caption))
        epochs = models.epochs_of(data)
        if len(epochs) and epochs["knows"].map(len).any():
            caption = (
                "The largest share of a factor that one active latent tells on the images of its metaEpoch. Grey: the "
                "factor has one value left."
            )
            title = f"What metaEpochs know, {name}"
            items.append(Figure(f"known_{data}", title, drawings.known_factors(models, data), caption))
        caption = "New: not found by an earlier metaEpoch of the same leaf-run, the first included."
        items += tabled(f"epochs_{data}", f"MetaEpochs on {name}", tables.meta_epochs(models, data), caption)
    items += claims.judge(models, claims.EPOCHS)
    text = "Does the removal of what was learned make room for other factors?"
    return section("4.2 MetaEpochs", text, items, "no rPU-VAE is finished")


# Figure 4


def _comparison(models: Models) -> Section:
    items: Items = []
    sets = [data for data in models.data_sets if _there(models, FIGURE_4, data)]
    if sets:
        caption = f"{DOTS} Strengths and seeds of a method together. {paper.NO_NUMBERS}"
        drawing = drawings.scores(models, FIGURE_4, sets)
        items.append(Figure("figure_4", "Figure 4: rPU-VAE beside other methods", drawing, caption))
    items += tabled("table_4", "Figure 4 in numbers", tables.comparison(models, FIGURE_4, sets), COUNTS)
    caption = (
        "Core hours by what single models took here. Of β-TCVAE it was done: random settings of five models each, the "
        "best by UDR. Other methods have only the unequal comparison."
    )
    items += tabled("budget", "What the same budget would be", tables.equal_budget(models, sets), caption)
    items += claims.judge(models, claims.COMPARISON)
    text = (
        "Is rPU-VAE better and steadier than other methods without labels? The paper compares it with single models; "
        "beside that, a random search by UDR gets the images that rPU-VAE was trained on."
    )
    return section("5 rPU-VAE beside other methods", text, items, "no model is finished")


# Figure 6


def _leaf_runs(models: Models) -> Section:
    items: Items = []
    sets = [data for data in models.data_sets if len(models.of_approach(RPU, data))]
    if sets:
        drawing = drawings.leaf_runs(models, sets)
        items.append(Figure("figure_6", "Figure 6: scores by leaf-runs", drawing, paper.NO_NUMBERS))
    caption = "The same metaEpochs, and a last population trained anew for each number of leaf-runs."
    items += tabled("table_6", "Figure 6 in numbers", tables.leaf_runs(models, sets), caption)
    items += claims.judge(models, claims.LEAVES)
    text = f"How many leaf-runs does it take (0 to {paper.LEAF_RUNS} in the paper)?"
    return section("5.1 Leaf-runs", text, items, "no rPU-VAE is finished")


# Supplementary B


def _histories(looks: dict[str, Looks]) -> Section:
    items: Items = []
    for data, found in looks.items():
        name = data_name(data)
        for kind, histories, words in (("mig", found.mig, "by MIG"), ("udr", found.udr, "by UDR")):
            if not histories:
                continue
            seed, history = next(iter(histories.items()))
            title = f"History of a population {words} on {name}, {seed}"
            caption = "Scores and hyperparameters of all members; blue is the lineage of the best."
            items.append(Figure(f"history_{kind}_{data}", title, lineages.draw(history, kind), caption))
            title = f"Hyperparameters of populations {words} on {name}"
            drawing = drawings.hyperparameters(histories, searched(list(histories.values())))
            caption = "Geometric mean over members, and their range."
            items.append(Figure(f"hyperparameters_{kind}_{data}", title, drawing, caption))
    text = "How scores and hyperparameters develop (the paper's supplementary section B)."
    return section("B Histories", text, items, "no population is finished")
