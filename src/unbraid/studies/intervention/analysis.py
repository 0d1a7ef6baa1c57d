"""What the models of the study show: the paper's claims, tables 1 to 3, figures 3 to 6, and more.

Arrays are (data sets, seeds). A number is a mean over seeds, and over data sets where a claim says which way a score
goes; where it says that a score stays as it is, every data set and metric is a case of its own.
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
from unbraid.report import Figure, Section
from unbraid.report.claims import Claim, Need, Rule, data_sets, judge
from unbraid.report.estimates import SEEDS, Array, Estimate, average, counted, mean, rank_correlation
from unbraid.report.run_table import RunTable, known_mean, numbers
from unbraid.report.sections import Items, cell, in_short, pictured, section, tabled
from unbraid.studies.intervention import figures, paper
from unbraid.studies.intervention.models import (
    ABLATED,
    APART,
    CANDIDATE,
    CHOOSING,
    COMPARED,
    CORRELATED,
    DIFFICULT,
    ERROR,
    INDEPENDENT,
    METRICS,
    NAMES,
    OTHERS,
    OURS,
    PERMUTED,
    PLAIN,
    RELATIONS,
    RIVAL,
    SHARE,
    WEIGHTED,
    Group,
    Models,
    table,
)

__all__ = ["CLAIMS", "report", "table"]

# What the claims measure

KEPT = 0.05  # points of a score, up to which it counts as kept
COMPARABLE = 0.1  # points of a score, up to which two models are comparable
MOSTLY = 0.75  # of the cases
CHANCE = 0.5  # accuracy of a classifier that cannot distinguish two kinds of images
NEAR = 0.05  # accuracy above chance, up to which two kinds of images count as one
Numbers = Mapping[str, Estimate]
Measure = Callable[[Models], Numbers]
Values = Callable[[Models, Group, str], Array]


def drop(models: Models, group: Group, column: str) -> Array:
    """Score with independent factors minus score with correlated ones (data sets, seeds)."""
    return models.scores(column, group, INDEPENDENT) - models.scores(column, group, CORRELATED)


def lead(models: Models, group: Group, column: str, relation: str) -> Array:
    """How far `intervention` is above another (data sets, seeds)."""
    return models.scores(column, OURS, relation) - models.scores(column, group, relation)


def lead_correlated(models: Models, group: Group, column: str) -> Array:
    return lead(models, group, column, CORRELATED)


def loses_more(models: Models, group: Group, column: str) -> Array:
    """How much more another loses than `intervention`."""
    return drop(models, group, column) - drop(models, OURS, column)


def by_group(values: Values) -> Measure:
    """For each of the other methods, the mean over data sets of the mean of the metrics that a data set has."""

    def measure(models: Models) -> Numbers:
        grids = {group: [values(models, group, column) for column in METRICS] for group in OTHERS}
        return {group.name: mean(known_mean(np.stack(each), 0)) for group, each in grids.items()}

    return measure


def kept(models: Models) -> Numbers:
    """What `intervention` loses with correlated factors, by metric and data set."""
    return {
        f"{name} on {data_name(data)}": mean(drop(models, OURS, column)[index])
        for index, data in enumerate(models.data_sets)
        for column, name in models.metrics(data).items()
    }


def leads_independent(models: Models) -> Numbers:
    """How far `intervention` is above each other method that a data set has, by metric and data set."""
    return {
        f"{name} on {data_name(data)}, {group.name}": mean(lead(models, group, column, INDEPENDENT)[index])
        for index, data in enumerate(models.data_sets)
        for column, name in models.metrics(data).items()
        for group in OTHERS
        if models.planned(group, data)
    }


def correlations(models: Models, relations: Sequence[str] = RELATIONS, data: int | None = None) -> dict[str, Estimate]:
    """Of difficulty with each metric over FactorVAE models of all strengths: mean over data sets, or of one of them."""
    shown = models.ranked if data is None else [data]
    difficulty = models.factor_vaes(DIFFICULT, relations)[shown]
    scores = {name: models.factor_vaes(column, relations)[shown] for column, name in METRICS.items()}
    return {name: rank_correlation(difficulty, values) for name, values in scores.items()}


def count(models: Models, relations: Sequence[str] = RELATIONS) -> dict[int, int]:
    """The data sets of figure 3, by their index, with the number of their FactorVAE models."""
    sizes = np.isfinite(models.factor_vaes(DIFFICULT, relations)).sum((1, 2))
    return {index: int(sizes[index]) for index in models.ranked if sizes[index]}


def weights_help(models: Models) -> Numbers:
    weighted, permuted = (models.scores(column, OURS, CORRELATED) for column in (WEIGHTED, PERMUTED))
    return {"accuracy": mean(weighted - permuted)}


def weighted_above_chance(models: Models) -> Numbers:
    plain, weighted = (models.scores(column, OURS, CORRELATED) - CHANCE for column in (PLAIN, WEIGHTED))
    return {"above chance": mean(np.where(plain > NEAR, weighted, np.nan))}


# The claims. Their rules were fixed before the results.


def _seeded(models: Models, _: Numbers) -> int:
    return max(counted(models.scores(column, OURS, INDEPENDENT)) for column in METRICS)


TWO_DATA_SETS = data_sets(2)  # for means over data sets
TWO_OF_OURS = Need(2, f"data sets with {SEEDS} seeds", _seeded)  # for cases


def _said(values: Callable[[str], float]) -> str:
    return paper.listed({group.name: values(group.name) for group in OTHERS})


def _kept_in_paper() -> str:
    drops = {
        f"{name} on {data}": row["independent"][name] - row["correlated"][name]
        for data, rows in paper.TABLES.items()
        for row in [rows[paper.OURS]]
        for name in row["independent"]
    }
    most = max(drops, key=lambda case: drops[case])
    return f"at most {drops[most]:.2f}, {most}; {len(drops)} cases (tables 1 to 3)"


def _comparable_in_paper() -> str:
    leads = [
        value for rows in paper.TABLES.values() for group in OTHERS
        for value in paper.leads(rows, group.name, INDEPENDENT)
    ]  # fmt: skip
    within = sum(abs(value) < COMPARABLE for value in leads)
    return f"{within} of {len(leads)} differences within ±{COMPARABLE:g} (tables 1 to 3: in some cases)"


SCORES: tuple[Claim[Models], ...] = (
    Claim(
        "keeps", "5.4", "With correlated factors `intervention` keeps its DCI, SAP and IRS.", _kept_in_paper(),
        Rule("score with independent minus score with correlated factors, by metric and data set", "below", KEPT),
        kept, needs=(TWO_OF_OURS,), form=".3f",
    ),
    Claim(
        "others-lose", "5.4", "With correlated factors FactorVAE, β-TCVAE and InfoGAN-CR lose.",
        f"{_said(paper.drop)} (tables 1 to 3)",
        Rule(
            "score with independent minus score with correlated factors, mean over metrics and data sets", "above", 0.0
        ),
        by_group(drop), needs=(TWO_DATA_SETS,), form=".3f",
    ),
    Claim(
        "loses-less", "5.4", "`intervention` loses less than each of the others.",
        f"{_said(paper.loses_more)} (tables 1 to 3)",
        Rule("what another loses minus what `intervention` loses, mean over metrics and data sets", "above", 0.0),
        by_group(loses_more), needs=(TWO_DATA_SETS,), form=".3f",
    ),
    Claim(
        "best-when-correlated", "5.4", "With correlated factors `intervention` is above each of the others.",
        f"{_said(partial(paper.lead, relation=CORRELATED))} (tables 1 to 3: in almost all cases)",
        Rule("score of `intervention` minus score of another, mean over metrics and data sets", "above", 0.0),
        by_group(lead_correlated), needs=(TWO_DATA_SETS,), form=".3f",
    ),
    Claim(
        "comparable-when-independent", "5.4", "With independent factors `intervention` is comparable to the others.",
        _comparable_in_paper(),
        Rule(
            "score of `intervention` minus score of another, by metric, data set and method", "within", COMPARABLE,
            MOSTLY,
        ),
        leads_independent, needs=(TWO_OF_OURS,), form=".3f",
    ),
)  # fmt: skip


def _ranks(key: str, words: str, *relations: str) -> Claim[Models]:
    def note(models: Models) -> str:
        counts = count(models, relations)
        return f"{sum(counts.values())} models of {len(counts)} data set{'' if len(counts) == 1 else 's'}"

    return Claim(
        key, "5.3", words, "highly correlated with all of them (figure 3, a picture; both kinds of factors together)",
        Rule("Spearman's correlation of difficulty and score over FactorVAE models, mean over data sets", "below", 0.0),
        lambda models: correlations(models, relations), note=note,
    )  # fmt: skip


RANKS = (
    _ranks("ranks", "Translation difficulty ranks models as DCI, SAP and IRS do.", *RELATIONS),
    _ranks("ranks-independent", "It does so among models of independent factors.", INDEPENDENT),
    _ranks("ranks-correlated", "It does so among models of correlated factors.", CORRELATED),
)
WEIGHTS: tuple[Claim[Models], ...] = (
    Claim(
        "weights-help", "Proposition 2", "W's weights make intervened images harder to tell from reconstructions.",
        "not measured (proposition 2)",
        Rule(
            "accuracy of a new classifier with the weights minus that with the same weights in another order, mean "
            "over data sets", "below", 0.0,
        ),
        weights_help, needs=(TWO_DATA_SETS,), form=".3f",
    ),
    Claim(
        "weights-make-equal", "Proposition 2", "Weighed by W, intervened images are distributed as the data is.",
        "not measured (proposition 2)",
        Rule(
            "accuracy of a new classifier with the weights, above chance, mean over data sets, of the models where it "
            f"is more than {NEAR:g} above chance without them", "below", NEAR,
        ),
        weighted_above_chance, needs=(TWO_DATA_SETS,), form=".3f",
    ),
)  # fmt: skip
CLAIMS = (*RANKS, *SCORES, *WEIGHTS)


# Tables

Rows = list[dict[str, Any]]


def score_table(models: Models, data: str) -> pd.DataFrame:
    """Tables 1 to 3: one row per model, and below it the paper's."""
    index, rows = models.data_sets.index(data), Rows()
    for group in COMPARED:
        ours, theirs = {}, {}
        for relation in RELATIONS:
            for column, metric in models.metrics(data).items():
                head = f"{relation} {metric}"
                ours[head] = cell(models.scores(column, group, relation)[index], ".3f", 0.0, 1.0)
                theirs[head] = paper.cell(data, group.name, relation, metric)
            if models.has(APART, data):
                ours[f"{relation} apart"] = cell(models.scores(APART, group, relation)[index], ".2f", 0.0, 1.0)
        if any(ours.values()):
            rows.append({"model": group.name, "": "here", **ours})
            if any(theirs.values()):
                rows.append({"model": group.name, "": "paper", **theirs})
    return pd.DataFrame(rows)


