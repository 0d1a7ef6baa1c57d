"""What the models of the study show: the paper's claims, its figures 1 to 6, and both in numbers.

A number has a 95 % interval over seeds. Where two approaches begin with the same seeds it is a mean of differences by
seed, else a difference of means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.names import data_name
from unbraid.report import Figure, Section
from unbraid.report.claims import Claim, Rule, judge
from unbraid.report.estimates import SEEDS, UNKNOWN, Array, Estimate, difference, known, mean, number, spread_ratio
from unbraid.report.run_table import RunTable
from unbraid.report.sections import Items, in_short, pictured, section, tabled
from unbraid.search import lineages
from unbraid.studies.population import figures, paper
from unbraid.studies.population.jobs import BY_UDR, RPU
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    CHOSEN_FEW,
    DCI,
    FOUND,
    MATCH,
    METRICS,
    MIG,
    NAMES,
    SEARCH_FEW,
    Models,
    best_known,
    table,
)
from unbraid.studies.population.study import FEW, SIX

__all__ = ["CLAIMS", "report", "table"]

# What the claims measure

CLOSE = 0.05  # scores that far apart are alike
Numbers = Mapping[str, Estimate]
Measure = Callable[[Models, str], Numbers]
"""Numbers on one data set."""


def on_first(measure: Measure) -> Callable[[Models], Numbers]:
    """On the data set of figures 1 and 2."""
    return lambda models: measure(models, models.first)


def on_each(measure: Measure) -> Callable[[Models], Numbers]:
    """On every data set with rPU-VAEs, each a case of its own."""

    def numbers(models: Models) -> Numbers:
        sets = models.recursive or [models.first]
        named = [(f"{data_name(data)} " if len(sets) > 1 else "", measure(models, data)) for data in sets]
        return {name + case: entry for name, entries in named for case, entry in entries.items()}

    return numbers


def gain(first: str, second: str, *columns: str) -> Measure:
    """How far the first's scores are above the second's with the same seed, by metric."""

    def measure(models: Models, data: str) -> Numbers:
        pairs = {c: [models.by_seed(name, data, c) for name in (first, second)] for c in columns or METRICS}
        return {METRICS[column]: mean(one - other) for column, (one, other) in pairs.items()}

    return measure


def lead(first: str, *others: str) -> Measure:
    """The mean score of an approach minus that of each of the others, by metric."""

    def measure(models: Models, data: str) -> Numbers:
        return {
            f"{name} − {NAMES[other]}" if len(others) > 1 else name: difference(
                models.scores(first, data, column), models.scores(other, data, column)
            )
            for column, name in METRICS.items()
            for other in others
        }

    return measure


def spread(first: str, others: Sequence[str], columns: Sequence[str] = tuple(METRICS)) -> Measure:
    """The standard deviation of an approach over that within the others, by metric."""

    def measure(models: Models, data: str) -> Numbers:
        return {
            METRICS[c]: spread_ratio(models.scores(first, data, c), *(models.scores(name, data, c) for name in others))
            for c in columns
        }

    return measure


def shares(models: Models, data: str, factors: Sequence[str], others: bool = False) -> Array:
    """By seed, what the first metaEpoch's active latents know: the least of `factors`, or the most of all `others`."""
    epochs, values = models.epochs_of(data), []
    for knows in epochs.loc[epochs["metaepoch"] == 1, "knows"] if len(epochs) else ():
        best = best_known(knows)
        if others:
            values.append(max((value for name, value in best.items() if name not in factors), default=0.0))
        else:
            values.append(min(best.get(name, 0.0) for name in factors))
    return np.array(values)


def first_shares(models: Models, data: str, others: bool = False) -> Numbers:
    factors = paper.first_factors(data)
    return {"share": mean(shares(models, data, factors, others))} if factors else {}


def _names_factors(models: Models) -> str | None:
    """The gate of claims on what a population by UDR finds."""
    data = models.first
    return (
        None if paper.first_factors(data) else f"the paper does not say which factors come first on {data_name(data)}"
    )


