"""Linear probes of groups of codes, and the gaps between them (contrastive, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
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
from unbraid.metrics._classes import one_hot
from unbraid.metrics._logistic import logistic
from unbraid.metrics._ridge import ridge
from unbraid.metrics.declaration import Metric, Settings, Size


def probes(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    groups: Sequence[Sequence[int]] | str | None = None,
    names: Sequence[str] | None = None,
    code: str = "r",
    reader: str = "logistic",
    rng: Rng = None,
) -> Scores:
    """Test accuracy of linear classifiers that read each factor from all codes r and from each group r0, r1, …

    `groups` lists the columns of each group; the default is the two halves of the codes. `r`, `r0`, … are accuracies
    averaged over factors, `r.NAME`, `r0.NAME`, … those of each factor (`names`, or 0, 1, …). `gap` is the mean over
    factors of |C(r0) - C(r1)|, or with more groups of the best minus the second best; `gap.NAME` is that of one factor.
    `diagonal` is 1 if every group reads some factor better than all other groups do, else 0: the paper's diagonal
    trend. `code` replaces the letter r, for instance by z.

    `groups="whole"` reads all codes only: no gap, diagonal or `alike`. `reader="ridge"` predicts the class of the
    largest value in a ridge regression of all classes, whose strength is chosen by leave-one-out errors: for thousands
    of codes it takes seconds and does not overfit.

    Two kinds of failure (appendix A.4.5), each judged by three standard errors: `at_chance` is the share of factors
    that neither all codes nor any group predict better than the most frequent value; `alike` is the share of the
    remaining factors that all codes and every group predict equally well.

    Accuracies are in [0, 1], at chance for uninformative codes. The gap is in [0, 1]. If each factor is in one group
    only: accuracy 1, gap 1 - chance, diagonal 1. Noise, and groups that hold the same: gap near 0. Invariant to
    permuting codes within groups, flipping, scaling and shifting them. With a single group the gap is its accuracy. A
    factor with a single value is always predicted correctly. Continuous factors are read by ridge regression; their
    accuracy is R² on the test set, at least 0, and their chance is 0.

    `arrays`: `accuracy` (1 + groups, k), `per_factor` (k,) with the gaps, `chance` (k,).
    """
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    columns = _columns(train_codes.shape[1], groups, code)
    labels = names_of(train_factors.shape[1], names)
    if len(labels) != train_factors.shape[1]:
        raise InputError(f"there are {len(labels)} names for {train_factors.shape[1]} factors; expected one per factor")
    if reader not in READERS:
        raise InputError(f"there is no reader '{reader}'{nearest(reader, READERS)}")
    regressed = continuous(train_factors) | continuous(test_factors)
    accuracy = np.empty((len(columns), len(labels)))
    for row, chosen in enumerate(columns.values()):
        sets = train_codes[:, chosen], train_factors, test_codes[:, chosen], test_factors
        accuracy[row] = READERS[reader](*sets, regressed)
    scores = dict(zip(columns, accuracy.mean(1), strict=True))
    per_factor = gap(accuracy[1:]) if len(columns) > 1 else np.full(len(labels), np.nan)
    if len(columns) > 1:
        scores |= {"gap": per_factor.mean(), "diagonal": _diagonal(accuracy[1:])}
    chance = [0.0 if regressed[k] else _most_frequent(test_factors[:, k]) for k in range(len(labels))]
    guessed = _at_chance(accuracy, np.array(chance), len(test_factors))
    scores["at_chance"] = guessed.mean()
    if len(columns) > 1:
        scores["alike"] = (~guessed & _alike(accuracy, len(test_factors))).mean()
    for row, name in enumerate(columns):
        scores |= {f"{name}.{label}": value for label, value in zip(labels, accuracy[row], strict=True)}
    if len(columns) > 1:
        scores |= {f"gap.{label}": value for label, value in zip(labels, per_factor, strict=True)}
    return Scores(scores, accuracy=accuracy, per_factor=per_factor, chance=np.array(chance))


def _columns(width: int, groups: Sequence[Sequence[int]] | str | None, code: str) -> dict[str, list[int]]:
    """The columns of all codes and of each group, by name."""
    everything = list(range(width))
    if groups is None:
        if width < 2:
            raise InputError(f"codes have {width} column; expected at least 2 for two halves, or groups")
        groups = [everything[: width // 2], everything[width // 2 :]]
    if groups == "whole":
        return {code: everything}
    if isinstance(groups, str):
        raise InputError(f"groups are '{groups}'; expected lists of columns, or 'whole' for all codes only")
    return {code: everything} | {f"{code}{index}": group for index, group in enumerate(checked_groups(width, groups))}


def _by_logistic(codes: Array, factors: Array, test: Array, truth: Array, regressed: Array) -> list[float]:
    """For each factor the accuracy of logistic regression, or the R² of ridge regression if it is positive."""
    from sklearn.linear_model import Ridge

    scaled, unseen = standardise(codes, test)
    accuracies = []
    for column, numeric in enumerate(regressed):
        target = factors[:, column]
        if numeric:
            model = Ridge(alpha=1.0).fit(scaled, target)
            accuracies.append(max(0.0, r2(truth[:, column], model.predict(unseen))))
        else:
            accuracies.append(float(np.mean(logistic(codes, target, test) == truth[:, column])))
    return accuracies


def _by_ridge(codes: Array, factors: Array, test: Array, truth: Array, regressed: Array) -> list[float]:
    """The same by one ridge regression of all factors, classes as 0 and 1."""
    targets, values = [], []
    for column, numeric in enumerate(regressed):
        shares, known = (factors[:, [column]], None) if numeric else one_hot(factors[:, column])
        targets.append(shares)
        values.append(known)
    accuracies = []
    for column, predicted in enumerate(ridge(codes, targets, test)):
        known = values[column]
        if known is None:
            accuracies.append(max(0.0, r2(truth[:, column], predicted[:, 0])))
        else:
            accuracies.append(float(np.mean(known[predicted.argmax(1)] == truth[:, column])))
    return accuracies


READERS = {"logistic": _by_logistic, "ridge": _by_ridge}


def _diagonal(accuracy: Array) -> float:
    """1 if every row has the unique maximum of some column, else 0."""
    best = accuracy == accuracy.max(0)
    alone = best & (best.sum(0) == 1)
    return float(alone.any(1).all())


def _most_frequent(values: Array) -> float:
    """The share of the most frequent value."""
    return float(np.unique(values, return_counts=True)[1].max() / len(values))


def _at_chance(accuracy: Array, chance: Array, rows: int) -> Array:
    """Which factors (k,) are predicted no better than chance by all codes and every group."""
    error = np.sqrt(np.maximum(chance * (1 - chance), 1 / rows) / rows)
    return np.asarray((accuracy <= chance + 3 * error).all(0))


def _alike(accuracy: Array, rows: int) -> Array:
    """Which factors (k,) all codes and every group predict equally well."""
    mean = accuracy.mean(0)
    return np.asarray(np.ptp(accuracy, axis=0) <= 3 * np.sqrt(2 * mean * (1 - mean) / rows))


def _seconds(size: Size, settings: Settings) -> float:
    if settings.get("reader") == "ridge":
        return 5e-11 * size.codes**2 * (size.rows + 5 * size.codes) + 2e-9 * size.rows * size.codes * size.values
    return 8e-8 * size.rows * (size.codes + 10) * size.values


DECLARED = Metric(
    probes, "split",
    asks="how well do linear classifiers read factors from groups of codes?",
    range="0 to 1",
    better="higher",
    noise="chance; gap 0",
    perfect="1; gap 1 - chance",
    invariant="order within groups, sign, scale",
    trust="beside chance",
    report="for features of several codes",
    seconds=lambda size, settings: _seconds(size, settings),
    axes={"accuracy": "gf", "per_factor": "f", "chance": "f"},
    refits=True,
)  # fmt: skip
