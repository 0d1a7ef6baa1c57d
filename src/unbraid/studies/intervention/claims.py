"""What the paper says, as rules that a table of runs satisfies or violates. The rules were fixed before the results.

Every claim comes down to numbers and one threshold. A number is known for every data set and seed; its mean over data
sets and seeds has a 95 % interval over seeds (`report.estimates`). Rank correlations are over the models of a data set
and have an interval of their own. The claim holds where every interval lies on the claimed side of the threshold, does
not hold where one lies wholly on the other side, and inconclusive otherwise: nor with fewer than two data sets of
three seeds each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr

from unbraid.report import Claim, Judged, Rule
from unbraid.report.claims import data_sets
from unbraid.report.estimates import LEVEL, Array, Estimate, mean
from unbraid.studies.intervention import paper
from unbraid.studies.intervention.models import (
    CORRELATED,
    DIFFICULT,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    PERMUTED,
    PLAIN,
    WEIGHTED,
    Kind,
    Models,
)

DATA_SETS = 2  # with seeds enough, below which nothing is said in general
KEPT = 0.05  # points of a score, up to which it counts as kept
COMPARABLE = 0.1  # points of a score, up to which two models are comparable
CHANCE = 0.5  # accuracy of whoever cannot tell two kinds of images
NEAR = 0.05  # accuracy above chance, up to which two kinds of images count as one
FEWEST = 5  # models, below which a rank correlation has no interval

Values = Mapping[str, Array]
Judge = Callable[[Models], Judged]


def judged(words: str, said: str, rule: Rule, values: Values) -> Judged:
    """The claim with its verdict, or with what is missing for one; `values` are (data sets, seeds) by name."""
    found = {name: mean(rows) for name, rows in values.items()}
    seeds = max((int(np.isfinite(rows).sum(1).max(initial=0)) for rows in values.values()), default=0)
    sets = max((int(np.isfinite(rows).any(1).sum()) for rows in values.values()), default=0)
    runs = f"{sets} data {'set' if sets == 1 else 'sets'}, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    return Claim[None](
        "", "", words, said, rule, lambda _: found, needs=(data_sets(DATA_SETS),), note=lambda _: runs, form=".3f"
    ).judge(None)


# Tables 1 to 3


def drop(models: Models, kind: Kind, column: str) -> Array:
    """Score with independent factors minus score with correlated ones (data sets, seeds)."""
    return models.scores(column, kind, INDEPENDENT) - models.scores(column, kind, CORRELATED)


def lead(models: Models, kind: Kind, column: str, relation: str) -> Array:
    """How far `intervention` is above another (data sets, seeds)."""
    return models.scores(column, OURS, relation) - models.scores(column, kind, relation)


def mean_of(values: Sequence[Array]) -> Array:
    """The mean of what is known, place by place: CMNIST has SAP alone, and FactorVAE alone beside `intervention`."""
    stacked = np.stack(values)
    count = np.isfinite(stacked).sum(0)
    total = np.nansum(stacked, 0)
    return np.asarray(np.where(count, total / np.maximum(count, 1), np.nan))


def keeps(models: Models) -> Judged:
    return judged(
        "With correlated factors `intervention` keeps its DCI, SAP and IRS.",
        f"{paper.listed({name: paper.drop(OURS.name, [name]) for name in METRICS.values()})} (tables 1 to 3)",
        Rule("score with independent minus score with correlated factors, mean over data sets", "below", KEPT),
        {name: drop(models, OURS, column) for column, name in METRICS.items()},
    )


def others_lose(models: Models) -> Judged:
    said = {kind.name: paper.drop(kind.name) for kind in OTHERS}
    return judged(
        "With correlated factors FactorVAE, β-TCVAE and InfoGAN-CR lose.",
        f"{paper.listed(said)} (tables 1 to 3)",
        Rule(
            "score with independent minus score with correlated factors, mean over metrics and data sets", "above", 0.0
        ),
        {kind.name: mean_of([drop(models, kind, column) for column in METRICS]) for kind in OTHERS},
    )


def loses_less(models: Models) -> Judged:
    ours = {column: drop(models, OURS, column) for column in METRICS}
    said = {kind.name: paper.loses_more(kind.name) for kind in OTHERS}
    return judged(
        "`intervention` loses less than each of the others.",
        f"{paper.listed(said)} (tables 1 to 3)",
        Rule("what another loses minus what `intervention` loses, mean over metrics and data sets", "above", 0.0),
        {kind.name: mean_of([drop(models, kind, c) - ours[c] for c in METRICS]) for kind in OTHERS},
    )


def is_best_when_correlated(models: Models) -> Judged:
    said = {kind.name: paper.lead([kind.name], CORRELATED) for kind in OTHERS}
    return judged(
        "With correlated factors `intervention` is above each of the others.",
        f"{paper.listed(said)} (tables 1 to 3: in almost all cases)",
        Rule("score of `intervention` minus score of another, mean over metrics and data sets", "above", 0.0),
        {kind.name: mean_of([lead(models, kind, column, CORRELATED) for column in METRICS]) for kind in OTHERS},
    )


def is_comparable_when_independent(models: Models) -> Judged:
    others = [kind.name for kind in OTHERS]
    said = {name: paper.lead(others, INDEPENDENT, [name]) for name in METRICS.values()}
    return judged(
        "With independent factors `intervention` is comparable to the others.",
        f"{paper.listed(said)} (tables 1 to 3: in some cases)",
        Rule("score of `intervention` minus the mean of the others, mean over data sets", "within", COMPARABLE),
        {
            name: mean_of([lead(models, kind, column, INDEPENDENT) for kind in OTHERS])
            for column, name in METRICS.items()
        },
    )


# Figure 3


def rank_correlation(pairs: Sequence[tuple[Array, Array]]) -> Estimate:
    """Spearman's correlation, mean over data sets on Fisher's scale, with the interval of Bonett and Wright (2000).

    Models are taken as drawn; without an interval where a data set has fewer than five.
    """
    scaled, variances = [], []
    for first, second in pairs:
        both = np.isfinite(first) & np.isfinite(second)
        a, b = first[both], second[both]
        if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
            continue
        found = float(np.clip(spearmanr(a, b).statistic, -0.999, 0.999))
        scaled.append(math.atanh(found))
        variances.append((1 + found**2 / 2) / (len(a) - 3) if len(a) >= FEWEST else math.nan)
    if not scaled:
        return Estimate(math.nan)
    middle = float(np.mean(scaled))
    half = float(norm.ppf((1 + LEVEL) / 2)) * math.sqrt(sum(variances)) / len(scaled)
    return Estimate(middle, middle - half, middle + half).map(math.tanh)


def correlations(models: Models, relation: str | None) -> dict[str, Estimate]:
    """Of difficulty with each metric, over FactorVAE models of all strengths and seeds, mean over data sets."""
    tables = [models.factor_vaes(data, relation) for data in models.ranked]
    return {name: rank_correlation([pair(table, column) for table in tables]) for column, name in METRICS.items()}


def pair(table: pd.DataFrame, column: str) -> tuple[Array, Array]:
    empty = np.full(len(table), np.nan)
    first, second = (table[name].to_numpy(float) if name in table else empty for name in (DIFFICULT, column))
    return first, second


def _ranks(models: Models, words: str, relation: str | None) -> Judged:
    counts = [len(models.factor_vaes(data, relation)) for data in models.ranked]
    measured = [count for count in counts if count]
    runs = f"{sum(measured)} models of {len(measured)} data {'set' if len(measured) == 1 else 'sets'}"
    return Claim[Models](
        "",
        "",
        words,
        "highly correlated with all of them (figure 3, a picture; both kinds of factors together)",
        Rule("Spearman's correlation of difficulty and score over FactorVAE models, mean over data sets", "below", 0.0),
        lambda models: correlations(models, relation),
        note=lambda _: runs,
    ).judge(models)


def difficulty_ranks(models: Models) -> Judged:
    return _ranks(models, "Translation difficulty ranks models as DCI, SAP and IRS do.", None)


def difficulty_ranks_independent(models: Models) -> Judged:
    return _ranks(models, "It does so among models of independent factors.", INDEPENDENT)


def difficulty_ranks_correlated(models: Models) -> Judged:
    return _ranks(models, "It does so among models of correlated factors.", CORRELATED)


# Proposition 2


def weights_bring_closer(models: Models) -> Judged:
    permuted, weighted = (models.scores(column, OURS, CORRELATED) for column in (PERMUTED, WEIGHTED))
    return judged(
        "W's weights make intervened images harder to tell from reconstructions.",
        "not measured (proposition 2)",
        Rule(
            "accuracy of a new classifier with the weights minus that with the same weights in another order, mean "
            "over data sets", "below", 0.0,
        ),
        {"accuracy": weighted - permuted},
    )


def weights_make_equal(models: Models) -> Judged:
    plain, weighted = (models.scores(column, OURS, CORRELATED) - CHANCE for column in (PLAIN, WEIGHTED))
    return judged(
        "Weighed by W, intervened images are distributed as the data is.",
        "not measured (proposition 2)",
        Rule(
            "accuracy of a new classifier with the weights, above chance, mean over data sets, of the models where it "
            f"is more than {NEAR:g} above chance without them", "below", NEAR,
        ),
        {"above chance": np.where(plain > NEAR, weighted, np.nan)},
    )


SCORES: tuple[Judge, ...] = (
    keeps, others_lose, loses_less, is_best_when_correlated, is_comparable_when_independent
)  # fmt: skip
RANKS: tuple[Judge, ...] = (difficulty_ranks, difficulty_ranks_independent, difficulty_ranks_correlated)
WEIGHTS: tuple[Judge, ...] = (weights_bring_closer, weights_make_equal)
ALL = (*SCORES, *RANKS, *WEIGHTS)


def judge(models: Models, judges: Sequence[Judge]) -> list[Judged]:
    return [judge(models) for judge in judges]