def _rows(models: Models, groups: Sequence[Group], cells: Callable[[Group, int], Mapping[str, str]]) -> pd.DataFrame:
    """One row per data set and group of which any number of ours is known."""
    rows: Rows = []
    for (index, data), group in itertools.product(enumerate(models.data_sets), groups):
        shown = cells(group, index)
        if any(value for name, value in shown.items() if "(paper)" not in name):
            rows.append({"data": data_name(data), "model": group.name, **shown})
    return pd.DataFrame(rows).fillna("")


def drop_table(models: Models) -> pd.DataFrame:
    """What each model loses with correlated factors."""

    def cells(group: Group, index: int) -> dict[str, str]:
        shown = {}
        for column, metric in METRICS.items():
            shown[metric] = cell(drop(models, group, column)[index])
            said = [paper.said(models.data_sets[index], group.name, relation, metric) for relation in RELATIONS]
            both = [value for value in said if value is not None]
            shown[f"{metric} (paper)"] = f"{both[0] - both[1]:.2f}".replace("-", "−") if len(both) == 2 else ""
        return shown

    return _rows(models, list(dict.fromkeys([*models.strengths, *COMPARED])), cells)


def difficulty_table(models: Models) -> pd.DataFrame:
    """Translation difficulty of every model that decodes, with the error of its reconstructions."""

    def cells(group: Group, index: int) -> dict[str, str]:
        return {
            f"{relation} {name}": cell(models.scores(column, group, relation)[index], form, 0.0)
            for relation in RELATIONS
            for name, column, form in (("difficulty", DIFFICULT, ".1f"), ("squared error", ERROR, ".4f"))
        }

    return _rows(models, (*COMPARED, *RIVAL), cells)


