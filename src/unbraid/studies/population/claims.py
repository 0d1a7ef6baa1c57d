"""What the paper says, as rules that tables of runs satisfy or violate. The rules were fixed before the results.

Every claim comes down to numbers with 95 % intervals over seeds, and one threshold. It holds where every interval lies
on the claimed side, does not hold where one lies wholly on the other side, and inconclusive otherwise: nor where a
number is missing or has fewer than three seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from unbraid.pictures.style import data_name
from unbraid.report import Claim, Judged, Rule
from unbraid.report.estimates import Array, Estimate, difference, mean, spread_ratio
from unbraid.studies.population import paper
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    BY_UDR,
    CHOSEN_FEW,
    FOUND,
    MATCH,
    METRICS,
    MIG,
    NAMES,
    RPU,
    SEARCH_FEW,
    Models,
)
from unbraid.studies.population.study import FEW, SIX

CLOSE = 0.05  # scores that far apart are alike

Numbers = Mapping[str, Estimate]
Judge = Callable[[Models], Judged]


def judged(words: str, said: str, rule: Rule, numbers: Numbers, runs: str) -> Judged:
    return Claim[None]("", "", words, said, rule, lambda _: numbers, note=lambda _: runs, form=".3f").judge(None)


def _first(models: Models) -> str:
    """The data set of figures 1 and 2."""
    return next(iter(models.data_sets), "dsprites")


def _counts(models: Models, data: str, *approaches: str) -> str:
    """How many models of each."""
    found = [f"{len(models.of_approach(name, data))} × {NAMES.get(name, name)}" for name in approaches]
    return "n = " + ", ".join(found)


def paired(models: Models, first: str, second: str, columns: Sequence[str] = tuple(METRICS)) -> dict[str, Estimate]:
    """How far the first's scores are above the second's with the same seed, by metric."""
    data = _first(models)
    return {METRICS[column]: mean(models.gains(first, second, data, column)) for column in columns}


# Figure 1


def mig_beats_dci(models: Models) -> Judged:
    return judged(
        "Populations whose fitness is MIG reach a higher MIG than populations whose fitness is DCI disentanglement.",
        "higher on dSprites, five seeds each (3.1, figure 1a)",
        Rule("MIG of populations by MIG minus MIG of populations by DCI, same seeds", "above", 0.0),
        paired(models, BY_MIG, BY_DCI, (MIG,)),
        _counts(models, _first(models), BY_MIG, BY_DCI),
    )


def mig_varies_less(models: Models) -> Judged:
    data = _first(models)
    return judged(
        "Their MIG also varies less.",
        "lower variance (3.1, figure 1a)",
        Rule("standard deviation of MIG over seeds, by MIG over by DCI", "below", 1.0),
        {"ratio": spread_ratio(models.scores(BY_MIG, data, MIG), models.scores(BY_DCI, data, MIG))},
        _counts(models, data, BY_MIG, BY_DCI),
    )


def mig_does_as_well_by_dci(models: Models) -> Judged:
    return judged(
        "They do as well by DCI disentanglement as populations whose fitness it is.",
        "similarly well (3.1); better by both metrics (figure 1's caption)",
        Rule("DCI of populations by MIG minus DCI of populations by DCI, same seeds", "above", -CLOSE),
        paired(models, BY_MIG, BY_DCI, tuple(METRICS)[1:]),
        _counts(models, _first(models), BY_MIG, BY_DCI),
    )


def pbt_beats_selection(models: Models) -> Judged:
    return judged(
        "With few labels, a population beats the choice of the best among models trained without copying.",
        "clearly higher mean MIG and DCI, 1,000 labels (3.2, figure 1b)",
        Rule("score of the population minus score of the best of a random search of the same budget, same seeds "
             "and labels", "above", 0.0),
        paired(models, BY_FEW, CHOSEN_FEW),
        _counts(models, _first(models), BY_FEW, CHOSEN_FEW),
    )  # fmt: skip


def pbt_beats_few_label(models: Models) -> Judged:
    data = _first(models)
    return judged(
        "With few labels, a population beats the semi-supervised few-label VAE.",
        "clearly higher mean MIG and DCI, 1,000 labels (3.2, figure 1b)",
        Rule("mean score of the population minus mean score of single few-label VAEs, each trained for as many images "
             "as one member", "above", 0.0),
        _differences(models, BY_FEW, (FEW,), data),
        _counts(models, data, BY_FEW, FEW),
    )  # fmt: skip


def pbt_beats_chosen_few_label(models: Models) -> Judged:
    return judged(
        "It does so at the same number of trained images (beyond the paper).",
        "not compared: the few-label VAE is a single model",
        Rule("score of the population minus score of the best of a random search among few-label VAEs of the same "
             "budget, chosen by as many labels again, same seeds", "above", 0.0),
        paired(models, BY_FEW, SEARCH_FEW),
        _counts(models, _first(models), BY_FEW, SEARCH_FEW),
    )  # fmt: skip


def pbt_varies_less(models: Models) -> Judged:
    data = _first(models)
    numbers = {
        METRICS[column]: spread_ratio(
            models.scores(BY_FEW, data, column),
            models.scores(CHOSEN_FEW, data, column),
            models.scores(FEW, data, column),
        )
        for column in METRICS
    }
    return judged(
        "With few labels, populations vary less than both baselines.",
        "reduced variance (3.2, figure 1b)",
        Rule("standard deviation over seeds of populations, over that within the baselines", "below", 1.0),
        numbers,
        _counts(models, data, BY_FEW, CHOSEN_FEW, FEW),
    )


def all_labels_beat_few(models: Models) -> Judged:
    return judged(
        "A population with all labels surpasses one with few.",
        "further increases performance (3.2, figure 1b)",
        Rule("score with all labels minus score with few, same seeds", "above", 0.0),
        paired(models, BY_MIG, BY_FEW),
        _counts(models, _first(models), BY_MIG, BY_FEW),
    )


# Figure 2


def shares(models: Models, data: str, factors: Sequence[str], others: bool = False) -> Array:
    """By seed, what the first metaEpoch's active latents know: the least of `factors`, or the most of all `others`."""
    epochs = models.epochs_of(data)
    if not len(epochs):
        return np.empty(0)
    found = []
    for told in epochs.loc[epochs["metaepoch"] == 1, "knows"]:
        best = {name: max(latent[name] for latent in told) for name in (told[0] if told else ())}
        if others:
            found.append(max((value for name, value in best.items() if name not in factors), default=0.0))
        else:
            found.append(min(best.get(name, 0.0) for name in factors))
    return np.array(found)


