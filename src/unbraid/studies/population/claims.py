"""What the paper says in sections 3 to 5, as claims about the models, and what each of them measures.

A number has a 95 % interval over seeds. Where two approaches begin with the same seeds it is a mean of differences by
seed, else a difference of means. Numbers of several data sets are cases of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from unbraid.pictures.names import data_name
from unbraid.report.claims import INCONCLUSIVE, Claim, Rule
from unbraid.report.estimates import (
    UNKNOWN,
    Array,
    Estimate,
    average,
    difference,
    jackknife,
    mean,
    spread_limit,
    spread_ratio,
    spread_seeds,
)
from unbraid.studies.population import paper
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
    found_factors,
)
from unbraid.studies.population.study import FEW, SIX

# What the claims measure

CLOSE = 0.05  # scores that far apart are alike
PAIR = ("shapes3d", "dsprites")
PART = 0.1  # of a factor's entropy, from which a latent counts as telling a part of it
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
    """The standard deviation of an approach over that of each of the others, by metric."""

    def measure(models: Models, data: str) -> Numbers:
        return {
            f"{METRICS[column]} / {NAMES[other]}" if len(others) > 1 else METRICS[column]: spread_ratio(
                models.scores(first, data, column), models.scores(other, data, column)
            )
            for column in columns
            for other in others
        }

    return measure


def undecided(measure: Callable[[Models], Numbers], rule: Rule) -> Callable[[Models], str | None]:
    """The gate of a claim on deviations: too few seeds, where the numbers do not decide it in spite of that."""

    def gate(models: Models) -> str | None:
        known = [entry for entry in measure(models).values() if entry.known]
        if not known or rule.verdict(known) != INCONCLUSIVE:
            return None
        seeds, needed = min(entry.seeds for entry in known), spread_seeds()
        if seeds >= needed:
            return None
        half = f"to see half the deviation, in four of five such studies, takes {needed} seeds of each"
        if not all(entry.has_interval for entry in known):
            return f"there are too few seeds for an interval; {half}"
        return f"with {seeds} seeds it would have to be below {spread_limit(seeds, seeds):.2f} of the other; {half}"

    return gate


def shares(models: Models, data: str, factors: Sequence[str], others: bool = False) -> Array:
    """By seed, what the first metaEpoch's active latents know: the least of `factors`, or the most of all `others`."""
    epochs, values = models.epochs_of(data), list[float]()
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
    """By seed, the share of its metaEpochs behind the first that find a factor not found before in their leaf-run.

    Those that ended a leaf-run do not count. A seed that has no others has found nothing: its share is 0.
    """
    shares = []
    for _, rows in models.epochs_of(data).groupby("seed") if len(models.epochs) else ():
        later = rows[(rows["metaepoch"] > 1) & (rows["stop"].fillna("") == "")]
        shares.append(np.mean([len(new) > 0 for new in later["new"]]) if len(later) else 0.0)
    return np.array(shares)