def discoveries(models: Models, data: str) -> Array:
    """By seed, the share of its metaEpochs behind the first that find a factor not found before in their leaf-run."""
    epochs = models.epochs_of(data)
    if not len(epochs):
        return np.empty(0)
    later = epochs[(epochs["metaepoch"] > 1) & (epochs["stop"].fillna("") == "")]
    return np.array([np.mean([len(new) > 0 for new in rows["new"]]) for _, rows in later.groupby("seed")])


def leaf_gains(models: Models, data: str, column: str, first: int, last: int) -> Array:
    """By seed, the score with the last number of leaf-runs minus that with the first."""
    return models.by_seed(RPU, data, column, last) - models.by_seed(RPU, data, column, first)


def leaf_gain(models: Models, data: str) -> Numbers:
    most = models.most_leaves(data)
    return {name: mean(leaf_gains(models, data, c, 0, most)) if most else UNKNOWN for c, name in METRICS.items()}


def first_leaf_gain(models: Models, data: str) -> Numbers:
    """The gain by the first leaf-run minus the mean gain by each further one."""
    most = models.most_leaves(data)
    return {
        name: mean(leaf_gains(models, data, c, 0, 1) - leaf_gains(models, data, c, 1, most) / (most - 1))
        if most > 1
        else UNKNOWN
        for c, name in METRICS.items()
    }


def leaf_spread(models: Models, data: str) -> Numbers:
    most = models.most_leaves(data)
    return {
        name: spread_ratio(models.scores(RPU, data, c, most), models.scores(RPU, data, c, 0)) if most else UNKNOWN
        for c, name in METRICS.items()
    }


# Claims


def _counts(models: Models, data: str, approaches: Sequence[str]) -> str:
    return "n = " + ", ".join(f"{models.count(name, data)} × {NAMES[name]}" for name in approaches)


def claim(
    key: str, where: str, words: str, said: str, rule: Rule, measure: Measure, approaches: Sequence[str],
    each: bool = False, gate: Callable[[Models], str | None] | None = None,
) -> Claim[Models]:  # fmt: skip
    """A claim on the first data set, or on `each` with rPU-VAEs; its note counts the models of these approaches."""

    def note(models: Models) -> str:
        if not each:
            return _counts(models, models.first, approaches)
        return "; ".join(f"{data_name(data)}: {_counts(models, data, approaches)}" for data in models.recursive)

    numbers = (on_each if each else on_first)(measure)
    return Claim(key, where, words, said, rule, numbers, gate=gate, note=note, form=".3f")