def udr_finds_position(models: Models) -> Judged:
    data = _first(models)
    factors = paper.first_factors(data)
    return judged(
        "Populations by UDR consistently find x and y position.",
        "for all of five seeds on dSprites (4.1, figure 2)",
        Rule("share of the less known of x and y that one active latent tells", "above", FOUND),
        {"share": mean(shares(models, data, factors))} if factors else {},
        _counts(models, data, BY_UDR),
    )


def udr_finds_little_else(models: Models) -> Judged:
    data = _first(models)
    factors = paper.first_factors(data)
    return judged(
        "They find little else.",
        "only the factors with high variance in image space; MIG and DCI are relatively low (4.1, figure 2)",
        Rule("largest share of another factor that one active latent tells", "below", FOUND),
        {"share": mean(shares(models, data, factors, others=True))} if factors else {},
        _counts(models, data, BY_UDR),
    )


# Figure 5


def discoveries(models: Models, data: str) -> Array:
    """By seed, the share of its metaEpochs behind the first that find a factor not found before in their leaf-run."""
    epochs = models.epochs_of(data)
    if not len(epochs):
        return np.empty(0)
    later = epochs[(epochs["metaepoch"] > 1) & (epochs["stop"].fillna("") == "")]
    return np.array([np.mean([len(new) > 0 for new in rows["new"]]) for _, rows in later.groupby("seed")])