def rank_table(models: Models) -> pd.DataFrame:
    """Figure 3 in numbers: Spearman's correlation of difficulty with each score, by data set and over all."""
    rows: Rows = []
    for name, relations in (("both", RELATIONS), *((relation, (relation,)) for relation in RELATIONS)):
        counts = count(models, relations)
        lines = [(index, data_name(models.data_sets[index]), size) for index, size in counts.items()]
        for index, data, size in [*lines, *([(None, "mean", sum(counts.values()))] if len(lines) > 1 else [])]:
            entries = correlations(models, relations, index)
            cells = {metric: cell(entry, ".2f") for metric, entry in entries.items()}
            rows.append({"factors": name, "data": data, "models": size, **cells})
    return pd.DataFrame(rows)


def candidate_table(models: Models) -> pd.DataFrame:
    """λ₁ and λ₂ that were tried, their difficulty on training images, and which were chosen."""
    weights, rows = ["settings.lambda_1", "settings.lambda_2"], Rows()
    tried = models.table.where(method=OURS.method, variant=CANDIDATE)
    if CHOOSING not in tried:
        return pd.DataFrame()
    errors = numbers(tried[ERROR]) if ERROR in tried else math.nan
    tried = tried.assign(difficulty=numbers(tried[CHOOSING]), error=errors)
    for data in models.data_sets:
        taken = models.rows(OURS, data)[weights]
        for pair, own in tried[tried["data"] == data].groupby(weights):
            rows.append({
                "data": data_name(data), "λ₁": pair[0], "λ₂": pair[1], "difficulty": average(own["difficulty"]),
                "squared error": average(own["error"]),
                "chosen": "yes" if (taken == list(pair)).all(axis=1).any() else "",
                "paper's choice": "yes" if paper.CHOSEN.get(paper.DATA.get(data, "")) == pair else "",
            })  # fmt: skip
    return pd.DataFrame(rows)


