"""What the paper says, as claims about the table of models, and what each of them measures.

Models with the same seed begin with the same weights and see the same images, so two settings are compared seed by
seed. Accuracies and gaps are in percent, as in the paper's tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from unbraid.report.claims import Claim, Rule
from unbraid.report.estimates import UNKNOWN, Array, Estimate, mean, share_difference, spread_ratio
from unbraid.studies.contrastive import paper
from unbraid.studies.contrastive.models import CODES, SHARED, SHORT, Models

MAXIMAL = 0.9  # of the largest gap there can be, from which a gap is near it
SMALL = 0.25  # of the gap of supervised halves, up to which a gap is small
ALIKE = 2.0  # points of accuracy that are no difference
CHANCE = 5.0  # points above chance that are near it

ORTHO, P_ORTHO, HESSIAN = "ortho 0.1", "p_ortho 0.1", "hessian 0.1"
BOTH = "hessian 0.1 + p_ortho 0.1"
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


def claim(key: str, where: str, words: str, said: str, rule: Rule, measure: Measure) -> Claim[Models]:
    """A claim that also says how many models of which settings its numbers are made of."""

    def note(models: Models) -> str:
        used = dict.fromkeys(chain.from_iterable(entry.used for entry in measure(models).values()))  # each once
        counts = Counter(setting for _, setting, _ in used)
        return "n = " + ", ".join(f"{count} × {setting}" for setting, count in counts.items()) if counts else ""

    return Claim(
        key=key, section=where, words=words, paper=said, rule=rule, note=note,
        measure=lambda models: {name: entry.estimate for name, entry in measure(models).items()},
    )  # fmt: skip


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


def listed(values: Array, variant: str = MAIN) -> str:
    """The paper's figures of the two factors."""
    return "; ".join(f"{SHORT[factor]} {value:.1f}" for factor, value in zip(SHARED[variant], values, strict=True))


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


