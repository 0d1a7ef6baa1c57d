"""The report: the paper's tables 1 to 3 and figures 3 to 6 made anew from a table of runs, its claims, and more.

Everything is a function of the table; only figures 4 to 6 open folders, in `looks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from unbraid.pictures.style import data_name
from unbraid.report import Figure, Picture, Section
from unbraid.report.estimates import SEEDS
from unbraid.report.runs import failures
from unbraid.report.sections import Items, section, tabled, verdict_table
from unbraid.studies.intervention import claims, drawings, paper, tables
from unbraid.studies.intervention.looks import Looks, look
from unbraid.studies.intervention.models import APART, DIFFICULT, PLAIN, Models, described, table

__all__ = ["report", "table"]

RULES = (
    "Verdicts follow rules that were fixed before the results were looked at. Each claim comes down to numbers that "
    "every data set and seed gives, such as a difference of two scores, and one threshold. A number is averaged over "
    "seeds and data sets and has a 95 % interval, Student's t over seeds: the variance is estimated in each data set, "
    "and data sets are taken as given. A claim holds where every interval is on its side of the threshold, does not "
    "hold where one is wholly on the other, and inconclusive otherwise, nor of fewer than two data sets with "
    f"{SEEDS} seeds each. A score is kept that falls by less than {claims.KEPT:g}; models within {claims.COMPARABLE:g} "
    "are comparable. Rank correlations have intervals over models (Bonett and Wright). They are verdicts on these "
    "runs: other networks, images and lengths of training may give others."
)
BRACKETS = "Brackets are 95 % t intervals over seeds."
HELD_OUT = "Scores are of held-out rows, whose factors are independent."
CORRELATED_ONLY = f"Trained on correlated factors. {HELD_OUT} {BRACKETS}"
APART_MEANS = (
    "Apart: the share of models in which one feature tells the one factor best and another the other; SAP does not see "
    "that one feature tells both."
)


def report(runs: pd.DataFrame, folder: Path | None = None) -> list[Section]:
    """The sections of the report. `folder` is the study's: figures 4 to 6 are left out without it."""
    models = Models.of(runs)
    looks = {data: look(models, data, folder) for data in models.data_sets} if folder is not None else {}
    parts = [_data(looks), _difficulty(models), _scores(models), _codes(looks), _weights(models), _beyond(models)]
    return [_summary(runs, models, parts), *parts]


def _summary(runs: pd.DataFrame, models: Models, parts: Sequence[Section]) -> Section:
    items: Items = [verdict_table(parts)]
    if len(described(runs)):
        items += tabled("states", "Models that are done, of those there are", tables.states(runs))
    items += tabled("failures", "Models that are not done, and why", failures(runs))
    text = (
        f"{len(models.runs)} finished models: {len(models.data_sets)} data sets, {len(models.seeds)} seeds. The paper "
        f"has dSprites, 3D Shapes, CMNIST and Oxford Flowers, and repeats each model 10 times. {RULES}"
    )
    return Section("In short", text if len(models.runs) else f"There are no finished models yet. {RULES}", tuple(items))


# 5.1 and appendix B


def _data(looks: Mapping[str, Looks]) -> Section:
    joints = {data: found.joint for data, found in looks.items() if found.joint is not None}
    items: Items = []
    if joints:
        caption = "Counts of training rows, the highest as 1. The paper's figure has no numbers; these are bands."
        title = "Figure 6: joint distribution of the correlated factors"
        items.append(Figure("figure_6", title, partial(drawings.joints, joints), caption))
    text = "How the training sets with correlated factors are drawn. Those with independent factors have the same size."
    return section("5.1 Data", text, items, "no model of correlated factors is finished")


# 5.3


def _difficulty(models: Models) -> Section:
    items: Items = []
    ranked = tables.ranks(models)
    if models.ranked:
        caption = "In hundredths, over FactorVAE models of all strengths, seeds and both kinds of factors. A low "
        caption += "difficulty is good, so that a metric that agrees with the others is blue in the first row."
        title = "Figure 3: rank correlations of difficulty and scores"
        items.append(Figure("figure_3", title, partial(drawings.rank_matrices, models), caption))
        caption = "A dot a FactorVAE, the larger the higher its γ."
        title = "The models behind figure 3"
        items.append(Figure("scatter", title, partial(drawings.rank_scatter, models), caption))
    caption = "Spearman's correlation of difficulty with each score; brackets are 95 % intervals over models."
    items += tabled("ranks", "Figure 3 in numbers", ranked, caption)
    if any(models.known(data, DIFFICULT) for data in models.data_sets):
        caption = (
            f"In nats an image, on held-out rows; lower is better. {BRACKETS} Its floor is the entropy of the images, "
            "so that it compares models of one data set, and those whose reconstructions are alike."
        )
        items += tabled("difficulty", "Translation difficulty of all models", tables.difficulties(models), caption)
    items += claims.judge(models, claims.RANKS)
    text = (
        "Does the difficulty of translating one value of a feature into another rank models as scores with factors do?"
    )
    return section("5.3 Translation difficulty", text, items, "no finished model has a translation difficulty")