def late_finds(models: Models, data: str) -> Array:
    """By seed, how many more factors the best model of the first metaEpoch knows at its end than half-way."""
    counts = [[len(found_factors(knows)) for knows in seed] for seed in models.progress(data).values()]
    return np.array([history[-1] - history[len(history) // 2] for history in counts if len(history) > 2], float)


def _finds_any(models: Models) -> str | None:
    """The gate of claims on what comes after the first finds."""
    finals = [found_factors(seed[-1]) for seed in models.progress(models.first).values() if seed]
    return "no population by UDR has found a factor" if finals and not any(finals) else None


def final_shares(models: Models, data: str, approach: str, others: bool = False) -> Numbers:
    """What an approach's model knows of the factors that the paper's know: the least; or the most of all `others`."""
    factors, values = paper.final_factors(data), list[float]()
    for knows in models.known(approach, data).values() if factors else ():
        best = best_known(knows)
        if others:
            values.append(max((share for name, share in best.items() if name not in factors), default=0.0))
        else:
            values.append(min(best.get(name, 0.0) for name in factors))
    return {"share": mean(values)} if factors else {}


def _names_final_factors(models: Models) -> str | None:
    data = models.first
    return None if paper.final_factors(data) else f"the paper does not say what final models know of {data_name(data)}"


def leaf_shares(models: Models, data: str) -> Numbers:
    """By seed, the largest share of a factor that final models do not know which a leaf-run's metaEpoch tells."""
    factors, epochs, values = paper.final_factors(data), models.epochs_of(data), []
    for _, rows in epochs.groupby("seed") if len(epochs) else ():
        by_epoch = [best_known(knows) for knows in rows.loc[rows["metaepoch"] > 1, "knows"]]
        shares = [share for best in by_epoch for name, share in best.items() if name not in factors]
        values.append(max(shares, default=0.0))
    return {"share": mean(values)} if factors else {}


def _hues(knows: Sequence[Mapping[str, float]]) -> list[str]:
    return [name for name in best_known(knows) if "hue" in name]


def colour_latents(models: Models, data: str) -> Array:
    """By seed, how many latents of rPU-VAE's last model tell a part of a colour, on average over colours."""
    finals = [knows for knows in models.known(RPU, data).values() if _hues(knows)]
    return np.array([
        np.mean([sum(latent[hue] >= PART for latent in knows) for hue in _hues(knows)]) for knows in finals
    ])  # fmt: skip


def second_factors(models: Models, data: str) -> Array:
    """By seed, of latents that tell a part of a colour, the largest share of another factor, on average."""
    values = []
    for knows in models.known(RPU, data).values():
        coloured = [latent for latent in knows if any(latent[hue] >= PART for hue in _hues(knows))]
        values.append(average(sorted(latent.values())[-2] for latent in coloured))
    return np.array(values)


def on_colours(measure: Callable[[Models, str], Array]) -> Callable[[Models], Numbers]:
    """On the data sets whose factors are colours."""

    def numbers(models: Models) -> Numbers:
        coloured = [data for data in models.recursive if any(map(_hues, models.known(RPU, data).values()))]
        return {data_name(data): mean(measure(models, data)) for data in coloured}

    return numbers


def _has_colours(models: Models) -> str | None:
    finals = [knows for data in models.recursive for knows in models.known(RPU, data).values()]
    return None if not finals or any(map(_hues, finals)) else "no data set with rPU-VAEs has colours among its factors"


def gap_difference(models: Models) -> Numbers:
    """How far rPU-VAE's MIG is below PBT-S-VAE's on Shapes3D, minus the same on dSprites."""
    sets = [next((d for d in models.recursive if d.removesuffix("_official") == name), "") for name in PAIR]
    groups = [models.scores(approach, data, MIG) for data in sets for approach in (BY_MIG, RPU)]
    if not all(len(group) for group in groups):
        return {"MIG": UNKNOWN}
    values = np.full((len(groups), max(map(len, groups))), np.nan)
    for row, group in zip(values, groups, strict=True):
        row[: len(group)] = group

    def statistic(scores: Array) -> float:
        top, below, other_top, other_below = (average(row) for row in scores)
        return (top - below) - (other_top - other_below)

    return {"MIG": jackknife(statistic, values)}


def _has_pair(models: Models) -> str | None:
    present = {data.removesuffix("_official") for data in models.recursive}
    missing = [data_name(name) for name in PAIR if name not in present]
    return f"no rPU-VAE on {' and '.join(missing)}" if missing and present else None


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
    each: bool = False, gate: Callable[[Models], str | None] | None = None, deviation: bool = False,
) -> Claim[Models]:  # fmt: skip
    """A claim on the first data set, or on `each` with rPU-VAEs; its note counts the models of these approaches.

    A claim on a `deviation` is not testable where it takes more seeds.
    """

    def note(models: Models) -> str:
        if not each:
            return _counts(models, models.first, approaches)
        return "; ".join(f"{data_name(data)}: {_counts(models, data, approaches)}" for data in models.recursive)

    numbers = (on_each if each else on_first)(measure)
    if deviation:
        gate = undecided(numbers, rule)
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
        spread(BY_MIG, (BY_DCI,), (MIG,)), (BY_MIG, BY_DCI), deviation=True,
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
        Rule("standard deviation of populations over seeds, over that of each of the two baselines", "below", 1.0),
        spread(BY_FEW, (CHOSEN_FEW, FEW)), (BY_FEW, CHOSEN_FEW, FEW), deviation=True,
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
    claim(
        "udr-stops-finding", "4.1", "Once they have found these, they find no others in further training.",
        "they failed to capture any new factors of variation (4.1)",
        Rule("factors that the best model has found at the end of the first metaEpoch minus those half-way", "below",
             0.5),
        lambda models, data: {"factors": mean(late_finds(models, data))}, (BY_UDR,), gate=_finds_any,
    ),
    claim(
        "udr-scores-low", "4.1", "Their MIG and DCI are relatively low.", "relatively low (4.1, figure 2)",
        Rule("mean score of populations by UDR minus that of PBT-S-VAE (MIG)", "below", 0.0),
        lead(BY_UDR, BY_MIG), (BY_UDR, BY_MIG),
    ),
)  # fmt: skip
EPOCHS = (
    claim(
        "epochs-find-new", "4.2", "Each metaEpoch finds factors that those before it have not.",
        "distinct factors at each metaEpoch (5, figure 5, one example per data set)",
        Rule("share of the metaEpochs behind the first, those that ended a leaf-run aside, with a new factor of which "
             f"one active latent tells {FOUND:.0%}; 0 for a seed without any", "above", 0.5),
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
        Rule("standard deviation of rPU-VAE over seeds, over that of each method, its strengths and seeds together",
             "below", 1.0),
        spread(RPU, SIX), (RPU, *SIX), each=True, deviation=True,
    ),
    claim(
        "rpu-beats-match", "5",
        "rPU-VAE has a higher mean MIG and DCI than β-TCVAE at the same number of trained images (beyond the paper).",
        "not compared: a run of rPU-VAE trains thousands of models, a baseline is one",
        Rule("mean score of rPU-VAE minus that of the best, by UDR, of as many random settings of β-TCVAE as its "
             "images pay for", "above", 0.0),
        lead(RPU, MATCH), (RPU, MATCH),
    ),
    claim(
        "rpu-varies-less-than-match", "5", "rPU-VAE's scores vary less than that search's (beyond the paper).",
        "not compared", Rule("standard deviation of rPU-VAE over seeds, over that of the search", "below", 1.0),
        spread(RPU, (MATCH,)), (RPU, MATCH), deviation=True,
    ),
    claim(
        "rpu-is-close-to-supervised", "5", "rPU-VAE comes close to a population with all labels.",
        "very close; the MIG of Shapes3D has a larger gap (5, figure 4)",
        Rule("mean score of rPU-VAE minus that of PBT-S-VAE (MIG)", "above", -CLOSE),
        lead(RPU, BY_MIG), (RPU, BY_MIG), each=True,
    ),
)  # fmt: skip
FINAL = (
    claim(
        "final-knows-three", "5", "rPU-VAE's last model knows scale, x and y of dSprites.",
        "the final model learns only scale, x-position and y-position (5, figure 14b)",
        Rule("share of the least known of scale, x and y that one active latent tells", "above", FOUND),
        partial(final_shares, approach=RPU), (RPU,), gate=_names_final_factors,
    ),
    claim(
        "final-knows-no-more", "5", "It knows neither shape nor orientation.",
        "the final model learns only scale, x-position and y-position (5, figure 14b)",
        Rule("largest share of shape or orientation that one active latent tells", "below", FOUND),
        partial(final_shares, approach=RPU, others=True), (RPU,), gate=_names_final_factors,
    ),
    claim(
        "supervised-knows-no-more", "5", "The same goes for PBT-S-VAE, which has all labels.",
        "the same for the supervised model (5, figure 14a)",
        Rule("largest share of shape or orientation that one active latent tells", "below", FOUND),
        partial(final_shares, approach=BY_MIG, others=True), (BY_MIG,), gate=_names_final_factors,
    ),
    claim(
        "leaves-find-more", "5", "Leaf-runs find shape or orientation, which the last model does not know.",
        "during leaf-runs the models captured shape and rotation (5, figure 5a)",
        Rule("largest share of shape or orientation that one active latent of a leaf-run's metaEpoch tells", "above",
             FOUND),
        leaf_shares, (RPU,), gate=_names_final_factors,
    ),
    Claim(
        "colours-spread", "5", "Colours are learned with several latents each.",
        "colour-related factors have multiple active latents on Shapes3D (5)",
        Rule(f"latents of rPU-VAE's last model that tell {PART:.0%} of a colour or more, mean over colours", "above",
             1.0),
        on_colours(colour_latents), gate=_has_colours,
    ),
    Claim(
        "colour-latents-pure", "5", "Each of these latents tells of one factor alone.",
        "each latent only represents (parts of) a single factor (5)",
        Rule(f"of latents that tell {PART:.0%} of a colour, the share of their second factor, mean over latents",
             "below", PART),
        on_colours(second_factors), gate=_has_colours,
    ),
    Claim(
        "larger-gap-on-shapes3d", "5",
        "rPU-VAE's MIG is further below the supervised one on Shapes3D than on dSprites.",
        "a larger gap when compared to dSprites (5, figure 4)",
        Rule("MIG of PBT-S-VAE (MIG) minus that of rPU-VAE, on Shapes3D minus on dSprites", "above", 0.0),
        gap_difference, gate=_has_pair,
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
        leaf_spread, (RPU,), each=True, deviation=True,
    ),
)  # fmt: skip
CLAIMS = (*FITNESS, *LABELS, *UDR, *EPOCHS, *COMPARISON, *FINAL, *LEAVES)
