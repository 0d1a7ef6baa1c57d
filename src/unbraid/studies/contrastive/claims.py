"""What the paper says, as claims about the table of models, and what each of them measures.

Models with the same seed begin with the same weights and see the same images, so two settings are compared seed by
seed. Accuracies and gaps are in percent, as in the paper's tables. What is said of halves is judged over the models
whose z tells both factors: where one is not learned at all, halves do not differ for want of anything to tell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from scipy.stats import rankdata

from unbraid.report.claims import Claim, Edition, Rule
from unbraid.report.estimates import SEEDS as ENOUGH
from unbraid.report.estimates import UNKNOWN, Array, Estimate, average, exact_share_difference, mean, spread_ratio
from unbraid.studies.contrastive import paper
from unbraid.studies.contrastive.models import CODES, SHARED, SHORT, Models

MAXIMAL = 0.9  # of the largest gap there can be, from which a gap is near it
SMALL = 0.25  # of the gap of supervised halves, up to which a gap is small
ALIKE = 2.0  # points of accuracy that are no difference
CHANCE = 5.0  # points above chance that are near it
MOSTLY = 0.75  # of the cases, for claims that compare several settings and do not say "all" or "every"

ORTHO, P_ORTHO, HESSIAN = "ortho 0.1", "p_ortho 0.1", "hessian 0.1"
BOTH = "hessian 0.1 + p_ortho 0.1"
ALL_VIEWS = f"{P_ORTHO}, all views"
INFO_MIN = ("info_min 0.001", "info_min 0.1")
ORTHOGONAL = ("ortho 0.001", ORTHO, "p_ortho 0.001", P_ORTHO)
REGULARIZED = (*INFO_MIN, *ORTHOGONAL, "hessian 0.001", HESSIAN)
MAIN, OTHER = "dc_bc", "dc_dl"

Used = list[tuple[str, str, int]]  # models: variant, setting, and index of the seed


@dataclass(frozen=True)
class Number:
    """A number with its interval, and the models that it is made of."""

    estimate: Estimate
    used: Used


Numbers = dict[str, Number]
Measure = Callable[[Models], Numbers]


Where = Iterable[tuple[str, str]]  # variants and settings
Printed = Mapping[str, float]  # the paper's own numbers, by case


def claim(
    key: str, where: str, words: str, said: str, rule: Rule, measure: Measure, halves: Where = (),
    printed: Printed | None = None, before: tuple[Rule, Measure] | None = None,
) -> Claim[Models]:  # fmt: skip
    """A claim that also says how many models of which settings its numbers are made of.

    With `halves` it is about halves of these variants and settings, and looks only at models whose z tells both
    factors; it cannot be tested where too few of them do. `printed` are the sizes of an effect in the paper. `before`
    is how it was judged until that was changed.
    """
    needed = list(halves)

    def chosen(models: Models) -> Models:
        return models.telling if needed else models

    def note(models: Models) -> str:
        used = dict.fromkeys(chain.from_iterable(entry.used for entry in measure(chosen(models)).values()))  # each once
        counts = Counter(setting for _, setting, _ in used)
        return "n = " + ", ".join(f"{count} × {setting}" for setting, count in counts.items()) if counts else ""

    def gate(models: Models) -> str | None:
        for variant, setting in needed:
            count, telling = models.count(variant, setting), models.telling.count(variant, setting)
            if count >= ENOUGH > telling:
                return f"in {telling} of {count} models of {setting} on {variant} the code tells both factors"
        return None

    def estimates(measure: Measure) -> Callable[[Models], dict[str, Estimate]]:
        return lambda models: {name: entry.estimate for name, entry in measure(chosen(models)).items()}

    return Claim(
        key=key, section=where, words=words, paper=said, rule=rule, note=note, gate=gate, measure=estimates(measure),
        printed=printed or {}, earlier=None if before is None else Edition(before[0], estimates(before[1])),
    )  # fmt: skip


def on(variant: str, *settings: str) -> list[tuple[str, str]]:
    return [(variant, setting) for setting in settings]


def seed_by_seed(values: Array, *settings: str, variants: Sequence[str] = (MAIN,)) -> Number:
    """The mean of values (seeds,), each made of one model of every one of these settings and variants."""
    return Number(mean(values), used(values, *settings, variants=variants))


def used(values: Array, *settings: str, variants: Sequence[str] = (MAIN,)) -> Used:
    """The models of the seeds that have a value: a difference has none where one of its two models is missing."""
    return list(product(variants, settings, np.flatnonzero(np.isfinite(values)).tolist()))


def by_factor(variant: str, settings: Sequence[str], value: Callable[[Models, str], Array]) -> Measure:
    """A number for each factor that pairs share, by its short name."""

    def measure(models: Models) -> Numbers:
        return {
            SHORT[factor]: seed_by_seed(value(models, factor), *settings, variants=(variant,))
            for factor in SHARED[variant]
        }

    return measure


def in_words(printed: Printed) -> str:
    return "; ".join(f"{case} {value:.1f}".strip() for case, value in printed.items())


def of_factors(values: Array, variant: str = MAIN) -> dict[str, float]:
    """The paper's figures of the two factors."""
    return {SHORT[factor]: float(value) for factor, value in zip(SHARED[variant], values, strict=True)}