def beyond_table(models: Models, groups: Sequence[Group], needed: Sequence[Group]) -> pd.DataFrame:
    """Scores with correlated factors of `intervention` and of these groups, and how far each is from it.

    Of data sets with models that are needed.
    """
    scores = partial(models.scores, relation=CORRELATED)

    def cells(group: Group, index: int) -> dict[str, str]:
        if not any(len(models.rows(one, models.data_sets[index])) for one in needed):
            return {}
        shown = {}
        for column, metric in METRICS.items():
            values = scores(column, group)[index]
            shown[metric] = cell(values, ".3f", 0.0, 1.0)
            if group != OURS:
                shown[f"{metric}, minus {OURS.name}"] = cell(values - scores(column, OURS)[index])
        shown["difficulty"] = cell(scores(DIFFICULT, group)[index], ".1f", 0.0)
        shown["squared error"] = cell(scores(ERROR, group)[index], ".4f", 0.0)
        return shown

    return _rows(models, (OURS, *groups), cells)


def two_sample_table(models: Models) -> pd.DataFrame:
    """How often a new classifier tells intervened images from reconstructions, with W's weights and without."""
    rows: Rows = []
    for (index, data), group, relation in itertools.product(enumerate(models.data_sets), (OURS, *ABLATED), RELATIONS):
        plain, weighted, permuted, share = (
            models.scores(name, group, relation)[index] for name in (PLAIN, WEIGHTED, PERMUTED, SHARE)
        )
        if np.isfinite(plain).any():
            rows.append({
                "data": data_name(data), "model": group.name, "factors": relation,
                "accuracy without weights": cell(plain, ".3f", 0.0, 1.0),
                "with weights": cell(weighted, ".3f", 0.0, 1.0),
                "with weights in another order": cell(permuted, ".3f", 0.0, 1.0),
                "difference of these two": cell(weighted - permuted),
                "effective share": f"{average(share):.2f}",
            })  # fmt: skip
    return pd.DataFrame(rows)


def states(models: Models) -> pd.DataFrame:
    """How many models of each group and relation are done, of those there are."""
    known = models.table.known
    if known.empty:
        return pd.DataFrame()
    order = {name: index for index, name in enumerate(NAMES)}
    columns = known[["method", "variant", "relation"]].itertuples(index=False, name=None)
    groups = [(Group(str(method), str(variant)), str(relation)) for method, variant, relation in columns]
    ranked = sorted(set(groups), key=lambda one: (order.get(one[0].method, len(order)), one[0].variant, one[1]))
    counts = RunTable(known.assign(model=[f"{group.name}, {relation}" for group, relation in groups]))
    frame = counts.states("model", "data", data_name).set_index("model")
    frame = frame.loc[[f"{group.name}, {relation}" for group, relation in ranked]].reset_index(drop=True)
    frame.insert(0, "model", [group.name for group, _ in ranked])
    frame.insert(1, "factors", [relation for _, relation in ranked])
    return frame


