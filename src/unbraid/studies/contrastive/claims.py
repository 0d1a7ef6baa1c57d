"""What the paper says, as rules that tables of runs satisfy or violate. The rules were fixed before the results.

Every claim comes down to numbers with 95 % intervals over seeds, and one threshold. Models with the same seed begin
with the same weights and see the same images, so that two settings are compared seed by seed. Accuracies and gaps are
in percent, as in the paper's tables.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
import pandas as pd

from unbraid.report import Claim, Judged, Rule
from unbraid.report.estimates import Array, Estimate, mean, spread_ratio
from unbraid.studies.contrastive import paper
from unbraid.studies.contrastive.models import CODES, SHARED, SHORT, Models, turned

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

Used = list[tuple[str, str, int]]  # models: variant, setting, and place of the seed
Judge = Callable[["Found"], Judged]


@dataclass(frozen=True, eq=False)
class Found:
    """The models, and what rotations of their codes brought."""

    models: Models
    rotations: pd.DataFrame


@dataclass(frozen=True)
class Number:
    """A number with its interval, and the models that it is made of."""

    estimate: Estimate
    used: Used


Numbers = dict[str, Number]


def seed_by_seed(values: Array, *settings: str, variants: Sequence[str] = (MAIN,)) -> Number:
    """The mean of values (seeds,), each made of one model of every one of these settings and variants."""
    return Number(mean(values), used(values, *settings, variants=variants))


def used(values: Array, *settings: str, variants: Sequence[str] = (MAIN,)) -> Used:
    """The models of the seeds that have a value: a difference has none where one of its two models is missing."""
    return list(product(variants, settings, np.flatnonzero(np.isfinite(values)).tolist()))


def judged(words: str, said: str, rule: Rule, numbers: Numbers) -> Judged:
    """The claim with its verdict, and how many models of which settings its numbers are made of."""
    models = dict.fromkeys(chain.from_iterable(entry.used for entry in numbers.values()))  # each once, in order
    counts = Counter(setting for _, setting, _ in models)
    runs = ", ".join(f"{count} × {setting}" for setting, count in counts.items())
    found = {name: entry.estimate for name, entry in numbers.items()}
    note = f"n = {runs}" if runs else ""
    return Claim[None]("", "", words, said, rule, lambda _: found, note=lambda _: note).judge(None)


def by_factor(variant: str, settings: Sequence[str], value: Callable[[str], Array]) -> Numbers:
    """A number for each factor that pairs share, by its short name."""
    return {SHORT[factor]: seed_by_seed(value(factor), *settings, variants=(variant,)) for factor in SHARED[variant]}


def listed(values: Array, variant: str = MAIN) -> str:
    """The paper's figures of the two factors."""
    return "; ".join(f"{SHORT[factor]} {value:.1f}" for factor, value in zip(SHARED[variant], values, strict=True))


# Tables 1 and 4


def share_of_largest(models: Models, variant: str) -> dict[str, Array]:
    """C(own half) - C(other half) over C(r) - chance, of halves of r that were trained for a factor each (seeds,)."""
    found = {}
    for place, factor in enumerate(SHARED[variant]):
        parts = models.parts(variant, "supervised", factor, "r")
        largest = models.accuracy(variant, "supervised", "r", factor) - models.chance(variant, "supervised", factor)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[f"{variant} {SHORT[factor]}"] = np.where(
                largest > 0, (parts[place] - parts[1 - place]) / largest, np.nan
            )
    return found


def supervised_is_diagonal(found: Found) -> Judged:
    said = []
    for variant, rows in paper.SUPERVISED.items():
        largest = np.subtract(rows["r"], paper.CHANCE[variant])
        shares = paper.gaps(rows, "r") / largest
        said += [f"{variant} {SHORT[name]} {share:.2f}" for name, share in zip(SHARED[variant], shares, strict=True)]
    numbers = {
        name: seed_by_seed(values, "supervised", variants=(variant,))
        for variant in (MAIN, OTHER)
        for name, values in share_of_largest(found.models, variant).items()
    }
    return judged(
        "Halves trained with a label each give the diagonal, with gaps near the largest possible.",
        f"{'; '.join(said)} (tables 1 and 4)",
        Rule("C(own half) − C(other half) of r, over C(r) − chance", "above", MAXIMAL),
        numbers,
    )


