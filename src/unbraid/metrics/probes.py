"""Linear probes on groups of codes, and the gap between them (contrastive, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, gap, names_of, split
from unbraid.metrics._logistic import logistic


def probes(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    rng: Rng = None,
) -> Scores:
    """How well a linear classifier reads each factor from all codes r, and from each group of them, r0, r1, …

    `groups` are columns of the codes; without them r0 and r1 are the two halves. `r`, `r0`, … are mean accuracies on
    the test set, `r.NAME`, `r0.NAME`, … those of each factor (`names`, or 0, 1, …). `gap` is the mean over factors of
    |C(r0) - C(r1)|, with more groups of the best less the second best; `gap.NAME` is each factor's. `diagonal` is 1
    where every group reads some factor better than all other groups do, else 0: the diagonal trend of the paper.

    Accuracies are in [0, 1], chance for codes that tell nothing; the gap is in [0, 1]. Where each group is the only one
    to hold a factor: accuracy 1, a gap of 1 - chance, diagonal 1. Noise, and groups that hold the same: gap near 0.
    Unchanged by permuting within groups, flipping, scaling and shifting codes; permuting between groups is another
    question. With one group the gap is its accuracy. A factor with a single value is always right.

    `arrays`: `accuracy` (1 + groups, k), `per_factor` (k,): the gaps.
    """
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    columns = _columns(train_codes.shape[1], groups)
    labels = names_of(train_factors.shape[1], names)
    if len(labels) != train_factors.shape[1]:
        raise InputError(f"there are {len(labels)} names for {train_factors.shape[1]} factors")
    accuracy = np.empty((len(columns), len(labels)))
    for row, chosen in enumerate(columns.values()):
        for column in range(len(labels)):
            predicted = logistic(train_codes[:, chosen], train_factors[:, column], test_codes[:, chosen])
            accuracy[row, column] = np.mean(predicted == test_factors[:, column])
    per_factor = gap(accuracy[1:])
    scores = dict(zip(columns, accuracy.mean(1), strict=True))
    scores |= {"gap": per_factor.mean(), "diagonal": _diagonal(accuracy[1:])}
    for row, name in enumerate(columns):
        scores |= {f"{name}.{label}": value for label, value in zip(labels, accuracy[row], strict=True)}
    scores |= {f"gap.{label}": value for label, value in zip(labels, per_factor, strict=True)}
    return Scores(scores, accuracy=accuracy, per_factor=per_factor)


def _columns(width: int, groups: Sequence[Sequence[int]] | None) -> dict[str, list[int]]:
    """The columns of r and of each group, by name."""
    everything = list(range(width))
    if groups is None:
        if width < 2:
            raise InputError(f"codes have {width} column; two halves take at least 2, or give groups")
        groups = [everything[: width // 2], everything[width // 2 :]]
    if not groups:
        raise InputError("groups are empty; expected at least one group of columns")
    found = {"r": everything}
    for place, group in enumerate(groups):
        chosen = [int(column) for column in group]
        wrong = [column for column in chosen if not 0 <= column < width]
        if wrong:
            raise InputError(f"group {place} names column {wrong[0]}, but codes have columns 0 to {width - 1}")
        if not chosen:
            raise InputError(f"group {place} is empty; expected columns of the codes")
        found[f"r{place}"] = chosen
    return found


def _diagonal(accuracy: Array) -> float:
    """Whether every row is the one largest entry of some column."""
    best = accuracy == accuracy.max(0)
    alone = best & (best.sum(0) == 1)
    return float(alone.any(1).all())