# The report

RULES = (
    "Verdicts follow rules that were fixed before the results were looked at. Each claim comes down to numbers that "
    "every data set and seed gives, such as a difference of two scores, and one threshold. A number has a 95 % "
    "interval, Student's t over seeds; data sets are taken as given. A claim holds where every interval is on its side "
    "of the threshold, does not hold where one is wholly on the other, and is inconclusive otherwise, as it is with "
    f"fewer than two data sets with {SEEDS} seeds each. A score is kept that falls by less than {KEPT:g} on each data "
    f"set; models are comparable where at least {MOSTLY:.0%} of the differences are within {COMPARABLE:g}. Rank "
    "correlations have intervals over the seeds of each setting. They are verdicts on these runs: other networks, "
    "images and lengths of training may give others."
)
BRACKETS = "Brackets are 95 % t intervals over seeds."
HELD_OUT = "Scores are of held-out rows, whose factors are independent."
CORRELATED_ONLY = f"Trained on correlated factors. {HELD_OUT} {BRACKETS}"
APART_MEANS = (
    "Apart: the share of models in which one feature tells the one factor best and another the other; SAP does not see "
    "that one feature tells both."
)


def report(runs: RunTable) -> list[Section]:
    """The sections of the report."""
    models = Models(runs)
    parts = [_data(models), _difficulty(models), _scores(models), _codes(models), _weights(models), _beyond(models)]
    return [_summary(models, parts), *parts]


def _summary(models: Models, parts: Sequence[Section]) -> Section:
    words = (
        f"{len(models.data_sets)} data sets, {len(models.table.seeds)} seeds. The paper has dSprites, 3D Shapes, "
        "CMNIST and Oxford Flowers, and repeats each model 10 times."
    )
    return in_short(models.table, parts, words, RULES, states(models))


def _data(models: Models) -> Section:
    faults: list[str] = []
    caption = "Counts of training rows, the highest as 1. The paper's figure has no numbers; these are bands."
    title = "Figure 6: joint distribution of the correlated factors"
    items = pictured(models.table, "figure_6", title, partial(figures.joints, models), caption, faults)
    words = "How training sets with correlated factors are drawn. Those with independent factors have the same size."
    missing = "; ".join(faults) or "no model of correlated factors is finished"
    return section("5.1 Data", words, items, missing)


def _difficulty(models: Models) -> Section:
    items: Items = []
    if models.ranked:
        caption = (
            "In hundredths, over FactorVAE models of all strengths, seeds and both kinds of factors. A low difficulty "
            "is good, so that a metric that agrees with the others is blue in the first row."
        )
        title = "Figure 3: rank correlations of difficulty and scores"
        items.append(Figure("figure_3", title, partial(figures.rank_matrices, models), caption))
        caption = "One dot per FactorVAE, larger for a higher γ."
        items.append(Figure("scatter", "The models behind figure 3", partial(figures.rank_scatter, models), caption))
    caption = "Spearman's correlation of difficulty with each score. Brackets are 95 % intervals over seeds."
    items += tabled("ranks", "Figure 3 in numbers", rank_table(models), caption)
    caption = (
        f"In nats per image, on held-out rows; lower is better. {BRACKETS} Its floor is the entropy of the images, so "
        "it compares models of one data set whose reconstructions are alike."
    )
    items += tabled("difficulty", "Translation difficulty of all models", difficulty_table(models), caption)
    items += judge(RANKS, models)
    words = (
        "Does the difficulty of translating one value of a feature into another rank models as scores with factors do?"
    )
    return section("5.3 Translation difficulty", words, items, "no finished model has a translation difficulty")