def listed(values: Array, variant: str = MAIN) -> str:
    return in_words(of_factors(values, variant))


# Tables 1 and 4: supervised halves


def shares_of_largest(models: Models) -> Numbers:
    """C(own half) - C(other half) over C(r) - chance, of halves of r that were trained for a factor each."""
    numbers = {}
    for variant in (MAIN, OTHER):
        for index, factor in enumerate(SHARED[variant]):
            parts = models.parts(variant, "supervised", factor, "r")
            largest = models.accuracy(variant, "supervised", "r", factor) - models.chance(variant, "supervised", factor)
            shares = _over(parts[index] - parts[1 - index], largest)
            numbers[f"{variant} {SHORT[factor]}"] = seed_by_seed(shares, "supervised", variants=(variant,))
    return numbers


def _said_shares() -> str:
    said = []
    for variant, rows in paper.SUPERVISED.items():
        shares = paper.gaps(rows, "r") / np.subtract(rows["r"], paper.CHANCE[variant])
        said += [f"{variant} {SHORT[name]} {share:.2f}" for name, share in zip(SHARED[variant], shares, strict=True)]
    return "; ".join(said)


def _over(above: Array, below: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, above / below, np.nan))


SUPERVISED = (
    claim(
        "supervised-is-diagonal", "A.2",
        "Halves trained with a label each give the diagonal, with gaps near the largest possible.",
        f"{_said_shares()} (tables 1 and 4)",
        Rule("C(own half) − C(other half) of r, over C(r) − chance", "above", MAXIMAL), shares_of_largest,
        halves=[*on(MAIN, "supervised"), *on(OTHER, "supervised")],
    ),
)  # fmt: skip


# Tables 2 and 5: InfoMin


def gaps_beyond_plain(models: Models) -> Numbers:
    plain = models.gap(MAIN, "plain")
    return {f"λ {name.split()[1]}": seed_by_seed(models.gap(MAIN, name) - plain, "plain", name) for name in INFO_MIN}


def _loss(models: Models, code: str, factor: str) -> Array:
    """What a code loses of a factor as the weight of InfoMin grows (seeds,)."""
    weak, strong = (models.accuracy(MAIN, name, code, factor) for name in INFO_MIN)
    return weak - strong


def _said_loss(code: str) -> Array:
    weak, strong = (paper.INFO_MIN[name][code] for name in INFO_MIN)
    return np.subtract(weak, strong)


def _above_chance(models: Models, factor: str) -> Array:
    return models.accuracy(OTHER, INFO_MIN[1], "r", factor) - models.chance(OTHER, INFO_MIN[1], factor)


def traded(models: Models) -> Numbers:
    """Spearman's correlation of the two terms over the lines of a log, by seed."""
    terms = [models.logged(name, MAIN, INFO_MIN[0]) for name in ("sub_info_max", "info_min")]
    values = np.array([_rank_correlation(one, other) for one, other in zip(*terms, strict=True)])
    return {"": seed_by_seed(values, INFO_MIN[0])}


def _rank_correlation(first: Array, second: Array) -> float:
    if len(first) != len(second) or len(first) < 3:
        return math.nan
    ranks: Array = np.asarray(np.corrcoef(rankdata(np.stack([first, second]), axis=1)))
    return float(ranks[0, 1])