# Tables 2 and 5: InfoMin


def info_min_does_not_disentangle(found: Found) -> Judged:
    models = found.models
    plain = models.gap(MAIN, "plain")
    said = "; ".join(f"λ {name.split()[1]} {paper.gap(MAIN, name):.1f}" for name in INFO_MIN)
    return judged(
        "InfoMin does not disentangle: z0 and z1 do as well as each other, no further apart than without it.",
        f"gaps of z, mean of DC and BC: {said}; no plain model is shown (table 2)",
        Rule("gap of z minus that of the plain model with two heads, mean of DC and BC", "below", ALIKE),
        {f"λ {name.split()[1]}": seed_by_seed(models.gap(MAIN, name) - plain, "plain", name) for name in INFO_MIN},
    )


def _loss(models: Models, code: str, factor: str) -> Array:
    """What a code loses of a factor as the weight of InfoMin grows (seeds,)."""
    weak, strong = (models.accuracy(MAIN, name, code, factor) for name in INFO_MIN)
    return weak - strong


def _said_loss(code: str) -> Array:
    weak, strong = (paper.INFO_MIN[name][code] for name in INFO_MIN)
    return np.subtract(weak, strong)


def info_min_costs_accuracy(found: Found) -> Judged:
    return judged(
        "A larger weight of InfoMin costs accuracy of z.",
        f"{listed(_said_loss('z'))} (table 2)",
        Rule("accuracy of z with λ 0.001 minus that with 0.1", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda factor: _loss(found.models, "z", factor)),
    )


def info_min_is_local(found: Found) -> Judged:
    return judged(
        "InfoMin acts where it is applied: its weight changes z, and r hardly.",
        f"{listed(_said_loss('z') - _said_loss('r'))}; r alone loses {listed(_said_loss('r'))} (table 2)",
        Rule("what z loses between λ 0.001 and 0.1, minus what r loses", "above", 0.0),
        by_factor(MAIN, INFO_MIN, lambda factor: _loss(found.models, "z", factor) - _loss(found.models, "r", factor)),
    )


def info_min_prevents_learning(found: Found) -> Judged:
    models, setting = found.models, INFO_MIN[1]
    above = np.subtract(paper.INFO_MIN_DC_DL["r"], paper.CHANCE[OTHER])
    return judged(
        "On dc_dl InfoMin keeps anything from being learned: r is near chance on both tasks.",
        f"{listed(above, OTHER)} above chance; its λ is not told (table 5)",
        Rule("accuracy of r with λ 0.1, above chance", "below", CHANCE),
        by_factor(
            OTHER,
            (setting,),
            lambda factor: models.accuracy(OTHER, setting, "r", factor) - models.chance(OTHER, setting, factor),
        ),
    )


# Tables 3 and 6: orthogonality


def ortho_gaps_are_small(found: Found) -> Judged:
    models = found.models
    largest = models.gap(MAIN, "supervised", code="r")
    said = float(paper.gaps(paper.SUPERVISED[MAIN], "r").mean())
    shares = "; ".join(f"{name} {paper.gap(MAIN, name) / said:.2f}" for name in ORTHOGONAL)
    return judged(
        "Orthogonality, permuted or not, gives gaps that are small beside those of supervised halves.",
        f"{shares} (tables 1 and 3)",
        Rule("gap of z over that of supervised halves, means of DC and BC", "below", SMALL),
        {name: seed_by_seed(_over(models.gap(MAIN, name), largest), "supervised", name) for name in ORTHOGONAL},
    )


def _over(above: Array, below: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(below > 0, above / below, np.nan))