_SAID_GAPS = "; ".join(f"λ {name.split()[1]} {paper.gap(MAIN, name):.1f}" for name in INFO_MIN)
MINIMISED = (
    claim(
        "info-min-does-not-disentangle", "4.1",
        "InfoMin does not disentangle: z0 and z1 do as well as each other, no further apart than without it.",
        f"gaps of z, mean of DC and BC: {_SAID_GAPS}; no plain model is shown (table 2)",
        Rule("gap of z minus that of the plain model with two heads, mean of DC and BC", "below", ALIKE),
        gaps_beyond_plain,
    ),
    claim(
        "info-min-costs-accuracy", "4.1", "A larger weight of InfoMin costs accuracy of z.",
        f"{listed(_said_loss('z'))} (table 2)", Rule("accuracy of z with λ 0.001 minus that with 0.1", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda models, factor: _loss(models, "z", factor)),
    ),
    claim(
        "info-min-is-local", "4.1", "InfoMin acts where it is applied: its weight changes z, and r hardly.",
        f"{listed(_said_loss('z') - _said_loss('r'))}; r alone loses {listed(_said_loss('r'))} (table 2)",
        Rule("what z loses between λ 0.001 and 0.1, minus what r loses", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda models, factor: _loss(models, "z", factor) - _loss(models, "r", factor)),
    ),
    claim(
        "info-min-prevents-learning", "A.4",
        "On dc_dl InfoMin keeps anything from being learned: r is near chance on both tasks.",
        f"{listed(np.subtract(paper.INFO_MIN_DC_DL['r'], paper.CHANCE[OTHER]), OTHER)} above chance; its λ is not "
        "given (table 5)",
        Rule("accuracy of r with λ 0.1, above chance", "below", CHANCE), by_factor(OTHER, INFO_MIN[1:], _above_chance),
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


def said_accuracies(variant: str, first: str, second: str) -> str:
    one, other = paper.said(variant, first), paper.said(variant, second)
    whole, halves = np.subtract(one["z"], other["z"]), paper.halves(one) - paper.halves(other)
    return f"z {listed(whole, variant)}; halves {listed(halves, variant)}"


_LARGEST = float(paper.gaps(paper.SUPERVISED[MAIN], "r").mean())
ORTHOGONALITY = (
    claim(
        "ortho-gaps-are-small", "4.2",
        "Orthogonality, permuted or not, gives gaps that are small beside those of supervised halves.",
        "; ".join(f"{name} {paper.gap(MAIN, name) / _LARGEST:.2f}" for name in ORTHOGONAL) + " (tables 1 and 3)",
        Rule("gap of z over that of supervised halves, means of DC and BC", "below", SMALL), small_gaps,
    ),
    claim(
        "ortho-gaps-are-there", "4.2", "Orthogonality disentangles somewhat, unlike InfoMin: its gaps are larger.",
        "; ".join(f"{words} {paper.gap(MAIN, a) - paper.gap(MAIN, b):.1f}" for words, (a, b) in _PAIRS.items())
        + " (tables 2 and 3)",
        Rule("gap of z minus that with InfoMin of the same weight, mean of DC and BC", "above", 0.0),
        gaps_beyond_info_min,
    ),
    claim(
        "weight-costs-accuracy", "4.2",
        "Without the permutation the larger weight of orthogonality costs accuracy of z and its halves.",
        f"{said_accuracies(MAIN, 'ortho 0.001', ORTHO)} (table 3)",
        Rule("accuracy with ortho 0.001 minus that with ortho 0.1", "above", 0.0),
        accuracies(MAIN, "ortho 0.001", ORTHO),
    ),
    claim(
        "permutation-keeps-accuracy", "4.2", "The permutation keeps accuracy at the larger weight.",
        f"{said_accuracies(MAIN, P_ORTHO, ORTHO)} (table 3)",
        Rule("accuracy with p_ortho 0.1 minus that with ortho 0.1", "above", 0.0), accuracies(MAIN, P_ORTHO, ORTHO),
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


def diagonal_shares(models: Models) -> Numbers:
    runs = {name: models.numbers("scores.diagonal.z", MAIN, name) for name in (HESSIAN, P_ORTHO)}
    counted = [one for name, row in runs.items() for one in used(row, name)]
    return {"": Number(share_difference(*runs.values()), counted)}


def spread_of_gaps(models: Models) -> Numbers:
    """The spreads of two groups: a seed counts whether or not the other group has it."""
    gaps = {name: models.gap(MAIN, name, "digit") for name in (HESSIAN, P_ORTHO)}
    return {"DC": Number(spread_ratio(*gaps.values()), [one for name, gap in gaps.items() for one in used(gap, name)])}


def _said_location() -> str:
    hessian = paper.gaps(paper.said(OTHER, HESSIAN))[1]
    return "; ".join(f"− {other} {hessian - paper.gaps(paper.said(OTHER, other))[1]:.1f}" for other in (ORTHO, P_ORTHO))


_DIAGONAL = {name: np.mean([paper.diagonal(rows) for rows in paper.REPEATED[name]]) for name in (HESSIAN, P_ORTHO)}
_DEVIATIONS = {name: paper.repeated_gaps(name).std(0, ddof=1) for name in (HESSIAN, P_ORTHO)}
CURVATURE = (
    claim(
        "hessian-gaps-are-larger", "4.3",
        "The Hessian regularizer gives larger gaps than orthogonality, permuted or not.",
        "; ".join(f"{v}, − {o.split()[0]} {paper.gap(v, HESSIAN) - paper.gap(v, o):.1f}" for v, o in _RIVALS)
        + " (tables 3 and 6)",
        Rule("gap of z with λ 0.1 minus that of the other, mean of both factors", "above", 0.0), hessian_beyond_others,
    ),
    claim(
        "hessian-breaks-location", "A.4.4", "On dc_dl only the Hessian sets the halves apart on digit location.",
        f"{_said_location()} (table 6, A.4.4)",
        Rule("gap of z on DL with hessian 0.1 minus that of the other", "above", 0.0), location_gaps,
    ),
    claim(
        "hessian-costs-accuracy", "4.3",
        "The Hessian regularizer costs accuracy: z and its halves do worse than with P(Ortho).",
        f"{said_accuracies(MAIN, HESSIAN, P_ORTHO)} (table 3)",
        Rule("accuracy with hessian 0.1 minus that with p_ortho 0.1", "below", 0.0), accuracies(MAIN, HESSIAN, P_ORTHO),
    ),
)  # fmt: skip
SEEDS = (
    claim(
        "hessian-is-diagonal", "A.5", "With the Hessian the halves are diagonal in more runs than with P(Ortho).",
        f"{_DIAGONAL[HESSIAN]:.2f} of six runs, and {_DIAGONAL[P_ORTHO]:.2f} (tables 8 and 9)",
        Rule(
            "share of runs in which each half is the better one on some task, hessian 0.1 minus p_ortho 0.1",
            "above", 0.0,
        ),
        diagonal_shares,
    ),
    claim(
        "hessian-varies-more", "A.5",
        "The gap on DC varies more from seed to seed with the Hessian than with P(Ortho).",
        f"DC {_DEVIATIONS[HESSIAN][0] / _DEVIATIONS[P_ORTHO][0]:.2f}; on BC there is no difference (A.5)",
        Rule("standard deviation of the gap of z on DC over seeds, hessian 0.1 over p_ortho 0.1", "above", 1.0),
        spread_of_gaps,
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
        there = [one for variant, row in rows.items() for one in used(row, setting, variants=(variant,))]
        numbers[setting] = Number(mean(values), there) if np.isfinite(values).any(1).all() else Number(UNKNOWN, [])
    return numbers


_SAID_LOST = "; ".join(
    f"{name} {np.mean([paper.lost(paper.said(variant, name)) for variant in (MAIN, OTHER)]):.1f}"
    for name in (ORTHO, P_ORTHO, HESSIAN)
)
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
        f"{_SAID_LOST} (section 5; tables 3 and 6)",
        Rule("accuracy of z minus that of its better half, mean over factors and variants", "above", 0.0), lost_on_both,
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
    ),
    claim(
        "beats-rotation", "beyond",
        "The Hessian's gaps are larger than those of a plain z that is rotated afterwards and grouped without labels.",
        "not asked",
        Rule(
            "gap of z with hessian 0.1 minus that of the plain z with one head, rotated, mean of DC and BC",
            "above", 0.0,
        ),
        beyond_rotations,
    ),
)  # fmt: skip
CLAIMS = (*SUPERVISED, *MINIMISED, *ORTHOGONALITY, *CURVATURE, *SEEDS, *DEGENERACY, *WHOLE, *BEYOND)