def hurt_at_the_end(models: Models) -> Numbers:
    """The mean over the last fifth of a log."""
    weak, strong = (
        np.array([average(line[-max(len(line) // 5, 1) :]) for line in models.logged("sub_info_max", MAIN, name)])
        for name in INFO_MIN
    )
    return {"": seed_by_seed(strong - weak, *INFO_MIN)}


_SAID_GAPS = "; ".join(f"λ {name.split()[1]} {paper.gap(MAIN, name):.1f}" for name in INFO_MIN)
MINIMISED = (
    claim(
        "info-min-does-not-disentangle", "4.1",
        "InfoMin does not disentangle: z0 and z1 do as well as each other, no further apart than without it.",
        f"gaps of z, mean of DC and BC: {_SAID_GAPS}; no plain model is shown (table 2)",
        Rule("gap of z minus that of the plain model with two heads, mean of DC and BC", "below", ALIKE),
        gaps_beyond_plain, halves=on(MAIN, "plain", *INFO_MIN),
    ),
    claim(
        "info-min-costs-accuracy", "4.1", "A larger weight of InfoMin costs accuracy of z.",
        f"{listed(_said_loss('z'))} (table 2)", Rule("accuracy of z with λ 0.001 minus that with 0.1", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda models, factor: _loss(models, "z", factor)),
        printed=of_factors(_said_loss("z")),
    ),
    claim(
        "info-min-is-local", "4.1", "InfoMin acts where it is applied: its weight changes z, and r hardly.",
        f"z loses {listed(_said_loss('z'))}, r {listed(_said_loss('r'))} (table 2)",
        Rule("what z loses between λ 0.001 and 0.1, minus twice what r loses", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda models, factor: _loss(models, "z", factor) - 2 * _loss(models, "r", factor)),
        printed=of_factors(_said_loss("z") - 2 * _said_loss("r")),
        before=(
            Rule("what z loses between λ 0.001 and 0.1, minus what r loses", "above", 0.0),
            by_factor(MAIN, INFO_MIN, lambda models, factor: _loss(models, "z", factor) - _loss(models, "r", factor)),
        ),
    ),
    claim(
        "info-min-prevents-learning", "A.4.2",
        "On dc_dl InfoMin keeps anything from being learned: r is near chance on both tasks.",
        f"{listed(np.subtract(paper.INFO_MIN_DC_DL['r'], paper.CHANCE[OTHER]), OTHER)} above chance; its λ is not "
        "given (table 5)",
        Rule("accuracy of r with λ 0.1, above chance", "below", CHANCE), by_factor(OTHER, INFO_MIN[1:], _above_chance),
    ),
    claim(
        "info-min-trades-off", "A.3",
        "InfoMin and InfoMax trade off: as the InfoMax loss falls, the halves come to tell more of each other.",
        "near 55,000 steps both fall, InfoMin against its aim (figure 5)",
        Rule("rank correlation over steps of sub_info_max and info_min, which is to fall, with λ 0.001", "below", 0.0),
        traded,
    ),
    claim(
        "weight-does-not-resolve-it", "A.3",
        "The larger weight of InfoMin does not resolve the trade-off: it only hurts the InfoMax loss.",
        "seen in figure 5; no numbers",
        Rule("sub_info_max at the end with λ 0.1 minus that with 0.001", "above", 0.0), hurt_at_the_end,
    ),
)  # fmt: skip


# Tables 3 and 6: orthogonality


def small_gaps(models: Models) -> Numbers:
    largest = models.gap(MAIN, "supervised", code="r")
    return {name: seed_by_seed(_over(models.gap(MAIN, name), largest), "supervised", name) for name in ORTHOGONAL}


_PAIRS = {f"{name} − info_min {name.split()[1]}": (name, f"info_min {name.split()[1]}") for name in ORTHOGONAL}


def gaps_beyond_info_min(models: Models) -> Numbers:
    return {
        words: seed_by_seed(models.gap(MAIN, first) - models.gap(MAIN, second), first, second)
        for words, (first, second) in _PAIRS.items()
    }


def accuracies(variant: str, first: str, second: str) -> Measure:
    """How much better z, and the mean of its halves, tell each factor with the first setting than with the second."""

    def measure(models: Models) -> Numbers:
        numbers = {}
        for factor in SHARED[variant]:
            whole = [models.accuracy(variant, name, "z", factor) for name in (first, second)]
            halves = [models.parts(variant, name, factor).mean(0) for name in (first, second)]
            for name, (one, other) in (("z", whole), ("halves", halves)):
                number = seed_by_seed(one - other, first, second, variants=(variant,))
                numbers[f"{name} {SHORT[factor]}"] = number
        return numbers

    return measure


def said_accuracies(variant: str, first: str, second: str) -> dict[str, float]:
    one, other = paper.said(variant, first), paper.said(variant, second)
    whole, halves = np.subtract(one["z"], other["z"]), paper.halves(one) - paper.halves(other)
    both = {"z": of_factors(whole, variant), "halves": of_factors(halves, variant)}
    return {f"{code} {factor}": value for code, values in both.items() for factor, value in values.items()}


_OTHERS = ("ortho 0.001", ORTHO, "p_ortho 0.001", "hessian 0.001", HESSIAN)  # of table 3
WEIGHTS = ("0.001", "0.1")


def best_halves(models: Models) -> Numbers:
    numbers = {}
    for factor, other in product(SHARED[MAIN], _OTHERS):
        ours, rival = (models.parts(MAIN, name, factor).max(0) for name in (P_ORTHO, other))
        numbers[f"{SHORT[factor]}, − {other}"] = seed_by_seed(ours - rival, P_ORTHO, other)
    return numbers


_BEST = {name: np.maximum(rows["z0"], rows["z1"]) for name, rows in paper.REGULARIZED[MAIN].items()}


def _said_best() -> str:
    ahead = _BEST[P_ORTHO] - np.max([_BEST[name] for name in _OTHERS], 0)
    return f"{listed(_BEST[P_ORTHO])}, ahead of the next by {listed(ahead)}"


def permutation_effect(models: Models, factor: str, variant: str = MAIN) -> Array:
    """What the permutation adds to a gap, mean over weights (seeds,)."""
    gaps = {name: models.gap(variant, name, factor) for name in ORTHOGONAL}
    return _mean([gaps[f"p_ortho {weight}"] - gaps[f"ortho {weight}"] for weight in WEIGHTS])


def weight_effect(models: Models, factor: str) -> Array:
    """What the larger weight adds to a gap, mean over both terms (seeds,)."""
    gaps = {name: models.gap(MAIN, name, factor) for name in ORTHOGONAL}
    return _mean([gaps[f"{term} 0.1"] - gaps[f"{term} 0.001"] for term in ("ortho", "p_ortho")])


def _said_effects() -> tuple[Array, Array]:
    """Of the permutation and of the weight, by factor."""
    plain, plain_strong, permuted, permuted_strong = (paper.gaps(paper.said(MAIN, name)) for name in ORTHOGONAL)
    of_permutation = (permuted + permuted_strong - plain - plain_strong) / 2
    return of_permutation, (plain_strong + permuted_strong - plain - permuted) / 2


def _said_gap(setting: str, factor: int) -> float:
    """On dc_dl."""
    return float(paper.gaps(paper.said(OTHER, setting))[factor])


def digits_beyond_location(models: Models) -> Numbers:
    return {
        name: seed_by_seed(
            models.gap(OTHER, name, "digit") - models.gap(OTHER, name, "location"), name, variants=(OTHER,)
        )
        for name in ORTHOGONAL[:2]
    }


def location_by_weight(models: Models) -> Numbers:
    weak, strong = (models.gap(OTHER, name, "location") for name in ORTHOGONAL[:2])
    return {"": seed_by_seed(strong - weak, *ORTHOGONAL[:2], variants=(OTHER,))}


def narrowed(models: Models) -> Numbers:
    numbers = {}
    for weight in WEIGHTS:
        names = f"p_ortho {weight}", f"ortho {weight}"
        permuted, plain = (models.gap(OTHER, name) for name in names)
        numbers[f"λ {weight}"] = seed_by_seed(permuted - plain, *names, variants=(OTHER,))
    return numbers


def permuted_accuracy(models: Models) -> Numbers:
    permuted, plain = (models.accuracy(OTHER, name, "z", "digit") for name in (P_ORTHO, ORTHO))
    return {"DC": seed_by_seed(permuted - plain, P_ORTHO, ORTHO, variants=(OTHER,))}


_SAID_PAIRS = {words: paper.gap(MAIN, a) - paper.gap(MAIN, b) for words, (a, b) in _PAIRS.items()}
_LARGEST = float(paper.gaps(paper.SUPERVISED[MAIN], "r").mean())
ORTHOGONALITY = (
    claim(
        "ortho-gaps-are-small", "4.2",
        "Orthogonality, permuted or not, gives gaps that are small beside those of supervised halves.",
        "; ".join(f"{name} {paper.gap(MAIN, name) / _LARGEST:.2f}" for name in ORTHOGONAL) + " (tables 1 and 3)",
        Rule("gap of z over that of supervised halves, means of DC and BC", "below", SMALL), small_gaps,
        halves=on(MAIN, "supervised", *ORTHOGONAL),
    ),
    claim(
        "ortho-gaps-are-there", "4.2", "Orthogonality disentangles somewhat, unlike InfoMin: its gaps are larger.",
        f"{in_words(_SAID_PAIRS)} (tables 2 and 3)",
        Rule("gap of z minus that with InfoMin of the same weight, mean of DC and BC", "above", 0.0, MOSTLY),
        gaps_beyond_info_min, halves=on(MAIN, *INFO_MIN, *ORTHOGONAL), printed=_SAID_PAIRS,
    ),
    claim(
        "weight-costs-accuracy", "4.2",
        "Without the permutation the larger weight of orthogonality costs accuracy of z and its halves.",
        f"{in_words(said_accuracies(MAIN, 'ortho 0.001', ORTHO))} (table 3)",
        Rule("accuracy with ortho 0.001 minus that with ortho 0.1", "above", 0.0, MOSTLY),
        accuracies(MAIN, "ortho 0.001", ORTHO), printed=said_accuracies(MAIN, "ortho 0.001", ORTHO),
    ),
    claim(
        "permutation-keeps-accuracy", "4.2", "The permutation keeps accuracy at the larger weight.",
        f"{in_words(said_accuracies(MAIN, P_ORTHO, ORTHO))} (table 3)",
        Rule("accuracy with p_ortho 0.1 minus that with ortho 0.1", "above", 0.0, MOSTLY),
        accuracies(MAIN, P_ORTHO, ORTHO), printed=said_accuracies(MAIN, P_ORTHO, ORTHO),
    ),
    claim(
        "permutation-gives-the-best-halves", "4.2.1", "P(Ortho) with λ 0.1 gives the best halves of all in table 3.",
        f"{_said_best()} (table 3)",
        Rule("accuracy of the better half with p_ortho 0.1 minus that of the other setting", "above", 0.0),
        best_halves, halves=on(MAIN, P_ORTHO, *_OTHERS),
        printed={
            f"{factor}, − {other}": ahead
            for other in _OTHERS
            for factor, ahead in of_factors(_BEST[P_ORTHO] - _BEST[other]).items()
        },
    ),
    claim(
        "permutation-widens-gaps", "4.2.1", "The permutation makes the gaps of both tasks larger.",
        f"{listed(_said_effects()[0])}; on BC the tables say the opposite (table 3)",
        Rule("gap with p_ortho minus that with ortho, mean over both weights", "above", 0.0),
        by_factor(MAIN, ORTHOGONAL, permutation_effect), halves=on(MAIN, *ORTHOGONAL),
        printed=of_factors(_said_effects()[0]),
    ),
    claim(
        "permutation-acts-more-than-the-weight", "4.2.1", "The permutation widens gaps more than the weight λ does.",
        f"{listed(_said_effects()[0] - _said_effects()[1])} (table 3)",
        Rule(
            "what the permutation adds to a gap (mean over weights) minus what λ 0.1 adds to that of 0.001 (mean over "
            "both)", "above", 0.0,
        ),
        by_factor(MAIN, ORTHOGONAL, lambda models, factor: (
            permutation_effect(models, factor) - weight_effect(models, factor)
        )),
        halves=on(MAIN, *ORTHOGONAL), printed=of_factors(_said_effects()[0] - _said_effects()[1]),
    ),
)  # fmt: skip
_SAID_DIGITS = {name: _said_gap(name, 0) - _said_gap(name, 1) for name in ORTHOGONAL[:2]}
_SAID_LOCATION = {"": _said_gap(ORTHO, 1) - _said_gap("ortho 0.001", 1)}
_SAID_NARROWED = {
    f"λ {weight}": paper.gap(OTHER, f"p_ortho {weight}") - paper.gap(OTHER, f"ortho {weight}") for weight in WEIGHTS
}
_SAID_PERMUTED = {"DC": paper.said(OTHER, P_ORTHO)["z"][0] - paper.said(OTHER, ORTHO)["z"][0]}
LOCATION = (
    claim(
        "location-gaps-are-smaller", "A.4.3",
        "On dc_dl, orthogonality without the permutation sets the halves apart on digits, and hardly on location.",
        f"{in_words(_SAID_DIGITS)} (table 6)",
        Rule("gap on DC minus gap on DL", "above", 0.0), digits_beyond_location, halves=on(OTHER, *ORTHOGONAL[:2]),
        printed=_SAID_DIGITS,
    ),
    claim(
        "weight-widens-location-gaps", "A.4.3", "On dc_dl the gap on location grows with the weight of orthogonality.",
        f"{in_words(_SAID_LOCATION)} (table 6)",
        Rule("gap on DL with ortho 0.1 minus that with 0.001", "above", 0.0), location_by_weight,
        halves=on(OTHER, *ORTHOGONAL[:2]), printed=_SAID_LOCATION,
    ),
    claim(
        "permutation-narrows-gaps", "A.4.3", "On dc_dl the gaps are smaller with the permutation.",
        f"{in_words(_SAID_NARROWED)} (table 6)",
        Rule("gap with p_ortho minus that with ortho, mean of DC and DL", "below", 0.0), narrowed,
        halves=on(OTHER, *ORTHOGONAL), printed=_SAID_NARROWED,
    ),
    claim(
        "permutation-costs-accuracy", "A.4.3", "On dc_dl the permutation costs accuracy of z at the larger weight.",
        f"{in_words(_SAID_PERMUTED)} (table 6; at 0.001 it gains "
        f"{paper.said(OTHER, 'p_ortho 0.001')['z'][0] - paper.said(OTHER, 'ortho 0.001')['z'][0]:.1f})",
        Rule("accuracy of z on DC with p_ortho 0.1 minus that with ortho 0.1", "below", 0.0), permuted_accuracy,
        printed=_SAID_PERMUTED,
    ),
)  # fmt: skip


# Tables 3, 6, 8 and 9: the Hessian

_RIVALS = [(variant, other) for variant in (MAIN, OTHER) for other in (ORTHO, P_ORTHO)]


def hessian_beyond_others(models: Models) -> Numbers:
    return {
        f"{variant}, − {other.split()[0]}": seed_by_seed(
            models.gap(variant, HESSIAN) - models.gap(variant, other), HESSIAN, other, variants=(variant,)
        )
        for variant, other in _RIVALS
    }


def location_gaps(models: Models) -> Numbers:
    hessian = models.gap(OTHER, HESSIAN, "location")
    return {
        f"− {other}": seed_by_seed(hessian - models.gap(OTHER, other, "location"), HESSIAN, other, variants=(OTHER,))
        for other in (ORTHO, P_ORTHO)
    }


def diagonal_shares(first: str, second: str) -> Measure:
    """How much larger the share of diagonal runs is with the first setting; by an exact test on the counts."""

    def measure(models: Models) -> Numbers:
        runs = {name: models.numbers("scores.diagonal.z", MAIN, name) for name in (first, second)}
        counted = [one for name, row in runs.items() for one in used(row, name)]
        known = [row[np.isfinite(row)] for row in runs.values()]
        if min(map(len, known)) < ENOUGH:
            return {"": Number(Estimate(average(known[0]) - average(known[1])), counted)}
        return {"": Number(exact_share_difference(*known), counted)}

    return measure


def gaps_by_task(models: Models) -> Numbers:
    digit, background = (models.gap(MAIN, P_ORTHO, factor) for factor in SHARED[MAIN])
    return {"": seed_by_seed(digit - background, P_ORTHO)}


def spread_by_task(models: Models) -> Numbers:
    gaps = [models.gap(MAIN, P_ORTHO, factor) for factor in SHARED[MAIN]]
    return {"DC / BC": Number(spread_ratio(*gaps), used(gaps[0], P_ORTHO))}


def spread_of_gaps(models: Models) -> Numbers:
    """The spreads of two groups: a seed counts whether or not the other group has it."""
    gaps = {name: models.gap(MAIN, name, "digit") for name in (HESSIAN, P_ORTHO)}
    return {"DC": Number(spread_ratio(*gaps.values()), [one for name, gap in gaps.items() for one in used(gap, name)])}


_SAID_RIVALS = {f"{v}, − {o.split()[0]}": paper.gap(v, HESSIAN) - paper.gap(v, o) for v, o in _RIVALS}
_SAID_BROKEN = {f"− {other}": _said_gap(HESSIAN, 1) - _said_gap(other, 1) for other in (ORTHO, P_ORTHO)}
_DIAGONAL = {name: np.sum([paper.diagonal(rows) for rows in paper.REPEATED[name]]) for name in (HESSIAN, P_ORTHO)}
_DEVIATIONS = {name: np.sqrt(paper.VARIANCES[name]) for name in (HESSIAN, P_ORTHO)}
_MEANS = paper.repeated_gaps(P_ORTHO).mean(0)
CURVATURE = (
    claim(
        "hessian-gaps-are-larger", "4.3",
        "The Hessian regularizer gives larger gaps than orthogonality, permuted or not.",
        f"{in_words(_SAID_RIVALS)} (tables 3 and 6)",
        Rule("gap of z with λ 0.1 minus that of the other, mean of both factors", "above", 0.0, MOSTLY),
        hessian_beyond_others, halves=[*on(MAIN, HESSIAN, ORTHO, P_ORTHO), *on(OTHER, HESSIAN, ORTHO, P_ORTHO)],
        printed=_SAID_RIVALS,
    ),
    claim(
        "hessian-breaks-location", "A.4.4", "On dc_dl only the Hessian sets the halves apart on digit location.",
        f"{in_words(_SAID_BROKEN)} (table 6, A.4.4)",
        Rule("gap of z on DL with hessian 0.1 minus that of the other", "above", 0.0), location_gaps,
        halves=on(OTHER, HESSIAN, ORTHO, P_ORTHO), printed=_SAID_BROKEN,
    ),
    claim(
        "hessian-costs-accuracy", "4.3",
        "The Hessian regularizer costs accuracy: z and its halves do worse than with P(Ortho).",
        f"{in_words(said_accuracies(MAIN, HESSIAN, P_ORTHO))} (table 3)",
        Rule("accuracy with hessian 0.1 minus that with p_ortho 0.1", "below", 0.0, MOSTLY),
        accuracies(MAIN, HESSIAN, P_ORTHO), printed=said_accuracies(MAIN, HESSIAN, P_ORTHO),
    ),
    claim(
        "only-the-larger-weight-is-diagonal", "4.3.1",
        "The Hessian gives the diagonal only with the larger weight.",
        "one run each: diagonal with 0.1, and not with 0.001 (table 3)",
        Rule(
            "share of runs in which each half is the better one on some task, hessian 0.1 minus hessian 0.001",
            "above", 0.0,
        ),
        diagonal_shares(HESSIAN, "hessian 0.001"), halves=on(MAIN, HESSIAN, "hessian 0.001"),
    ),
)  # fmt: skip
SEEDS = (
    claim(
        "hessian-is-diagonal", "A.5", "With the Hessian the halves are diagonal in more runs than with P(Ortho).",
        f"{_DIAGONAL[HESSIAN]:.0f} of six runs, and {_DIAGONAL[P_ORTHO]:.0f} (tables 8 and 9)",
        Rule(
            "share of runs in which each half is the better one on some task, hessian 0.1 minus p_ortho 0.1",
            "above", 0.0,
        ),
        diagonal_shares(HESSIAN, P_ORTHO), halves=on(MAIN, HESSIAN, P_ORTHO),
        printed={"": float(_DIAGONAL[HESSIAN] - _DIAGONAL[P_ORTHO]) / len(paper.REPEATED[HESSIAN])},
    ),
    claim(
        "hessian-varies-more", "A.5",
        "The gap on DC varies more from seed to seed with the Hessian than with P(Ortho).",
        f"DC {_DEVIATIONS[HESSIAN][0] / _DEVIATIONS[P_ORTHO][0]:.2f}; on BC there is no difference (A.5)",
        Rule("standard deviation of the gap of z on DC over seeds, hessian 0.1 over p_ortho 0.1", "above", 1.0),
        spread_of_gaps, halves=on(MAIN, HESSIAN, P_ORTHO),
        printed={"DC": float(_DEVIATIONS[HESSIAN][0] / _DEVIATIONS[P_ORTHO][0])},
    ),
    claim(
        "digit-gaps-are-larger", "A.5.1", "With P(Ortho) the gaps on digits are larger than those on backgrounds.",
        f"{_MEANS[0] - _MEANS[1]:.1f}: DC {_MEANS[0]:.1f}, BC {_MEANS[1]:.1f} (A.5.1)",
        Rule("gap on DC minus gap on BC with p_ortho 0.1", "above", 0.0), gaps_by_task, halves=on(MAIN, P_ORTHO),
        printed={"": float(_MEANS[0] - _MEANS[1])},
    ),
    claim(
        "digit-gaps-vary-less", "A.5.1", "With P(Ortho) the gaps on digits vary less than those on backgrounds.",
        f"{math.sqrt(paper.VARIANCES[P_ORTHO][0] / paper.VARIANCES[P_ORTHO][1]):.2f}: variances "
        f"{listed(np.array(paper.VARIANCES[P_ORTHO]))} (A.5.1)",
        Rule("standard deviation over seeds of the gap on DC over that on BC, with p_ortho 0.1", "below", 1.0),
        spread_by_task, halves=on(MAIN, P_ORTHO),
        printed={"DC / BC": math.sqrt(paper.VARIANCES[P_ORTHO][0] / paper.VARIANCES[P_ORTHO][1])},
    ),
)  # fmt: skip


# Table 7 and section 5


def degenerate(models: Models, variant: str, setting: str) -> Array:
    """The share of the two factors that z and its halves tell alike, or that nothing tells (A.4.5) (seeds,)."""
    return models.numbers("scores.at_chance.z", variant, setting) + models.numbers("scores.alike.z", variant, setting)


def degenerate_more_often(models: Models) -> Numbers:
    shares = [degenerate(models, OTHER, name) - degenerate(models, MAIN, name) for name in REGULARIZED]
    return {"": seed_by_seed(_mean(shares), *REGULARIZED, variants=(MAIN, OTHER))}


def _mean(values: Sequence[Array]) -> Array:
    """Of the seeds that all of them have."""
    return np.asarray(np.mean(values, axis=0))


def lost(models: Models, variant: str, setting: str) -> Array:
    """What the better half of z falls short of the whole, mean over factors (seeds,)."""
    return _mean([
        models.accuracy(variant, setting, "z", factor) - models.parts(variant, setting, factor).max(0)
        for factor in SHARED[variant]
    ])  # fmt: skip


def lost_on_both(models: Models) -> Numbers:
    """The mean over variants; not known where one has no model."""
    numbers = {}
    for setting in (ORTHO, P_ORTHO, HESSIAN):
        rows = {variant: lost(models, variant, setting) for variant in (MAIN, OTHER)}
        values = np.stack(list(rows.values()))
        models_used = [one for variant, row in rows.items() for one in used(row, setting, variants=(variant,))]
        known = np.isfinite(values).any(1).all()
        numbers[setting] = Number(mean(values), models_used) if known else Number(UNKNOWN, [])
    return numbers


_SAID_LOST = {
    name: float(np.mean([paper.lost(paper.said(variant, name)) for variant in (MAIN, OTHER)]))
    for name in (ORTHO, P_ORTHO, HESSIAN)
}
DEGENERACY = (
    claim(
        "dc-dl-degenerates", "A.4.5",
        "With dc_dl regularized models fall into degenerate solutions more often than with dc_bc.",
        "two runs are shown, one at chance and one with location told alike (table 7); how often is not given",
        Rule(
            "share of the factors that z and its halves tell alike, or not at all, dc_dl minus dc_bc, mean over "
            "regularizers and weights", "above", 0.0,
        ),
        degenerate_more_often,
    ),
)  # fmt: skip
WHOLE = (
    claim(
        "halves-lose", "5", "Information is lost: neither half of z does as well as the whole.",
        f"{in_words(_SAID_LOST)} (section 5; tables 3 and 6)",
        Rule("accuracy of z minus that of its better half, mean over factors and variants", "above", 0.0), lost_on_both,
        halves=[*on(MAIN, ORTHO, P_ORTHO, HESSIAN), *on(OTHER, ORTHO, P_ORTHO, HESSIAN)], printed=_SAID_LOST,
    ),
)  # fmt: skip


# Beyond the paper


def both_at_once(models: Models) -> Numbers:
    better = [
        models.accuracy(MAIN, BOTH, "z", factor) - models.accuracy(MAIN, HESSIAN, "z", factor)
        for factor in SHARED[MAIN]
    ]
    return {
        "gap − p_ortho's": seed_by_seed(models.gap(MAIN, BOTH) - models.gap(MAIN, P_ORTHO), BOTH, P_ORTHO),
        "accuracy of z − hessian's": seed_by_seed(_mean(better), BOTH, HESSIAN),
    }


def beyond_rotations(models: Models) -> Numbers:
    plain = "plain, one head"
    return {
        f"− {rotation}": seed_by_seed(
            models.gap(MAIN, HESSIAN) - models.rotated(MAIN, plain, CODES[1], rotation, "dependence"), HESSIAN, plain
        )
        for rotation in ("ICA", "varimax")
    }


BEYOND = (
    claim(
        "together-give-both", "4.3.1",
        "Hessian and P(Ortho) together give both: larger gaps than P(Ortho), and a better z than the Hessian.",
        "suggested, not tried (4.3.1)", Rule("on dc_bc, means of DC and BC", "above", 0.0), both_at_once,
        halves=on(MAIN, BOTH, P_ORTHO, HESSIAN),
    ),
    claim(
        "beats-rotation", "beyond",
        "The Hessian's gaps are larger than those of a plain z that is rotated afterwards and grouped without labels.",
        "not asked",
        Rule(
            "gap of z with hessian 0.1 minus that of the plain z with one head, rotated, mean of DC and BC",
            "above", 0.0,
        ),
        beyond_rotations, halves=on(MAIN, HESSIAN, "plain, one head"),
    ),
    claim(
        "all-views-cost-a-half", "beyond",
        "With j over all views in (6), the poorer half of P(Ortho) tells less than with j over the pair.",
        "not asked: the text names i and its positive (4.2)",
        Rule("accuracy of the poorer half with j over the pair minus that over all views, by factor", "above", 0.0),
        by_factor(MAIN, (P_ORTHO, ALL_VIEWS), lambda models, factor: (
            models.parts(MAIN, P_ORTHO, factor).min(0) - models.parts(MAIN, ALL_VIEWS, factor).min(0)
        )),
    ),
)  # fmt: skip
CLAIMS = (*SUPERVISED, *MINIMISED, *ORTHOGONALITY, *LOCATION, *CURVATURE, *SEEDS, *DEGENERACY, *WHOLE, *BEYOND)