# 5.4


def _scores(models: Models) -> Section:
    items: Items = []
    if any(models.metrics(data) for data in models.data_sets):
        caption = (
            f"{HELD_OUT} Dots are means over seeds, faint dots the seeds, lines 95 % t intervals. Higher is better."
        )
        title = "Tables 1 to 3 as a figure"
        items.append(Figure("scores", title, partial(drawings.scores, models), caption))
    for data in models.data_sets:
        place = paper.NUMBERS.get(paper.DATA.get(data, ""))
        title = f"{f'Table {place}' if place else 'Not in the paper'}: scores on {data_name(data)}"
        caption = f"{HELD_OUT} {BRACKETS} {APART_MEANS if models.known(data, APART) else ''}".rstrip()
        items += tabled(f"table_{data}", title, tables.scores(models, data), caption)
    caption = f"Score with independent minus score with correlated factors. {BRACKETS}"
    items += tabled("drops", "What correlated factors cost", tables.drops(models), caption)
    caption = (
        "Mean translation difficulty on training images of models without `difficulty`, trained on correlated factors. "
        "The easiest is chosen for all models of `intervention` on a data set."
    )
    items += tabled("choice", "Appendix C: the choice of λ₁ and λ₂", tables.candidates(models), caption)
    items += claims.judge(models, claims.SCORES)
    text = "Who keeps disentangling when two factors of the training images are correlated?"
    return section("5.4 Scores", text, items, "no finished model has scores")


def _codes(looks: Mapping[str, Looks]) -> Section:
    items: Items = []
    chosen = "Of each method the model of correlated factors with the best DCI."
    for data, found in looks.items():
        name = data_name(data)
        number = "Figure 4" if paper.DATA.get(data) == "3DShapes" else "As figure 4"
        if found.importances is not None:
            caption = f"{chosen} Correlated factors are red."
            title = f"{number} (a): importance of codes for factors, {name}"
            items.append(Figure(f"importance_{data}", title, found.importances, caption))
        if found.traversals is not None:
            title = f"{number} (b): traversals, {name}"
            caption = f"{chosen} Beside each code the factor that it is most important for."
            items.append(Picture(f"traversals_{data}", title, found.traversals, caption))
        number = "Figure 5" if data == "flowers102" else "As figure 5"
        if found.neighbours is not None:
            items.append(Picture(f"neighbours_{data}", f"{number}: neighbours by feature, {name}", found.neighbours))
        if found.exchanged is not None:
            items.append(Picture(f"exchanges_{data}", f"Features exchanged, {name}", found.exchanged))
    text = "What do single features hold?"
    if faults := [fault for found in looks.values() for fault in found.faults]:
        text += " Could not be shown: " + "; ".join(faults) + "."
    return section("5.4 Codes", text, items, text if faults else "no model of figure 4 or 5 is finished")


# Proposition 2


def _weights(models: Models) -> Section:
    items: Items = []
    if any(models.known(data, PLAIN) for data in models.data_sets):
        caption = "A line a seed: the accuracy of a new classifier on images it has not seen, chance is 0.5."
        title = "Telling intervened images from reconstructions, without and with W's weights"
        items.append(Figure("two_samples", title, partial(drawings.two_samples, models), caption))
    caption = (
        f"{BRACKETS} With weights, an intervened image counts as often as W says, in training and in testing. The "
        "effective share says how many of the weighted images count: (Σw)² / (n Σw²)."
    )
    items += tabled("told_apart", "The two-sample test", tables.told_apart(models), caption)
    items += claims.judge(models, claims.WEIGHTS)
    text = (
        "Do W's weights bring intervened images to the distribution of the data? A network that was not part of the "
        "training learns to tell the two; both are drawn from training rows, whose distribution W is to restore."
    )
    return section("Proposition 2", text, items, "no finished model of `intervention` has been examined")


def _beyond(models: Models) -> Section:
    items = tabled(
        "ablations", "Ablations: `intervention` without a part of its loss", tables.ablations(models), CORRELATED_ONLY
    )
    caption = (
        f"{CORRELATED_ONLY} Ada-GVAE learns from pairs that differ in one factor, which no other method here knows of."
    )
    items += tabled("rivals", "Other methods for correlated factors", tables.rivals(models), caption)
    text = (
        "What does each loss contribute, with λ₁ and λ₂ as chosen for the whole? And how do two later methods fare on "
        "the same correlated data: weak pairs (Ada-GVAE), and a factorized support (Hausdorff)?"
    )
    return section("Beyond the paper", text, items, "no ablation and no other method is finished")
