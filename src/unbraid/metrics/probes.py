"""Linear probes on groups of codes, and the gap between them (contrastive, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import (
    Array,
    Pair,
    Rng,
    Scores,
    checked_groups,
    continuous,
    gap,
    names_of,
    r2,
    split,
    standardise,
)
from unbraid.metrics._logistic import logistic


def probes(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    code: str = "r",
    rng: Rng = None,
) -> Scores:
    """How well a linear classifier reads each factor from all codes r, and from each group of them, r0, r1, …

    `groups` are columns of the codes; without them r0 and r1 are the two halves. `r`, `r0`, … are mean accuracies on
    the test set, `r.NAME`, `r0.NAME`, … those of each factor (`names`, or 0, 1, …). `gap` is the mean over factors of
    |C(r0) - C(r1)|, with more groups of the best less the second best; `gap.NAME` is each factor's. `diagonal` is 1
    where every group reads some factor better than all other groups do, else 0: the diagonal trend of the paper. `code`
    is another letter for r, such as z.

    Two ways to fail (appendix A.4.5): `at_chance` is the share of factors that neither all codes nor any group tell
    better than a guess of the commonest value, `alike` the share of the others that all codes and every group tell
    equally well; by three standard errors on so many test rows.

    Accuracies are in [0, 1], chance for codes that tell nothing; the gap is in [0, 1]. Where each group is the only one
    to hold a factor: accuracy 1, a gap of 1 - chance, diagonal 1. Noise, and groups that hold the same: gap near 0.
    Unchanged by permuting within groups, flipping, scaling and shifting codes; permuting between groups is another
    question. With one group the gap is its accuracy. A factor with a single value is always right. Continuous factors
    are read by ridge regression, and their accuracy is R² on the test set, 0 where it would be less: chance is then 0.

    `arrays`: `accuracy` (1 + groups, k), `per_factor` (k,): the gaps, `chance` (k,).
    """
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    columns = _columns(train_codes.shape[1], groups, code)
    labels = names_of(train_factors.shape[1], names)
    if len(labels) != train_factors.shape[1]:
        raise InputError(f"there are {len(labels)} names for {train_factors.shape[1]} factors")
    regressed = continuous(train_factors) | continuous(test_factors)
    accuracy = np.empty((len(columns), len(labels)))
    for row, chosen in enumerate(columns.values()):
        for column in range(len(labels)):
            sets = train_codes[:, chosen], train_factors[:, column], test_codes[:, chosen], test_factors[:, column]
            accuracy[row, column] = _score(*sets, bool(regressed[column]))
    per_factor = gap(accuracy[1:])
    scores = dict(zip(columns, accuracy.mean(1), strict=True))
    scores |= {"gap": per_factor.mean(), "diagonal": _diagonal(accuracy[1:])}
    chance = [0.0 if regressed[k] else _commonest(test_factors[:, k]) for k in range(len(labels))]
    guessed = _at_chance(accuracy, np.array(chance), len(test_factors))
    scores |= {"at_chance": guessed.mean(), "alike": (~guessed & _alike(accuracy, len(test_factors))).mean()}
    for row, name in enumerate(columns):
        scores |= {f"{name}.{label}": value for label, value in zip(labels, accuracy[row], strict=True)}
    scores |= {f"gap.{label}": value for label, value in zip(labels, per_factor, strict=True)}
    return Scores(scores, accuracy=accuracy, per_factor=per_factor, chance=np.array(chance))


def _columns(width: int, groups: Sequence[Sequence[int]] | None, code: str) -> dict[str, list[int]]:
    """The columns of r and of each group, by name."""
    everything = list(range(width))
    if groups is None:
        if width < 2:
            raise InputError(f"codes have {width} column; two halves take at least 2, or give groups")
        groups = [everything[: width // 2], everything[width // 2 :]]
    return {code: everything} | {f"{code}{place}": group for place, group in enumerate(checked_groups(width, groups))}


def _score(codes: Array, target: Array, test: Array, truth: Array, regressed: bool) -> float:
    """The accuracy of logistic regression, or the R² of ridge regression, at least 0."""
    if not regressed:
        return float(np.mean(logistic(codes, target, test) == truth))
    from sklearn.linear_model import Ridge

    codes, test = standardise(codes, test)
    return max(0.0, r2(truth, Ridge(alpha=1.0).fit(codes, target).predict(test)))


def _diagonal(accuracy: Array) -> float:
    """Whether every row is the one largest entry of some column."""
    best = accuracy == accuracy.max(0)
    alone = best & (best.sum(0) == 1)
    return float(alone.any(1).all())


def _commonest(values: Array) -> float:
    """How often the most frequent value occurs."""
    return float(np.unique(values, return_counts=True)[1].max() / len(values))


def _at_chance(accuracy: Array, chance: Array, rows: int) -> Array:
    """Which factors (k,) nothing tells better than chance, within three standard errors of so many test rows."""
    error = np.sqrt(np.maximum(chance * (1 - chance), 1 / rows) / rows)
    return np.asarray((accuracy <= chance + 3 * error).all(0))


def _alike(accuracy: Array, rows: int) -> Array:
    """Which factors (k,) all codes and every group tell alike, within three standard errors of a difference."""
    mean = accuracy.mean(0)
    return np.asarray(np.ptp(accuracy, axis=0) <= 3 * np.sqrt(2 * mean * (1 - mean) / rows))