def epochs_find_new(models: Models) -> Judged:
    return judged(
        "Each metaEpoch finds factors that those before it have not.",
        "distinct factors at each metaEpoch (5, figure 5, one example a data set)",
        Rule("share of the metaEpochs behind the first, those that ended a leaf-run aside, with a new factor of which "
             f"one active latent tells {FOUND:.0%}", "above", 0.5),
        {data_name(data): mean(discoveries(models, data)) for data in _recursive(models)},
        _runs(models),
    )  # fmt: skip


# Figure 4


def _recursive(models: Models) -> list[str]:
    """Data sets with rPU-VAEs."""
    return [data for data in models.data_sets if len(models.of_approach(RPU, data))] or models.data_sets[:1]


def _runs(models: Models, *others: str) -> str:
    return "; ".join(f"{data_name(data)}: {_counts(models, data, RPU, *others)}" for data in _recursive(models))


def _differences(models: Models, first: str, others: Sequence[str], data: str) -> dict[str, Estimate]:
    """Mean score of an approach minus that of each of the others, by metric."""
    return {
        f"{name} − {NAMES.get(other, other)}" if len(others) > 1 else name: difference(
            models.scores(first, data, column), models.scores(other, data, column)
        )
        for column, name in METRICS.items()
        for other in others
    }


def _by_data(models: Models, numbers: Callable[[str], Numbers]) -> dict[str, Estimate]:
    """Numbers of each data set, with its name where there are several."""
    sets = _recursive(models)
    return {
        f"{data_name(data)} {name}" if len(sets) > 1 else name: entry
        for data in sets
        for name, entry in numbers(data).items()
    }


def rpu_beats_six(models: Models) -> Judged:
    return judged(
        "rPU-VAE has a higher mean MIG and DCI than each of β-TCVAE, β-VAE, FactorVAE, DIP-VAE-I, DIP-VAE-II and "
        "AnnealedVAE.",
        "significantly higher for all data sets, at a larger number of trained images (5, figure 4)",
        Rule("mean score of rPU-VAE minus that of each method, its strengths and seeds together", "above", 0.0),
        _by_data(models, lambda data: _differences(models, RPU, SIX, data)),
        _runs(models, *SIX),
    )


def rpu_varies_less(models: Models) -> Judged:
    def numbers(data: str) -> Numbers:
        return {
            name: spread_ratio(
                models.scores(RPU, data, column), *(models.scores(method, data, column) for method in SIX)
            )
            for column, name in METRICS.items()
        }

    return judged(
        "rPU-VAE's scores vary less than those of the six methods.",
        "drastically reduced variance (5, figure 4)",
        Rule("standard deviation of rPU-VAE over seeds, over that within the methods, strengths and seeds together",
             "below", 1.0),
        _by_data(models, numbers),
        _runs(models, *SIX),
    )  # fmt: skip


def rpu_beats_match(models: Models) -> Judged:
    return judged(
        "rPU-VAE has a higher mean MIG and DCI than β-TCVAE at the same number of trained images (beyond the paper).",
        "not compared: a run of rPU-VAE trains thousands of models, a baseline is one",
        Rule("mean score of rPU-VAE minus that of the best, by UDR, of as many random settings of β-TCVAE as its "
             "images pay for", "above", 0.0),
        _by_data(models, lambda data: _differences(models, RPU, (MATCH,), data)),
        _runs(models, MATCH),
    )  # fmt: skip


def rpu_varies_less_than_match(models: Models) -> Judged:
    def numbers(data: str) -> Numbers:
        return {
            name: spread_ratio(models.scores(RPU, data, column), models.scores(MATCH, data, column))
            for column, name in METRICS.items()
        }

    return judged(
        "rPU-VAE's scores vary less than that search's (beyond the paper).",
        "not compared",
        Rule("standard deviation of rPU-VAE over seeds, over that of the search", "below", 1.0),
        _by_data(models, numbers),
        _runs(models, MATCH),
    )