FITNESS = (
    claim(
        "mig-beats-dci", "3.1",
        "Populations whose fitness is MIG reach a higher MIG than populations whose fitness is DCI disentanglement.",
        "higher on dSprites, five seeds each (3.1, figure 1a)",
        Rule("MIG of populations by MIG minus MIG of populations by DCI, same seeds", "above", 0.0),
        gain(BY_MIG, BY_DCI, MIG), (BY_MIG, BY_DCI),
    ),
    claim(
        "mig-varies-less", "3.1", "Their MIG also varies less.", "lower variance (3.1, figure 1a)",
        Rule("standard deviation of MIG over seeds, by MIG over by DCI", "below", 1.0),
        spread(BY_MIG, (BY_DCI,), (MIG,)), (BY_MIG, BY_DCI),
    ),
    claim(
        "mig-does-as-well-by-dci", "3.1",
        "They do as well by DCI disentanglement as populations whose fitness it is.",
        "similarly well (3.1); better by both metrics (figure 1's caption)",
        Rule("DCI of populations by MIG minus DCI of populations by DCI, same seeds", "above", -CLOSE),
        gain(BY_MIG, BY_DCI, DCI), (BY_MIG, BY_DCI),
    ),
)  # fmt: skip
LABELS = (
    claim(
        "pbt-beats-selection", "3.2",
        "With few labels, a population beats the choice of the best among models trained without copying.",
        "clearly higher mean MIG and DCI, 1,000 labels (3.2, figure 1b)",
        Rule("score of the population minus score of the best of a random search of the same budget, same seeds "
             "and labels", "above", 0.0),
        gain(BY_FEW, CHOSEN_FEW), (BY_FEW, CHOSEN_FEW),
    ),
    claim(
        "pbt-beats-few-label", "3.2", "With few labels, a population beats the semi-supervised few-label VAE.",
        "clearly higher mean MIG and DCI, 1,000 labels (3.2, figure 1b)",
        Rule("mean score of the population minus mean score of single few-label VAEs, each trained for as many images "
             "as one member", "above", 0.0),
        lead(BY_FEW, FEW), (BY_FEW, FEW),
    ),
    claim(
        "pbt-beats-chosen-few-label", "3.2", "It does so at the same number of trained images (beyond the paper).",
        "not compared: the few-label VAE is a single model",
        Rule("score of the population minus score of the best of a random search among few-label VAEs of the same "
             "budget, chosen by as many labels again, same seeds", "above", 0.0),
        gain(BY_FEW, SEARCH_FEW), (BY_FEW, SEARCH_FEW),
    ),
    claim(
        "pbt-varies-less", "3.2", "With few labels, populations vary less than both baselines.",
        "reduced variance (3.2, figure 1b)",
        Rule("standard deviation over seeds of populations, over that within the baselines", "below", 1.0),
        spread(BY_FEW, (CHOSEN_FEW, FEW)), (BY_FEW, CHOSEN_FEW, FEW),
    ),
    claim(
        "all-labels-beat-few", "3.2", "A population with all labels surpasses one with few.",
        "further increases performance (3.2, figure 1b)",
        Rule("score with all labels minus score with few, same seeds", "above", 0.0),
        gain(BY_MIG, BY_FEW), (BY_MIG, BY_FEW),
    ),
)  # fmt: skip
UDR = (
    claim(
        "udr-finds-position", "4.1", "Populations by UDR consistently find x and y position.",
        "for all of five seeds on dSprites (4.1, figure 2)",
        Rule("share of the less known of x and y that one active latent tells", "above", FOUND),
        first_shares, (BY_UDR,), gate=_names_factors,
    ),
    claim(
        "udr-finds-little-else", "4.1", "They find little else.",
        "only the factors with high variance in image space; MIG and DCI are relatively low (4.1, figure 2)",
        Rule("largest share of another factor that one active latent tells", "below", FOUND),
        partial(first_shares, others=True), (BY_UDR,), gate=_names_factors,
    ),
)  # fmt: skip
EPOCHS = (
    claim(
        "epochs-find-new", "4.2", "Each metaEpoch finds factors that those before it have not.",
        "distinct factors at each metaEpoch (5, figure 5, one example per data set)",
        Rule("share of the metaEpochs behind the first, those that ended a leaf-run aside, with a new factor of which "
             f"one active latent tells {FOUND:.0%}", "above", 0.5),
        lambda models, data: {"share": mean(discoveries(models, data))}, (RPU,), each=True,
    ),
)  # fmt: skip
COMPARISON = (
    claim(
        "rpu-beats-six", "5",
        "rPU-VAE has a higher mean MIG and DCI than each of β-TCVAE, β-VAE, FactorVAE, DIP-VAE-I, DIP-VAE-II and "
        "AnnealedVAE.",
        "significantly higher for all data sets, at a larger number of trained images (5, figure 4)",
        Rule("mean score of rPU-VAE minus that of each method, its strengths and seeds together", "above", 0.0),
        lead(RPU, *SIX), (RPU, *SIX), each=True,
    ),
    claim(
        "rpu-varies-less", "5", "rPU-VAE's scores vary less than those of the six methods.",
        "drastically reduced variance (5, figure 4)",
        Rule("standard deviation of rPU-VAE over seeds, over that within the methods, strengths and seeds together",
             "below", 1.0),
        spread(RPU, SIX), (RPU, *SIX), each=True,
    ),
    claim(
        "rpu-beats-match", "5",
        "rPU-VAE has a higher mean MIG and DCI than β-TCVAE at the same number of trained images (beyond the paper).",
        "not compared: a run of rPU-VAE trains thousands of models, a baseline is one",
        Rule("mean score of rPU-VAE minus that of the best, by UDR, of as many random settings of β-TCVAE as its "
             "images pay for", "above", 0.0),
        lead(RPU, MATCH), (RPU, MATCH), each=True,
    ),
    claim(
        "rpu-varies-less-than-match", "5", "rPU-VAE's scores vary less than that search's (beyond the paper).",
        "not compared", Rule("standard deviation of rPU-VAE over seeds, over that of the search", "below", 1.0),
        spread(RPU, (MATCH,)), (RPU, MATCH), each=True,
    ),
    claim(
        "rpu-is-close-to-supervised", "5", "rPU-VAE comes close to a population with all labels.",
        "very close; the MIG of Shapes3D has a larger gap (5, figure 4)",
        Rule("mean score of rPU-VAE minus that of PBT-S-VAE (MIG)", "above", -CLOSE),
        lead(RPU, BY_MIG), (RPU, BY_MIG), each=True,
    ),
)  # fmt: skip
LEAVES = (
    claim(
        "leaves-help", "5.1", "More leaf-runs help.",
        "MIG and DCI improve with the number of leaf-runs (5.1, figure 6)",
        Rule("score with the most leaf-runs minus score with none, same seeds", "above", 0.0),
        leaf_gain, (RPU,), each=True,
    ),
    claim(
        "first-leaf-helps-most", "5.1", "The first leaf-run helps most.",
        "the biggest improvement is from 0 to 1 (5.1, figure 6)",
        Rule("gain by the first leaf-run minus the mean gain by each further one, same seeds", "above", 0.0),
        first_leaf_gain, (RPU,), each=True,
    ),
    claim(
        "leaves-steady", "5.1", "The scores vary less with more leaf-runs.",
        "the variance tends to reduce with each leaf-run (5.1, figure 6)",
        Rule("standard deviation over seeds with the most leaf-runs, over that with none", "below", 1.0),
        leaf_spread, (RPU,), each=True,
    ),
)  # fmt: skip
CLAIMS = (*FITNESS, *LABELS, *UDR, *EPOCHS, *COMPARISON, *LEAVES)


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
    "Verdicts follow one rule that was fixed before the results were looked at. Each claim comes down to numbers and "
    "one threshold. A number has a 95 % interval over seeds: Student's for a mean, by pairs where both sides have the "
    "same seeds and so begin with the same weights and hyperparameters, Welch's for two means, that of the F test for "
    "a ratio of standard deviations. A claim holds where every interval is on its side of the threshold, does not hold "
    "where one is wholly on the other, and is inconclusive otherwise, as it is with fewer than "
    f"{SEEDS} seeds. Few seeds leave ratios of deviations wide open: with three against three, one must be six times "
    "the other. They are verdicts on these runs: other data, networks and lengths of training may give others."
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
        _leaf_runs(models), _histories(models),
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
    return in_short(replace(models.table, frame=named), parts, words, RULES, states, by=("approach",))


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
    items += judge(FITNESS, models)
    text = "Which metric should be the fitness of a population that has all labels?"
    return section("3.1 MIG or DCI as fitness", text, items, "no population with labels is finished")


def _labels(models: Models) -> Section:
    remark = (
        "Single few-label VAEs are of several strengths. Selected ones are the best of a random search by the MIG of "
        "other labels, so that they have had twice as many."
    )
    items = _compared(models, "1b", "few labels, and all", FIGURE_1B, [models.first], remark)
    items += judge(LABELS, models)
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
    items += judge(UDR, models)
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
    items += judge(EPOCHS, models)
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
    items += judge(COMPARISON, models)
    text = (
        "Is rPU-VAE better and steadier than other methods without labels? The paper compares it with single models; "
        "beside that, a random search by UDR gets the images that rPU-VAE was trained on."
    )
    return section("5 rPU-VAE beside other methods", text, items, "no model is finished")


def _leaf_runs(models: Models) -> Section:
    items: Items = []
    if models.recursive:
        drawing = partial(figures.leaf_runs, models, models.recursive)
        items.append(Figure("figure_6", "Figure 6: scores by leaf-runs", drawing, paper.NO_NUMBERS))
    caption = "The same metaEpochs, and a last population trained again for each number of leaf-runs."
    items += tabled("table_6", "Figure 6 in numbers", leaf_runs(models), caption)
    items += judge(LEAVES, models)
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
