"""The paper's own figures, by its tables: the only numbers of a report that no run gave. All are percent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unbraid.report.estimates import Array

Pair = tuple[float, float]  # of the two factors that a variant's pairs share
Rows = Mapping[str, Pair]  # by the classifier's input

CHANCE: dict[str, Pair] = {"dc_bc": (10.0, 10.0), "dc_dl": (10.0, 12.5)}  # ten classes, eight places

# Tables 1 (dc_bc) and 4 (dc_dl): supervised halves
SUPERVISED: dict[str, Rows] = {
    "dc_bc": {"r": (97.3, 64.5), "r0": (97.3, 10.1), "r1": (11.7, 64.5)},
    "dc_dl": {"r": (98.2, 99.9), "r0": (98.2, 13.4), "r1": (11.7, 99.9)},
}

# Table 2, by weight; table 5, of which the weight is not told
INFO_MIN: dict[str, Rows] = {
    "info_min 0.001": {
        "r": (97.0, 63.1), "r0": (97.0, 62.8), "r1": (97.0, 63.0),
        "z": (74.3, 60.7), "z0": (74.4, 60.6), "z1": (74.2, 60.8),
    },
    "info_min 0.1": {
        "r": (96.4, 61.1), "r0": (96.3, 60.8), "r1": (96.3, 60.8),
        "z": (47.6, 35.7), "z0": (47.5, 35.7), "z1": (47.5, 35.8),
    },
}  # fmt: skip
INFO_MIN_DC_DL: Rows = {"r": (11.7, 12.6)}

# Tables 3 (dc_bc) and 6 (dc_dl)
REGULARIZED: dict[str, dict[str, Rows]] = {
    "dc_bc": {
        "ortho 0.001": {"z": (97.0, 62.4), "z0": (76.6, 48.4), "z1": (73.2, 54.0)},
        "ortho 0.1": {"z": (69.3, 59.6), "z0": (51.2, 39.9), "z1": (46.3, 42.7)},
        "p_ortho 0.001": {"z": (97.0, 62.2), "z0": (77.1, 52.4), "z1": (71.8, 57.0)},
        "p_ortho 0.1": {"z": (97.2, 61.6), "z0": (88.0, 56.9), "z1": (82.2, 60.0)},
        "hessian 0.001": {"z": (92.4, 57.2), "z0": (60.7, 46.7), "z1": (47.9, 34.6)},
        "hessian 0.1": {"z": (93.6, 56.3), "z0": (74.7, 42.4), "z1": (57.5, 50.9)},
    },
    "dc_dl": {
        "ortho 0.001": {"z": (82.6, 99.6), "z0": (44.3, 99.4), "z1": (33.6, 99.5)},
        "ortho 0.1": {"z": (97.8, 99.6), "z0": (46.5, 83.9), "z1": (38.4, 86.7)},
        "p_ortho 0.001": {"z": (96.6, 99.8), "z0": (45.5, 99.6), "z1": (44.5, 99.7)},
        "p_ortho 0.1": {"z": (68.0, 99.8), "z0": (41.3, 99.7), "z1": (34.5, 98.6)},
        "hessian 0.001": {"z": (86.6, 99.1), "z0": (46.7, 41.5), "z1": (41.7, 67.9)},
        "hessian 0.1": {"z": (91.2, 99.1), "z0": (39.9, 48.1), "z1": (34.8, 64.7)},
    },
}

# Table 7: two runs with ortho 0.1 on dc_dl
DEGENERATE: dict[str, Rows] = {
    "random": {"z": (11.7, 12.6), "z0": (11.7, 12.6), "z1": (11.7, 12.6)},
    "task difficulty": {"z": (76.7, 99.8), "z0": (42.0, 99.7), "z1": (32.1, 99.7)},
}

# Tables 8 and 9: six runs on dc_bc; the first is that of table 3
REPEATED: dict[str, list[Rows]] = {
    "p_ortho 0.1": [
        {"z": (97.2, 61.6), "z0": (88.0, 56.9), "z1": (82.2, 60.0)},
        {"z": (97.0, 62.3), "z0": (86.8, 59.3), "z1": (80.8, 59.6)},
        {"z": (97.0, 61.3), "z0": (85.4, 57.8), "z1": (79.6, 57.6)},
        {"z": (97.2, 61.6), "z0": (83.0, 59.7), "z1": (81.2, 56.2)},
        {"z": (97.2, 61.4), "z0": (80.8, 57.7), "z1": (75.6, 54.7)},
        {"z": (97.0, 58.3), "z0": (71.6, 56.5), "z1": (69.7, 48.1)},
    ],
    "hessian 0.1": [
        {"z": (93.6, 56.3), "z0": (74.7, 42.4), "z1": (57.5, 50.9)},
        {"z": (73.0, 56.0), "z0": (67.9, 47.9), "z1": (64.2, 49.4)},
        {"z": (96.2, 56.6), "z0": (73.7, 40.4), "z1": (66.5, 43.2)},
        {"z": (93.9, 56.6), "z0": (58.4, 36.6), "z1": (51.0, 37.5)},
        {"z": (73.1, 58.1), "z0": (42.2, 34.8), "z1": (40.0, 30.2)},
        {"z": (92.2, 56.9), "z0": (61.1, 36.4), "z1": (53.5, 37.2)},
    ],
}

VARIANCES: dict[str, Pair] = {"p_ortho 0.1": (3.4, 7.4), "hessian 0.1": (22.8, 7.4)}  # appendix A.5, of the gaps

HOLDS, FAILS, OPEN, CLOSED = "holds", "does not hold", "inconclusive", "not testable here"
# Verdicts of the first edition's desk study: j over all views in (5) and (6), backgrounds easier than digits, τ = 0.05,
# three seeds, 800 steps. Claims not listed are new.
FIRST_EDITION = {
    "supervised-is-diagonal": FAILS,
    "info-min-does-not-disentangle": OPEN,
    "info-min-costs-accuracy": OPEN,
    "info-min-is-local": OPEN,
    "info-min-prevents-learning": FAILS,
    "ortho-gaps-are-small": OPEN,
    "ortho-gaps-are-there": OPEN,
    "weight-costs-accuracy": OPEN,
    "permutation-keeps-accuracy": FAILS,
    "hessian-gaps-are-larger": FAILS,
    "hessian-breaks-location": FAILS,
    "hessian-costs-accuracy": FAILS,
    "hessian-is-diagonal": OPEN,
    "hessian-varies-more": OPEN,
    "dc-dl-degenerates": FAILS,
    "halves-lose": HOLDS,
    "together-give-both": FAILS,
    "beats-rotation": FAILS,
}
# Verdicts of the second edition's first run, by direction alone: 700 steps at 3e-3 on dc_bc too, where half of the
# models did not learn both factors; six seeds of the settings of table 2.
SHORTER_RUN = {
    "supervised-is-diagonal": FAILS,
    "info-min-does-not-disentangle": CLOSED,
    "info-min-costs-accuracy": CLOSED,
    "info-min-is-local": CLOSED,
    "info-min-prevents-learning": FAILS,
    "info-min-trades-off": OPEN,
    "weight-does-not-resolve-it": OPEN,
    "ortho-gaps-are-small": HOLDS,
    "ortho-gaps-are-there": CLOSED,
    "weight-costs-accuracy": CLOSED,
    "permutation-keeps-accuracy": CLOSED,
    "permutation-gives-the-best-halves": CLOSED,
    "permutation-widens-gaps": OPEN,
    "permutation-acts-more-than-the-weight": CLOSED,
    "location-gaps-are-smaller": HOLDS,
    "weight-widens-location-gaps": OPEN,
    "permutation-narrows-gaps": CLOSED,
    "permutation-costs-accuracy": CLOSED,
    "hessian-gaps-are-larger": HOLDS,
    "hessian-breaks-location": HOLDS,
    "hessian-costs-accuracy": CLOSED,
    "only-the-larger-weight-is-diagonal": CLOSED,
    "hessian-is-diagonal": CLOSED,
    "hessian-varies-more": HOLDS,
    "digit-gaps-are-larger": OPEN,
    "digit-gaps-vary-less": CLOSED,
    "dc-dl-degenerates": FAILS,
    "halves-lose": HOLDS,
    "together-give-both": CLOSED,
    "beats-rotation": FAILS,
    "all-views-cost-a-half": HOLDS,
}
# What changed in the rule of a claim since the first edition; for all others the rule is as it was.
_TELLING = "only over models whose z tells both factors"
_MOSTLY = "in three quarters of the cases"
CHANGED = {
    "supervised-is-diagonal": _TELLING,
    "info-min-does-not-disentangle": _TELLING,
    "info-min-is-local": "after the results: r loses less than half of what z loses, where less did",
    "ortho-gaps-are-small": _TELLING,
    "ortho-gaps-are-there": f"{_TELLING}; {_MOSTLY}",
    "weight-costs-accuracy": _MOSTLY,
    "permutation-keeps-accuracy": _MOSTLY,
    "hessian-gaps-are-larger": f"{_TELLING}; {_MOSTLY}",
    "hessian-breaks-location": _TELLING,
    "hessian-costs-accuracy": _MOSTLY,
    "hessian-is-diagonal": f"{_TELLING}; an exact test on counts",
    "hessian-varies-more": f"{_TELLING}; 12 seeds",
    "halves-lose": _TELLING,
    "together-give-both": _TELLING,
    "beats-rotation": _TELLING,
}


def said(variant: str, setting: str) -> Rows:
    """The accuracies of a setting by input, in tables 1 to 6; none where the paper has no such model."""
    if setting == "supervised":
        return SUPERVISED.get(variant, {})
    if variant == "dc_bc" and setting in INFO_MIN:
        return INFO_MIN[setting]
    return REGULARIZED.get(variant, {}).get(setting, {})


def gaps(rows: Rows, code: str = "z") -> Array:
    """|C(z0) - C(z1)| of the two factors."""
    return np.abs(np.subtract(rows[f"{code}0"], rows[f"{code}1"]))


def gap(variant: str, setting: str) -> float:
    """The mean over the two factors."""
    return float(gaps(said(variant, setting)).mean())


def repeated_gaps(setting: str) -> Array:
    """Of tables 8 and 9 (runs, 2)."""
    return np.stack([gaps(rows) for rows in REPEATED[setting]])


def diagonal(rows: Rows) -> bool:
    """Whether each half tells one of the two factors better than the other half does."""
    first, second = np.subtract(rows["z0"], rows["z1"])
    return bool(first * second < 0)


def halves(rows: Rows) -> Array:
    """The mean of the accuracies of the halves, of each factor (2,)."""
    return np.asarray(np.mean([rows["z0"], rows["z1"]], axis=0))


def lost(rows: Rows) -> Array:
    """What the better half falls short of the whole, of each factor (2,)."""
    return np.asarray(np.subtract(rows["z"], np.maximum(rows["z0"], rows["z1"])))