def _scores(models: Models) -> Section:
    items: Items = []
    if any(models.metrics(data) for data in models.data_sets):
        caption = (
            f"{HELD_OUT} Dots are means over seeds, faint dots the seeds, lines 95 % t intervals. Higher is better."
        )
        items.append(Figure("scores", "Tables 1 to 3 as a figure", partial(figures.scores, models), caption))
    for data in models.data_sets:
        number = paper.NUMBERS.get(paper.DATA.get(data, ""))
        title = f"{f'Table {number}' if number else 'Not in the paper'}: scores on {data_name(data)}"
        caption = f"{HELD_OUT} {BRACKETS} {APART_MEANS if models.has(APART, data) else ''}".rstrip()
        items += tabled(f"table_{data}", title, score_table(models, data), caption)
    caption = f"Score with independent minus score with correlated factors. {BRACKETS}"
    items += tabled("drops", "What correlated factors cost", drop_table(models), caption)
    caption = (
        "Mean translation difficulty on training images of models without `difficulty`, trained on correlated factors. "
        "The easiest is chosen for all models of `intervention` on a data set."
    )
    items += tabled("choice", "Appendix C: the choice of λ₁ and λ₂", candidate_table(models), caption)
    items += judge(SCORES, models)
    words = "Which methods still disentangle if two factors of the training images are correlated?"
    return section("5.4 Scores", words, items, "no finished model has scores")


def _codes(models: Models) -> Section:
    items: Items = []
    faults: list[str] = []
    best = "For each method, the model of correlated factors with the best DCI."
    for data in models.data_sets:
        name, draw = data_name(data), partial(pictured, models.table)
        number = "Figure 4" if paper.DATA.get(data) == "3DShapes" else "As figure 4"
        if (drawing := figures.importances(models, data)) is not None:
            title = f"{number} (a): importance of codes for factors, {name}"
            items.append(Figure(f"importance_{data}", title, drawing, f"{best} Correlated factors are red."))
        caption = f"{best} Beside each code the factor that it is most important for."
        title = f"{number} (b): traversals, {name}"
        items += draw(f"traversals_{data}", title, partial(figures.traversals, models, data), caption, faults)
        title = f"{'Figure 5' if data == 'flowers102' else 'As figure 5'}: neighbours by feature, {name}"
        items += draw(f"neighbours_{data}", title, partial(figures.neighbours, models, data), "", faults)
        title = f"Features exchanged, {name}"
        items += draw(f"exchanges_{data}", title, partial(figures.exchanges, models, data), "", faults)
    words = "What do single features hold?"
    if faults:
        words += " Could not be shown: " + "; ".join(faults) + "."
    return section("5.4 Codes", words, items, "; ".join(faults) or "no model of figure 4 or 5 is finished")


def _weights(models: Models) -> Section:
    items: Items = []
    if any(models.has(PLAIN, data) for data in models.data_sets):
        caption = "One line per seed: the accuracy of a new classifier on images that it has not seen; chance is 0.5."
        title = "Telling intervened images from reconstructions, without and with W's weights"
        items.append(Figure("two_samples", title, partial(figures.two_samples, models), caption))
    caption = (
        f"{BRACKETS} With weights, an intervened image counts as often as W says, in training and in testing. The "
        "effective share says how many of the weighted images count: (Σw)² / (n Σw²)."
    )
    items += tabled("told_apart", "The two-sample test", two_sample_table(models), caption)
    items += judge(WEIGHTS, models)
    words = (
        "Do W's weights bring intervened images to the distribution of the data? A network that was not part of the "
        "training learns to tell the two; both are drawn from training rows, whose distribution W is to restore."
    )
    return section("Proposition 2", words, items, "no finished model of `intervention` has been examined")


def _beyond(models: Models) -> Section:
    title = "Ablations: `intervention` without a part of its loss"
    items = tabled("ablations", title, beyond_table(models, ABLATED, ABLATED), CORRELATED_ONLY)
    caption = f"{CORRELATED_ONLY} Ada-GVAE learns from pairs that differ in one factor; no other method has such pairs."
    rivals = beyond_table(models, (*RIVAL, *OTHERS), RIVAL)
    items += tabled("rivals", "Other methods for correlated factors", rivals, caption)
    words = (
        "What does each loss contribute, with λ₁ and λ₂ as chosen for the whole? And how do two later methods fare on "
        "the same correlated data: weak pairs (Ada-GVAE), and a factorized support (Hausdorff)?"
    )
    return section("Beyond the paper", words, items, "no ablation and no other method is finished")