def ortho_gaps_are_there(found: Found) -> Judged:
    models = found.models
    pairs = {f"{name} − info_min {name.split()[1]}": (name, f"info_min {name.split()[1]}") for name in ORTHOGONAL}
    said = "; ".join(
        f"{words} {paper.gap(MAIN, mine) - paper.gap(MAIN, other):.1f}" for words, (mine, other) in pairs.items()
    )
    return judged(
        "Orthogonality disentangles somewhat, unlike InfoMin: its gaps are larger.",
        f"{said} (tables 2 and 3)",
        Rule("gap of z minus that with InfoMin of the same weight, mean of DC and BC", "above", 0.0),
        {
            words: seed_by_seed(models.gap(MAIN, mine) - models.gap(MAIN, other), mine, other)
            for words, (mine, other) in pairs.items()
        },
    )


def accuracies(models: Models, variant: str, first: str, second: str) -> Numbers:
    """How much better z, and the mean of its halves, tell each factor with the first setting than with the second."""
    found = {}
    for factor in SHARED[variant]:
        whole, halves = (
            [values(name, factor) for name in (first, second)]
            for values in (
                lambda name, factor: models.accuracy(variant, name, "z", factor),
                lambda name, factor: models.parts(variant, name, factor).mean(0),
            )
        )
        for name, (mine, other) in (("z", whole), ("halves", halves)):
            found[f"{name} {SHORT[factor]}"] = seed_by_seed(mine - other, first, second, variants=(variant,))
    return found


def said_accuracies(variant: str, first: str, second: str) -> str:
    mine, other = paper.said(variant, first), paper.said(variant, second)
    whole, halves = np.subtract(mine["z"], other["z"]), paper.halves(mine) - paper.halves(other)
    return f"z {listed(whole, variant)}; halves {listed(halves, variant)}"


def weight_costs_accuracy(found: Found) -> Judged:
    weak = "ortho 0.001"
    return judged(
        "Without the permutation the larger weight of orthogonality costs accuracy of z and its halves.",
        f"{said_accuracies(MAIN, weak, ORTHO)} (table 3)",
        Rule("accuracy with ortho 0.001 minus that with ortho 0.1", "above", 0.0),
        accuracies(found.models, MAIN, weak, ORTHO),
    )


def permutation_keeps_accuracy(found: Found) -> Judged:
    return judged(
        "The permutation keeps accuracy at the larger weight.",
        f"{said_accuracies(MAIN, P_ORTHO, ORTHO)} (table 3)",
        Rule("accuracy with p_ortho 0.1 minus that with ortho 0.1", "above", 0.0),
        accuracies(found.models, MAIN, P_ORTHO, ORTHO),
    )


# Tables 3, 6, 8 and 9: the Hessian


def hessian_gaps_are_larger(found: Found) -> Judged:
    models = found.models
    numbers, said = {}, []
    for variant in (MAIN, OTHER):
        for other in (ORTHO, P_ORTHO):
            name = f"{variant}, − {other.split()[0]}"
            apart = models.gap(variant, HESSIAN) - models.gap(variant, other)
            numbers[name] = seed_by_seed(apart, HESSIAN, other, variants=(variant,))
            said.append(f"{name} {paper.gap(variant, HESSIAN) - paper.gap(variant, other):.1f}")
    return judged(
        "The Hessian regularizer gives larger gaps than orthogonality, permuted or not.",
        f"{'; '.join(said)} (tables 3 and 6)",
        Rule("gap of z with λ 0.1 minus that of the other, mean of both factors", "above", 0.0),
        numbers,
    )


def hessian_breaks_location(found: Found) -> Judged:
    models = found.models
    mine = models.gap(OTHER, HESSIAN, "location")
    said = {
        f"− {other}": paper.gaps(paper.said(OTHER, HESSIAN))[1] - paper.gaps(paper.said(OTHER, other))[1]
        for other in (ORTHO, P_ORTHO)
    }
    return judged(
        "On dc_dl only the Hessian sets the halves apart on digit location.",
        "; ".join(f"{name} {value:.1f}" for name, value in said.items()) + " (table 6, A.4.4)",
        Rule("gap of z on DL with hessian 0.1 minus that of the other", "above", 0.0),
        {
            f"− {other}": seed_by_seed(mine - models.gap(OTHER, other, "location"), HESSIAN, other, variants=(OTHER,))
            for other in (ORTHO, P_ORTHO)
        },
    )


