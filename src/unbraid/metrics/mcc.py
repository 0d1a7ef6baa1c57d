"""The mean correlation coefficient of matched codes and factors (Hyvärinen & Morioka 2016), on rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, Pair, Rng, Scores, split
from unbraid.metrics._classes import checked_classes, one_hot
from unbraid.metrics.declaration import Metric


def mcc(
    codes: Any, factors: Any, *, test: Pair | None = None, categorical: Sequence[int] = (), rng: Rng = None
) -> Scores:
    """The mean over factors of |correlation| with the one code that is matched to each, on the test rows.

    The matching gives every factor a code of its own, so that the sum of the absolute correlations on the training rows
    is largest. Measuring them on other rows matters for wide codes: the best of 2,000 codes of noise correlates well on
    the rows that chose it. The classes of `categorical` factors are numbered by the mean of the code among the training
    rows, which is the numbering that correlates most.

    Range [0, 1]. 1 if each factor is a line of a code of its own; about 1 / √(test rows) for noise. Invariant to
    permuting, flipping, scaling and shifting codes. A factor without a code (fewer codes than factors), with a single
    value or with a constant code counts 0. Factors may be continuous.

    `arrays`: `correlation` (d, k) of the training rows, `per_factor` (k,), `match` (k,): each factor's code, or -1.
    """
    from scipy.optimize import linear_sum_assignment

    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    classes = checked_classes(categorical, train_factors)
    correlation = np.empty((train_codes.shape[1], train_factors.shape[1]))
    for column in range(train_factors.shape[1]):
        numbers = _numbered(train_codes, train_factors[:, column], train_factors[:, column], column in classes)
        correlation[:, column] = _correlations(train_codes, numbers)
    match, per_factor = np.full(train_factors.shape[1], -1), np.zeros(train_factors.shape[1])
    for code, column in zip(*linear_sum_assignment(-np.abs(correlation)), strict=True):
        chosen = train_codes[:, [code]], train_factors[:, column], test_factors[:, column], column in classes
        match[column] = code
        per_factor[column] = abs(_correlations(test_codes[:, [code]], _numbered(*chosen))[0])
    return Scores({"mcc": per_factor.mean()}, correlation=correlation, per_factor=per_factor, match=match)


def _numbered(codes: Array, target: Array, values: Array, named: bool) -> Array:
    """Numbers for `values`, (n, 1), or (n, d) for each code its own if they are classes: the mean of the code in each.

    A class that the target does not have gets the mean of all.
    """
    if not named:
        return values[:, None].astype(np.float64)
    member, known = one_hot(target)
    means = member.T @ codes / member.sum(0)[:, None]
    index = np.searchsorted(known, values).clip(0, len(known) - 1)
    return np.asarray(np.where((known[index] == values)[:, None], means[index], codes.mean(0)))


def _correlations(codes: Array, numbers: Array) -> Array:
    """The correlation of each code with its column of numbers, or with the only one: (d,); 0 if either is constant."""
    a, b = codes - codes.mean(0), numbers - numbers.mean(0)
    size = np.sqrt((a**2).sum(0) * (b**2).sum(0))
    moving = (np.ptp(codes, axis=0) > 0) & (np.ptp(numbers, axis=0) > 0) & (size > 0)
    return np.asarray(np.divide((a * b).sum(0), size, out=np.zeros(codes.shape[1]), where=moving).clip(-1, 1))


DECLARED = Metric(
    mcc, "split",
    asks="does a code of its own follow each factor in a line?",
    range="0 to 1",
    better="higher",
    noise="1 / √(test rows)",
    perfect="1",
    invariant="order, sign, scale",
    trust="if factors are numbers; a code that bends or wraps around scores less",
    report="yes, for identifiability",
    seconds=lambda size, settings: 3e-8 * size.rows * size.codes * size.factors,
    axes={"correlation": "cf", "per_factor": "f", "match": "f"},
)  # fmt: skip