def rpu_is_close_to_supervised(models: Models) -> Judged:
    return judged(
        "rPU-VAE comes close to a population with all labels.",
        "very close; the MIG of Shapes3D has a larger gap (5, figure 4)",
        Rule("mean score of rPU-VAE minus that of PBT-S-VAE (MIG)", "above", -CLOSE),
        _by_data(models, lambda data: _differences(models, RPU, (BY_MIG,), data)),
        _runs(models, BY_MIG),
    )


# Figure 6


def leaf_gains(models: Models, data: str, column: str, first: int, last: int) -> Array:
    """By seed, the score with the last number of leaf-runs minus that with the first."""
    scores = models.leaf_scores(data, column)
    if not {first, last} <= set(scores.columns):
        return np.empty(0)
    return np.asarray((scores[last] - scores[first]).astype(float).dropna().to_numpy())


def leaves_help(models: Models) -> Judged:
    def numbers(data: str) -> Numbers:
        most = models.most_leaves(data)
        return {
            name: mean(leaf_gains(models, data, column, 0, most)) if most else Estimate(math.nan)
            for column, name in METRICS.items()
        }

    return judged(
        "More leaf-runs help.",
        "MIG and DCI improve with the number of leaf-runs (5.1, figure 6)",
        Rule("score with the most leaf-runs minus score with none, same seeds", "above", 0.0),
        _by_data(models, numbers),
        _runs(models),
    )


def first_leaf_helps_most(models: Models) -> Judged:
    def numbers(data: str) -> Numbers:
        most = models.most_leaves(data)
        found = {}
        for column, name in METRICS.items():
            first, rest = leaf_gains(models, data, column, 0, 1), leaf_gains(models, data, column, 1, most)
            same = most > 1 and len(first) == len(rest)
            found[name] = mean(first - rest / (most - 1)) if same else Estimate(math.nan)
        return found

    return judged(
        "The first leaf-run helps most.",
        "the biggest improvement is from 0 to 1 (5.1, figure 6)",
        Rule("gain by the first leaf-run minus the mean gain by each further one, same seeds", "above", 0.0),
        _by_data(models, numbers),
        _runs(models),
    )


def leaves_steady(models: Models) -> Judged:
    def numbers(data: str) -> Numbers:
        most = models.most_leaves(data)
        return {
            name: spread_ratio(models.scores(RPU, data, column, most), models.scores(RPU, data, column, 0))
            if most
            else Estimate(math.nan)
            for column, name in METRICS.items()
        }

    return judged(
        "The scores vary less with more leaf-runs.",
        "the variance tends to reduce with each leaf-run (5.1, figure 6)",
        Rule("standard deviation over seeds with the most leaf-runs, over that with none", "below", 1.0),
        _by_data(models, numbers),
        _runs(models),
    )


FITNESS: tuple[Judge, ...] = (mig_beats_dci, mig_varies_less, mig_does_as_well_by_dci)
LABELS: tuple[Judge, ...] = (
    pbt_beats_selection, pbt_beats_few_label, pbt_beats_chosen_few_label, pbt_varies_less, all_labels_beat_few,
)  # fmt: skip
UDR: tuple[Judge, ...] = (udr_finds_position, udr_finds_little_else)
EPOCHS: tuple[Judge, ...] = (epochs_find_new,)
COMPARISON: tuple[Judge, ...] = (
    rpu_beats_six, rpu_varies_less, rpu_beats_match, rpu_varies_less_than_match, rpu_is_close_to_supervised,
)  # fmt: skip
LEAVES: tuple[Judge, ...] = (leaves_help, first_leaf_helps_most, leaves_steady)
ALL = (*FITNESS, *LABELS, *UDR, *EPOCHS, *COMPARISON, *LEAVES)


def judge(models: Models, judges: Sequence[Judge]) -> list[Judged]:
    return [judge(models) for judge in judges]