def hessian_costs_accuracy(found: Found) -> Judged:
    return judged(
        "The Hessian regularizer costs accuracy: z and its halves do worse than with P(Ortho).",
        f"{said_accuracies(MAIN, HESSIAN, P_ORTHO)} (table 3)",
        Rule("accuracy with hessian 0.1 minus that with p_ortho 0.1", "below", 0.0),
        accuracies(found.models, MAIN, HESSIAN, P_ORTHO),
    )


def hessian_is_diagonal_more_often(found: Found) -> Judged:
    models = found.models
    shares = {name: np.mean([paper.diagonal(rows) for rows in paper.REPEATED[name]]) for name in (HESSIAN, P_ORTHO)}
    mine, other = (models.numbers("scores.diagonal.z", MAIN, name) for name in (HESSIAN, P_ORTHO))
    return judged(
        "With the Hessian the halves are diagonal in more runs than with P(Ortho).",
        f"{shares[HESSIAN]:.2f} of six runs, and {shares[P_ORTHO]:.2f} (tables 8 and 9)",
        Rule(
            "share of runs in which each half is the better one on some task, hessian 0.1 minus p_ortho 0.1",
            "above",
            0.0,
        ),
        {"": seed_by_seed(mine - other, HESSIAN, P_ORTHO)},
    )


def hessian_varies_more(found: Found) -> Judged:
    models = found.models
    deviations = {name: paper.repeated_gaps(name).std(0, ddof=1) for name in (HESSIAN, P_ORTHO)}
    gaps = {name: models.gap(MAIN, name, "digit") for name in (HESSIAN, P_ORTHO)}
    # the spreads of two groups: a seed counts whether or not the other has it
    number = Number(spread_ratio(*gaps.values()), [one for name, gap in gaps.items() for one in used(gap, name)])
    return judged(
        "The gap on DC varies more from seed to seed with the Hessian than with P(Ortho).",
        f"DC {deviations[HESSIAN][0] / deviations[P_ORTHO][0]:.2f}; on BC there is no difference (A.5)",
        Rule("standard deviation of the gap of z on DC over seeds, hessian 0.1 over p_ortho 0.1", "above", 1.0),
        {"DC": number},
    )


# Table 7 and section 5


def degenerate(models: Models, variant: str, setting: str) -> Array:
    """The share of the two factors that z and its halves tell alike, or that nothing tells (A.4.5) (seeds,)."""
    return models.numbers("scores.at_chance.z", variant, setting) + models.numbers("scores.alike.z", variant, setting)


def dc_dl_degenerates(found: Found) -> Judged:
    models = found.models
    shares = [degenerate(models, OTHER, name) - degenerate(models, MAIN, name) for name in REGULARIZED]
    return judged(
        "With dc_dl regularized models fall into degenerate solutions more often than with dc_bc.",
        "two runs are shown, one at chance and one with location told alike (table 7); how often is not told",
        Rule(
            "share of the factors that z and its halves tell alike, or not at all, dc_dl minus dc_bc, mean over "
            "regularizers and weights", "above", 0.0,
        ),
        {"": seed_by_seed(_mean(shares), *REGULARIZED, variants=(MAIN, OTHER))},
    )  # fmt: skip


def _mean(values: Sequence[Array]) -> Array:
    """Of the seeds that all of them have."""
    return np.asarray(np.mean(values, axis=0))


def lost(models: Models, variant: str, setting: str) -> Array:
    """What the better half of z falls short of the whole, mean over factors (seeds,)."""
    each = [
        models.accuracy(variant, setting, "z", factor) - models.parts(variant, setting, factor).max(0)
        for factor in SHARED[variant]
    ]
    return _mean(each)


