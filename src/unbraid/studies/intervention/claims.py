"""What the paper says, as claims about the table of models, and what each of them measures.

Arrays are (data sets, seeds). A number is a mean over seeds, and over data sets where a claim says which way a score
goes; where it says that a score stays as it is, or speaks of cases, every data set and metric is a case of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from scipy.stats import rankdata

from unbraid.pictures.names import data_name
from unbraid.report.claims import Claim, Need, Rule, data_sets
from unbraid.report.estimates import SEEDS, Array, Estimate, counted, jackknife, mean, rank_correlation
from unbraid.report.run_table import known_mean
from unbraid.studies.intervention import paper
from unbraid.studies.intervention.models import (
    COLOUR,
    CORRELATED,
    DIFFICULT,
    ERROR,
    EXCESS,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    OVERFIT,
    OVERLAP,
    PERMUTED,
    PLAIN,
    PREDICTABLE,
    RELATIONS,
    SWEPT,
    TARGETED,
    USUAL,
    WEIGHTED,
    Group,
    Models,
)

KEPT = 0.05  # points of a score, up to which it counts as kept
COMPARABLE = 0.1  # points of a score, up to which two models are comparable
MOSTLY = 0.75  # of the cases
CHANCE = 0.5  # accuracy of a classifier that cannot distinguish two kinds of images
NEAR = 0.05  # accuracy above chance, up to which two kinds of images count as one
ALMOST_ALL = 0.9  # of the cases: in the paper's tables 24 of 26
HIGHLY = 0.5  # the size of a rank correlation that is high
SAME = 0.8  # of one between two measurements of the same thing
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


def compared(models: Models) -> list[Group]:
    """The other methods that the study has; all of them where it has no model."""
    planned = [group for group in OTHERS if any(models.planned(group, data) for data in models.data_sets)]
    return planned or list(OTHERS)


def by_group(values: Values) -> Measure:
    """For each of the other methods, the mean over data sets of the mean of the metrics that a data set has."""

    def measure(models: Models) -> Numbers:
        grids = {group: [values(models, group, column) for column in METRICS] for group in compared(models)}
        return {group.name: mean(known_mean(np.stack(each), 0)) for group, each in grids.items()}

    return measure


def kept(models: Models) -> Numbers:
    """What `intervention` loses with correlated factors, by metric and data set."""
    return {
        f"{name} on {data_name(data)}": mean(drop(models, OURS, column)[index])
        for index, data in enumerate(models.data_sets)
        for column, name in models.metrics(data).items()
    }


def leads(relation: str) -> Measure:
    """How far `intervention` is above each other method that a data set has, by metric and data set."""

    def measure(models: Models) -> Numbers:
        return {
            f"{name} on {data_name(data)}, {group.name}": mean(lead(models, group, column, relation)[index])
            for index, data in enumerate(models.data_sets)
            for column, name in models.metrics(data).items()
            for group in OTHERS
            if models.planned(group, data)
        }

    return measure


def correlations(
    models: Models, relations: Sequence[str] = RELATIONS, data: int | None = None, score: str = DIFFICULT
) -> dict[str, Estimate]:  # fmt: skip
    """Of a score with each metric over FactorVAE models of all strengths: mean over data sets, or of one of them."""
    shown = models.ranked if data is None else [data]
    difficulty = models.factor_vaes(score, relations)[shown]
    scores = {name: models.factor_vaes(column, relations)[shown] for column, name in METRICS.items()}
    return {name: rank_correlation(difficulty, values) for name, values in scores.items()}


def robust(models: Models) -> Numbers:
    """Of the difficulty as usual with that by other steps, rates and widths, over the same models."""
    usual = models.factor_vaes(USUAL)[models.ranked]
    named = {column.rpartition(".")[2].replace("_", " "): models.factor_vaes(column)[models.ranked] for column in SWEPT}
    return {name: rank_correlation(usual, values) for name, values in named.items()}


def follows_better(models: Models) -> Numbers:
    """How much closer difficulty follows each metric than variation predictability does, by metric and data set."""
    numbers = {}
    for index in models.ranked:
        difficulty, predictability = (models.factor_vaes(column)[index] for column in (DIFFICULT, PREDICTABLE))
        for column, name in METRICS.items():
            # (settings, seeds, 3)
            values = np.stack([difficulty, predictability, models.factor_vaes(column)[index]], -1)
            numbers[f"{name} on {data_name(models.data_sets[index])}"] = jackknife(_closer, values)
    return numbers or dict.fromkeys(METRICS.values(), Estimate(np.nan))


def _closer(values: Array) -> float:
    """-ρ(difficulty, metric) - ρ(predictability, metric) of values (settings, seeds, 3)."""
    rows = values.reshape(-1, 3)
    rows = rows[np.isfinite(rows).all(1)]
    if len(rows) < 4 or (np.ptp(rows, 0) == 0).any():
        return np.nan
    ranks: Array = np.asarray(np.corrcoef(rankdata(rows, axis=0).T))
    return float(-ranks[0, 2] - ranks[1, 2])


def overfits(models: Models) -> Numbers:
    values = models.factor_vaes(OVERFIT)[models.ranked]
    return {"train − test": mean(known_mean(values, 1)) if values.size else Estimate(np.nan)}


def targets_help(models: Models) -> Numbers:
    """Squared error of `intervention` as written minus that with another target, by target and data set."""
    return {
        f"{group.variant} on {data_name(data)}": mean(
            (models.scores(ERROR, OURS, CORRELATED) - models.scores(ERROR, group, CORRELATED))[index]
        )
        for group in TARGETED
        for index, data in enumerate(models.data_sets)
        if models.planned(group, data)
    }


def _on_shapes(models: Models, column: str) -> Numbers:
    """Of `intervention` minus that of FactorVAE (γ = 40), on the data set of figure 4."""
    ours, factor_vae = (models.scores(column, group, CORRELATED) for group in (OURS, OTHERS[1]))
    shapes = [index for index, data in enumerate(models.data_sets) if paper.DATA.get(data) == "3DShapes"]
    return {"": mean((ours - factor_vae)[shapes[0]]) if shapes else Estimate(np.nan)}


def _on_flowers(models: Models) -> Numbers:
    ours, factor_vae = (models.scores(COLOUR, group, INDEPENDENT) for group in (OURS, OTHERS[1]))
    flowers = [index for index, data in enumerate(models.data_sets) if data == "flowers102"]
    return {"": mean((ours - factor_vae)[flowers[0]]) if flowers else Estimate(np.nan)}


def _need_data(name: str, *data: str) -> Callable[[Models], str | None]:
    """The gate of a claim about a data set, closed where a study with models has none of it."""

    def gate(models: Models) -> str | None:
        missing = models.data_sets and not set(data) & set(models.data_sets)
        return f"no model is trained on {name}" if missing else None

    return gate


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


Printed = Callable[[str, Iterable[str]], float]


def _said(values: Printed, data_sets: Iterable[str]) -> dict[str, float]:
    return {group.name: values(group.name, data_sets) for group in OTHERS}


def _said_of(values: Printed) -> Callable[[Models], dict[str, float]]:
    """What the paper printed, over the data sets that the table has: on CMNIST effects are several times as large."""
    return lambda models: _said(values, models.data_sets)


def _said_in_words(values: Printed) -> str:
    two, three = (_said(values, data) for data in (("dsprites", "shapes3d"), ()))
    more = {name: value for name, value in three.items() if value != two[name]}
    return f"dSprites and 3D Shapes: {paper.listed(two)}; with CMNIST: {paper.listed(more)} (tables 1 to 3)"


def _said_leads() -> dict[str, float]:
    """How far `intervention` is above each other method with correlated factors, by the names of `leads`."""
    printed = {}
    for data, metric, group in product(paper.DATA, METRICS.values(), OTHERS):
        ours, other = (paper.said(data, name, CORRELATED, metric) for name in (paper.OURS, group.name))
        if ours is not None and other is not None:
            printed[f"{metric} on {data_name(data)}, {group.name}"] = ours - other
    return printed


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


def _best_in_paper() -> str:
    leads = [
        value for rows in paper.TABLES.values() for group in OTHERS
        for value in paper.leads(rows, group.name, CORRELATED)
    ]  # fmt: skip
    above = sum(value > 0 for value in leads)
    entry = paper.interval(OTHERS[1].name, CORRELATED)
    return (
        f"in almost all cases: {above} of {len(leads)} differences above 0 (tables 1 to 3); on CMNIST over "
        f"{OTHERS[1].name} {entry.text()}, from its deviations over ten runs"
    )


SCORES: tuple[Claim[Models], ...] = (
    Claim(
        "keeps", "5.4", "With correlated factors `intervention` keeps its DCI, SAP and IRS.", _kept_in_paper(),
        Rule(
            "score with independent minus score with correlated factors, by metric and data set", "below", KEPT, MOSTLY
        ),
        kept, needs=(TWO_OF_OURS,), form=".3f",
    ),
    Claim(
        "others-lose", "5.4", "With correlated factors FactorVAE, β-TCVAE and InfoGAN-CR lose.",
        _said_in_words(paper.drop),
        Rule(
            "score with independent minus score with correlated factors, mean over metrics and data sets", "above", 0.0
        ),
        by_group(drop), needs=(TWO_DATA_SETS,), form=".3f", printed=_said_of(paper.drop),
    ),
    Claim(
        "loses-less", "5.4", "`intervention` loses less than each of the others.",
        _said_in_words(paper.loses_more),
        Rule("what another loses minus what `intervention` loses, mean over metrics and data sets", "above", 0.0),
        by_group(loses_more), needs=(TWO_DATA_SETS,), form=".3f", printed=_said_of(paper.loses_more),
    ),
    Claim(
        "best-when-correlated", "5.4",
        "With correlated factors `intervention` is above the others in almost all cases.",
        _best_in_paper(),
        Rule(
            "score of `intervention` minus score of another, by metric, data set and method", "above", 0.0, ALMOST_ALL
        ),
        leads(CORRELATED), needs=(TWO_OF_OURS,), form=".3f", printed=_said_leads(),
    ),
    Claim(
        "comparable-when-independent", "5.4", "With independent factors `intervention` is comparable to the others.",
        _comparable_in_paper(),
        Rule(
            "score of `intervention` minus score of another, by metric, data set and method", "within", COMPARABLE,
            MOSTLY,
        ),
        leads(INDEPENDENT), needs=(TWO_OF_OURS,), form=".3f",
    ),
)  # fmt: skip


def _ranks(key: str, words: str, *relations: str, score: str = DIFFICULT) -> Claim[Models]:
    def note(models: Models) -> str:
        counts = count(models, relations)
        return f"{sum(counts.values())} models of {len(counts)} data set{'' if len(counts) == 1 else 's'}"

    what = "difficulty" if score == DIFFICULT else "its excess over the entropy of the images"
    said = "highly correlated with all of them (figure 3, a picture; both kinds of factors together)"
    return Claim(
        key, "5.3", words, said if score == DIFFICULT else "not asked",
        Rule(f"rank correlation of {what} and score over FactorVAE models, mean over data sets", "below", -HIGHLY),
        lambda models: correlations(models, relations, score=score), note=note,
    )  # fmt: skip


_WITHIN = "Within models of {} factors"
RANKS: tuple[Claim[Models], ...] = (
    _ranks("ranks", "Translation difficulty ranks models as DCI, SAP and IRS do.", *RELATIONS),
    _ranks("ranks-independent", f"{_WITHIN.format(INDEPENDENT)} it does so too.", INDEPENDENT),
    _ranks("ranks-correlated", f"{_WITHIN.format(CORRELATED)} it does so too.", CORRELATED),
    _ranks("excess-ranks", "Its excess over the entropy of what is drawn ranks models so.", *RELATIONS, score=EXCESS),
    _ranks(
        "excess-ranks-independent", f"{_WITHIN.format(INDEPENDENT)} the excess does so too.", INDEPENDENT, score=EXCESS
    ),
    _ranks(
        "excess-ranks-correlated", f"{_WITHIN.format(CORRELATED)} the excess does so too.", CORRELATED, score=EXCESS
    ),
    Claim(
        "robust",
        "6",
        "The metric is robust to hyperparameters.",
        "said without numbers (section 6)",
        Rule(
            "rank correlation over FactorVAE models of difficulty as usual with that by half and twice the steps, rate "
            "and width, mean over data sets",
            "above",
            SAME,
        ),
        robust,
    ),
    Claim(
        "follows-better",
        "3",
        "It follows the metrics better than variation predictability (Zhu et al. 2020) does.",
        "said without numbers (section 3)",
        Rule(
            "size of difficulty's rank correlation with a metric minus that of predictability, by metric and data set",
            "above",
            0.0,
            MOSTLY,
        ),
        follows_better,
    ),
    Claim(
        "prediction-overfits",
        "4",
        "Predicting which feature was changed is easy to overfit.",
        "said without numbers (sections 3 and 4)",
        Rule("accuracy of the prediction on its own pairs minus that on others, mean over data sets", "above", NEAR),
        overfits,
        form=".3f",
    ),
)
FIGURES: tuple[Claim[Models], ...] = (
    Claim(
        "separates-the-correlated", "5.4",
        "On 3D Shapes `intervention` has codes of their own for the two correlated hues, FactorVAE (γ = 40) has not.",
        "a picture of the best model of each (figure 4)",
        Rule(
            "share of importance that the two hues have in the same codes, `intervention` minus FactorVAE (γ = 40)",
            "below", 0.0,
        ),
        partial(_on_shapes, column=OVERLAP), gate=_need_data("3D Shapes", "shapes3d", "shapes3d_official"), form=".3f",
    ),
    Claim(
        "neighbours-have-a-colour", "5.5",
        "Neighbours by a feature of `intervention` have a colour in common on flowers, those of FactorVAE have not.",
        "a picture of three queries (figure 5)",
        Rule(
            "distance of mean colours of neighbours by the best feature over that of any images, `intervention` minus "
            "FactorVAE (γ = 40)", "below", 0.0,
        ),
        _on_flowers, gate=_need_data("Oxford Flowers", "flowers102"), form=".3f",
    ),
)  # fmt: skip
TARGET: tuple[Claim[Models], ...] = (
    Claim(
        "written-blurs", "beyond",
        "Where the target of the difficulty does not move, or only its excess counts, images are nearer the truth.",
        "not asked: the text leaves open what L_diff moves",
        Rule("squared error as written minus that with another target, on correlated factors", "above", 0.0, MOSTLY),
        targets_help, form=".4f",
    ),
)  # fmt: skip
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
CLAIMS = (*RANKS, *SCORES, *FIGURES, *WEIGHTS, *TARGET)
