"""The report: the paper's figures 1 to 6, 12 and 14 from a table of models, in numbers too, and its claims judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.names import data_name
from unbraid.report import Figure, Section
from unbraid.report.claims import NEWER_THAN_THE_RUN, judge
from unbraid.report.estimates import SEEDS, known, mean, number, spread_limit
from unbraid.report.run_table import RunTable
from unbraid.report.sections import Items, in_short, pictured, section, tabled, verdict_table
from unbraid.search import lineages
from unbraid.studies.population import claims, figures, paper
from unbraid.studies.population.jobs import BY_UDR, RPU
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    CHOSEN_FEW,
    FOUND,
    MATCH,
    METRICS,
    NAMES,
    SEARCH_FEW,
    Models,
    best_known,
    found_factors,
    table,
)
from unbraid.studies.population.study import FEW, SIX

__all__ = ["report", "table"]

# Tables


def _spent(models: Models, approach: str, data: str, column: str, leaves: int | None = None) -> str:
    """A number of images, or the mean of several."""
    images = known(models.scores(approach, data, column, leaves))
    if not len(images):
        return "not known"
    return f"{images[0]:,.0f}" if np.ptp(images) == 0 else f"{images.mean():,.0f} on average"


def _scored(models: Models, approach: str, data: str, leaves: int | None = None) -> dict[str, str | None]:
    """By metric the mean with its interval, and the standard deviation."""
    cells = {}
    for column, name in METRICS.items():
        values = known(models.scores(approach, data, column, leaves))
        cells[f"{name}, mean"] = mean(values).text(".3f") if len(values) else None
        cells[f"{name}, deviation"] = number(float(values.std(ddof=1)), ".3f") if len(values) > 1 else None
    return cells


def comparison(models: Models, approaches: Sequence[str], data_sets: Sequence[str]) -> pd.DataFrame:
    """What each approach spends, and how its models score."""
    return pd.DataFrame([
        {
            "data": data_name(data),
            "approach": NAMES[approach],
            "models": models.count(approach, data),
            "trained images": _spent(models, approach, data, "trained"),
            "seen by the model": _spent(models, approach, data, "lineage"),
            **_scored(models, approach, data),
        }
        for data in data_sets
        for approach in models.present(approaches, data)
    ])  # fmt: skip


def leaf_runs(models: Models) -> pd.DataFrame:
    """Figure 6 in numbers."""
    return pd.DataFrame([
        {
            "data": data_name(data),
            "leaf-runs": leaves,
            "rPU-VAEs": models.count(RPU, data, leaves),
            "trained images": _spent(models, RPU, data, "trained", leaves),
            **_scored(models, RPU, data, leaves),
        }
        for data in models.recursive
        for leaves in range(models.most_leaves(data) + 1)
        if models.count(RPU, data, leaves)
    ])  # fmt: skip


def first_epochs(models: Models, data: str) -> pd.DataFrame:
    """Figure 2 in numbers: the best model of each population by UDR."""
    epochs, rows = models.epochs_of(data), []
    scores = {name: pd.Series(models.by_seed(BY_UDR, data, c), models.table.seeds) for c, name in METRICS.items()}
    for epoch in epochs[epochs["metaepoch"] == 1].itertuples() if len(epochs) else ():
        rows.append({
            "seed": epoch.seed,
            "UDR": epoch.udr,
            "active latents": len(epoch.latents),
            "found": _listed(epoch.found),
            **{name: by_seed.get(epoch.seed) for name, by_seed in scores.items()},
            **{f"knows {name}": share for name, share in best_known(epoch.knows).items()},
        })  # fmt: skip
    return pd.DataFrame(rows)


def meta_epochs(models: Models, data: str) -> pd.DataFrame:
    """Figure 5 in numbers: what every metaEpoch found."""
    examples = dict(enumerate(paper.figure_5(data), 1))
    return pd.DataFrame([
        {
            "seed": epoch.seed,
            "leaf-run": epoch.leaf or None,
            "metaEpoch": epoch.metaepoch,
            "images": epoch.images,
            "trained images": epoch.trained,
            "UDR": epoch.udr,
            "active": len(epoch.latents),
            "found": _listed(epoch.found),
            "new": _listed(epoch.new),
            "paper's example": examples.get(epoch.metaepoch),
            "ended because": epoch.stop or None,
        }
        for epoch in models.epochs_of(data).itertuples()
    ])  # fmt: skip


def _listed(factors: Sequence[str]) -> str:
    return ", ".join(factors) or "none"


def equal_budget(models: Models) -> pd.DataFrame:
    """How many models of each method the images of one rPU-VAE would pay for, and what they would take here."""
    rows: list[dict[str, Any]] = []
    for data in models.recursive:
        budget = known(models.scores(RPU, data, "trained"))
        for method in models.present(SIX, data):
            images, seconds = (known(models.scores(method, data, column)) for column in ("trained", "seconds"))
            if len(images) and len(budget):
                count = budget.mean() / images.mean()
                rows.append({
                    "data": data_name(data),
                    "method": NAMES[method],
                    "models for the images of one rPU-VAE": round(count),
                    "core hours": round(count * seconds.mean() / 3600, 2) if len(seconds) else None,
                    "searches done": models.count(MATCH, data) if method == "beta_tc_vae" else 0,
                })  # fmt: skip
    return pd.DataFrame(rows)


# The report

RULES = (
    "Verdicts follow rules that were fixed before the run; the table says which have changed since the first edition. "
    "Each claim comes down to numbers and one threshold. A number has a 95 % interval over seeds: Student's for a "
    "mean, by pairs where both sides have the same seeds and so begin with the same weights and hyperparameters, "
    "Welch's for two means, and for a ratio of standard deviations one that leaves out a seed at a time. A claim holds "
    "where every interval is on its side of the threshold, does not hold where one is wholly on the other, and is "
    f"inconclusive otherwise, as it is with fewer than {SEEDS} seeds. Few seeds leave ratios of deviations wide open: "
    f"with five against five, one must be below {spread_limit(5, 5):.2f} of the other. Such a claim is not testable "
    "here, and it says how many seeds it would take. They are verdicts on these runs: other data, networks and lengths "
    "of training may give others. Two of the seven seeds on dSprites and three of the six on Shapes3D were added "
    "after the others had been looked at."
    f" {NEWER_THAN_THE_RUN}"
)
DOTS = "One dot per model; the bar is their mean, the line its 95 % interval."
FIGURE_1B = (FEW, SEARCH_FEW, CHOSEN_FEW, BY_FEW, BY_MIG)
FIGURE_4 = (*SIX, MATCH, BY_UDR, RPU, BY_MIG)
COUNTS = (
    "Trained images are all that an approach spends on one model: every member of every generation, and for rPU-VAE "
    "every metaEpoch. Those seen by the model are its own and its ancestors'."
)


def report(runs: RunTable) -> list[Section]:
    """The sections of the report."""
    models = Models(runs)
    parts = [
        _fitness(models), _labels(models), _unsupervised(models), _recursion(models), _comparison(models),
        _final(models), _leaf_runs(models), _histories(models),
    ]  # fmt: skip
    return [_summary(models, parts), *parts]


def _summary(models: Models, parts: Sequence[Section]) -> Section:
    named = models.table.frame
    if "approach" in named:
        order = {name: index for index, name in enumerate(NAMES)}
        named = named.sort_values("approach", key=lambda names: names.map(order)).replace({"approach": NAMES})
    sets = ", ".join(data_name(data) for data in models.data_sets)
    words = (
        f"on {sets}. The paper has dSprites and Shapes3D, populations of 56, {paper.SEEDS} seeds, {paper.LEAF_RUNS} "
        f"leaf-runs, and {paper.BASELINE_SEEDS} seeds of every strength of the six methods. Its figures are plots "
        "without numbers, so its side of a claim is in words. DCI is its disentanglement."
    )
    states = RunTable(named).states("approach", "data", data_name)
    caption = "First edition: the verdict of this study's first run, by its rule of then; — for a new claim."
    verdicts = verdict_table(parts, caption, paper.FIRST_EDITION, paper.CHANGED)
    table = replace(models.table, frame=named)
    return in_short(table, parts, words, RULES, states, verdicts=verdicts, by=("approach",))


def _compared(
    models: Models, name: str, title: str, approaches: Sequence[str], data_sets: Sequence[str], remark: str = ""
) -> Items:
    """A figure with one column per approach, and the same in numbers."""
    approaches = [one for one in approaches if any(models.count(one, data) for data in data_sets)]
    if not approaches:
        return []
    caption = f"{DOTS} {paper.NO_NUMBERS}"
    if {FEW, *SIX} & set(approaches):
        caption = f"{caption} Models of all strengths and seeds of a method are together."
    drawing = partial(figures.scores, models, approaches, data_sets)
    figure = Figure(f"figure_{name}", f"Figure {name}: {title}", drawing, caption)
    frame = comparison(models, approaches, data_sets)
    return [figure, *tabled(f"table_{name}", f"Figure {name} in numbers", frame, f"{COUNTS} {remark}".strip())]


def _fitness(models: Models) -> Section:
    items = _compared(models, "1a", "populations by MIG and by DCI", (BY_MIG, BY_DCI), [models.first])
    items += judge(claims.FITNESS, models)
    text = "Which metric should be the fitness of a population that has all labels?"
    return section("3.1 MIG or DCI as fitness", text, items, "no population with labels is finished")


def _labels(models: Models) -> Section:
    remark = (
        "Single few-label VAEs are of several strengths. Selected ones are the best of a random search by the MIG of "
        "other labels, so that they have had twice as many."
    )
    items = _compared(models, "1b", "few labels, and all", FIGURE_1B, [models.first], remark)
    items += judge(claims.LABELS, models)
    text = f"What do populations make of few labels ({paper.LABELS:,} in the paper)?"
    return section("3.2 Few labels", text, items, "no population with few labels is finished")


def _unsupervised(models: Models) -> Section:
    data, faults = models.first, list[str]()
    title = f"Figure 2: populations by UDR on {data_name(data)}"
    caption = f"The best model of each population. Active latents come first, others are pale. {paper.NO_NUMBERS}"
    items = pictured(models.table, "figure_2", title, partial(figures.first_epochs, models, data), caption, faults)
    caption = (
        "The first metaEpoch of each rPU-VAE. Known of a factor is the largest share of its entropy that one active "
        f"latent tells, above chance; from {FOUND:g} on it counts as found."
    )
    items += tabled("table_2", "Figure 2 in numbers", first_epochs(models, data), caption)
    items += judge(claims.UDR, models)
    text = "What does a population find without labels, where a member is five models and its fitness their agreement?"
    return section("4.1 Populations by UDR", text + _not_shown(faults), items, "no rPU-VAE is finished")


def _not_shown(faults: Sequence[str]) -> str:
    return f" Could not be shown: {'; '.join(faults)}." if faults else ""


def _recursion(models: Models) -> Section:
    items: Items = []
    faults: list[str] = []
    for data in models.data_sets:
        name, runs = data_name(data), models.table
        caption = (
            "A label sorted (green), its derivative (blue), peaks (red crosses), the chosen interval (red bar), of the "
            "first seed whose data was reduced after its first metaEpoch."
        )
        draw = partial(figures.reduction, models, data)
        items += pictured(runs, f"figure_3_{data}", f"Figure 3: reduction of {name}", draw, caption, faults)
        caption = "Active latents of every metaEpoch of the same seed, with the factor each tells most about."
        draw = partial(figures.meta_epochs, models, data)
        items += pictured(runs, f"figure_5_{data}", f"Figure 5: metaEpochs on {name}", draw, caption, faults)
        epochs = models.epochs_of(data)
        if len(epochs) and epochs["knows"].map(len).any():
            caption = (
                "The largest share of a factor that one active latent tells on the images of its metaEpoch. Grey: only "
                "one value of the factor remains."
            )
            drawing = partial(figures.known_factors, models, data)
            items.append(Figure(f"known_{data}", f"What metaEpochs know, {name}", drawing, caption))
        caption = "New: not found by an earlier metaEpoch of the same leaf-run, the first included."
        items += tabled(f"epochs_{data}", f"MetaEpochs on {name}", meta_epochs(models, data), caption)
    items += judge(claims.EPOCHS, models)
    text = "Does the removal of what was learned make room for other factors?"
    return section("4.2 MetaEpochs", text + _not_shown(faults), items, "no rPU-VAE is finished")


def _comparison(models: Models) -> Section:
    sets = [data for data in models.data_sets if models.present(FIGURE_4, data)]
    items = _compared(models, "4", "rPU-VAE beside other methods", FIGURE_4, sets)
    caption = (
        "Core hours by what single models took here. Of β-TCVAE it was done: random settings of five models each, the "
        "best by UDR. Other methods have only the unequal comparison."
    )
    items += tabled("budget", "What the same budget would be", equal_budget(models), caption)
    items += judge(claims.COMPARISON, models)
    text = (
        "Is rPU-VAE better and steadier than other methods without labels? The paper compares it with single models; "
        "beside that, a random search by UDR gets the images that rPU-VAE was trained on."
    )
    return section("5 rPU-VAE beside other methods", text, items, "no model is finished")


def final_models(models: Models, data: str) -> pd.DataFrame:
    """Figures 12 and 14 in numbers: what the last models know of the whole data."""
    return pd.DataFrame([
        {
            "approach": NAMES[approach],
            "seed": seed,
            "active latents": len(knows),
            "found": _listed(found_factors(knows)),
            **{f"knows {name}": share for name, share in best_known(knows).items()},
        }
        for approach in (RPU, BY_MIG)
        for seed, knows in models.known(approach, data).items()
    ])  # fmt: skip


def _final(models: Models) -> Section:
    items: Items = []
    faults: list[str] = []
    for data in models.data_sets:
        name, number = data_name(data), "14" if data.startswith("dsprites") else "12"
        for letter, approach in (("a", BY_MIG), ("b", RPU)) if number == "14" else (("", RPU),):
            caption = "The model of the first seed: each row moves one latent of the same image, those used most first."
            draw = partial(figures.final_model, models, data, approach)
            title = f"Figure {number}{letter}: {NAMES[approach]} on {name}"
            items += pictured(models.table, f"figure_{number}{letter}_{data}", title, draw, caption, faults)
        caption = (
            "rPU-VAE with the most leaf-runs, and PBT-S-VAE, which has all labels. Known of a factor is the largest "
            "share of its entropy that one active latent tells, above chance, on the whole data; from "
            f"{FOUND:g} on it is found."
        )
        items += tabled(f"final_{data}", f"What the last models know of {name}", final_models(models, data), caption)
    items += judge(claims.FINAL, models)
    text = "What does the last model know, trained on all that was labelled?"
    return section("5 What the last model knows", text + _not_shown(faults), items, "no rPU-VAE is finished")


def _leaf_runs(models: Models) -> Section:
    items: Items = []
    if models.recursive:
        drawing = partial(figures.leaf_runs, models, models.recursive)
        items.append(Figure("figure_6", "Figure 6: scores by leaf-runs", drawing, paper.NO_NUMBERS))
    caption = "The same metaEpochs, and a last population trained again for each number of leaf-runs."
    items += tabled("table_6", "Figure 6 in numbers", leaf_runs(models), caption)
    items += judge(claims.LEAVES, models)
    text = f"How many leaf-runs does it take (0 to {paper.LEAF_RUNS} in the paper)?"
    return section("5.1 Leaf-runs", text, items, "no rPU-VAE is finished")


def _histories(models: Models) -> Section:
    items: Items = []
    for data in models.data_sets:
        for fitness, approach in (("mig", BY_MIG), ("udr", BY_UDR)):
            histories = models.histories(approach, data)
            if not histories:
                continue
            seed, history = next(iter(histories.items()))
            populations = f"by {fitness.upper()} on {data_name(data)}"
            title, drawing = f"History of a population {populations}, {seed}", partial(lineages.draw, history, fitness)
            caption = "Scores and hyperparameters of all members; blue is the lineage of the best."
            items.append(Figure(f"history_{fitness}_{data}", title, drawing, caption))
            title, drawing = (
                f"Hyperparameters of populations {populations}",
                partial(figures.hyperparameters, histories),
            )
            caption = "Geometric mean over members, and their range."
            items.append(Figure(f"hyperparameters_{fitness}_{data}", title, drawing, caption))
    text = "How scores and hyperparameters develop (the paper's supplementary section B)."
    return section("B Histories", text, items, "no population is finished")