def _lost_on_both(models: Models, setting: str) -> Number:
    """The mean over variants; not known where one has no model."""
    rows = {variant: lost(models, variant, setting) for variant in (MAIN, OTHER)}
    values = np.stack(list(rows.values()))
    if not np.isfinite(values).any(1).all():
        return Number(Estimate(math.nan), [])
    return Number(mean(values), [one for name, row in rows.items() for one in used(row, setting, variants=(name,))])


def halves_lose(found: Found) -> Judged:
    names = (ORTHO, P_ORTHO, HESSIAN)
    said = "; ".join(
        f"{name} {np.mean([paper.lost(paper.said(v, name)) for v in (MAIN, OTHER)]):.1f}" for name in names
    )
    return judged(
        "Information is lost: neither half of z does as well as the whole.",
        f"{said} (section 5; tables 3 and 6)",
        Rule("accuracy of z minus that of its better half, mean over factors and variants", "above", 0.0),
        {name: _lost_on_both(found.models, name) for name in names},
    )


# Beyond the paper


def together_give_both(found: Found) -> Judged:
    models = found.models
    apart = models.gap(MAIN, BOTH) - models.gap(MAIN, P_ORTHO)
    better = [
        models.accuracy(MAIN, BOTH, "z", factor) - models.accuracy(MAIN, HESSIAN, "z", factor)
        for factor in SHARED[MAIN]
    ]
    numbers = {
        "gap − p_ortho's": seed_by_seed(apart, BOTH, P_ORTHO),
        "accuracy of z − hessian's": seed_by_seed(_mean(better), BOTH, HESSIAN),
    }
    return judged(
        "Hessian and P(Ortho) together give both: larger gaps than P(Ortho), and a better z than the Hessian.",
        "suggested, not tried (4.3.1)",
        Rule("on dc_bc, means of DC and BC", "above", 0.0),
        numbers,
    )


def beats_rotation(found: Found) -> Judged:
    models = found.models
    numbers = {}
    for rotation in ("ICA", "varimax"):
        plain = turned(found.rotations, models.seeds, MAIN, "plain, one head", CODES[1], rotation, "dependence")
        numbers[f"− {rotation}"] = seed_by_seed(models.gap(MAIN, HESSIAN) - plain, HESSIAN, "plain, one head")
    return judged(
        "The Hessian's gaps are larger than those of a plain z that is rotated afterwards and grouped without labels.",
        "not asked",
        Rule(
            "gap of z with hessian 0.1 minus that of the plain z with one head, rotated, mean of DC and BC",
            "above",
            0.0,
        ),
        numbers,
    )


SUPERVISED: tuple[Judge, ...] = (supervised_is_diagonal,)
MINIMISED: tuple[Judge, ...] = (
    info_min_does_not_disentangle, info_min_costs_accuracy, info_min_is_local, info_min_prevents_learning,
)  # fmt: skip
ORTHOGONALITY: tuple[Judge, ...] = (
    ortho_gaps_are_small, ortho_gaps_are_there, weight_costs_accuracy, permutation_keeps_accuracy,
)  # fmt: skip
CURVATURE: tuple[Judge, ...] = (hessian_gaps_are_larger, hessian_breaks_location, hessian_costs_accuracy)
SEEDS: tuple[Judge, ...] = (hessian_is_diagonal_more_often, hessian_varies_more)
DEGENERACY: tuple[Judge, ...] = (dc_dl_degenerates,)
WHOLE: tuple[Judge, ...] = (halves_lose,)
BEYOND: tuple[Judge, ...] = (together_give_both, beats_rotation)
ALL = (*SUPERVISED, *MINIMISED, *ORTHOGONALITY, *CURVATURE, *SEEDS, *DEGENERACY, *WHOLE, *BEYOND)


def judge(found: Found, judges: Sequence[Judge]) -> list[Judged]:
    return [judge(found) for judge in judges]
