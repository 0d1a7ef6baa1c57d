"""Factors that are classes, for metrics that read factors as numbers: no result depends on how classes are numbered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, need_classes


def checked_classes(categorical: Sequence[int], factors: Array) -> list[int]:
    """The columns of factors (n, k) that are classes, checked: none out of range, none continuous."""
    columns, count = [int(column) for column in categorical], factors.shape[1]
    wrong = [column for column in columns if not 0 <= column < count]
    if wrong:
        raise InputError(f"categorical names factor {wrong[0]}; factors are 0 to {count - 1}")
    need_classes(factors, "leave it out of categorical to read it by regression", among=columns)
    return columns


def one_hot(target: Array) -> tuple[Array, Array]:
    """A column of classes as 0 and 1, (n, values), and the values."""
    values, numbered = np.unique(target, return_inverse=True)
    return np.eye(len(values))[numbered], values


def correlation_ratio(codes: Array, target: Array) -> Array:
    """η² of each code (d,): the share of its variance between classes; 0 for a constant code.

    It is the largest squared correlation that any numbering of the classes has, and that of the two numbers if there
    are two classes.
    """
    member, _ = one_hot(target)
    counts = member.sum(0)
    centred = codes - codes.mean(0)
    means = member.T @ centred / counts[:, None]
    total = (centred**2).sum(0)
    between = counts @ means**2
    moving = np.ptp(codes, axis=0) > 0
    return np.asarray(np.divide(between, total, out=np.zeros_like(total), where=moving & (total > 0)).clip(0, 1))


def avoided_errors(truth: Array, predicted: Array) -> float:
    """The share of the errors of guessing the most frequent value that predictions avoid; 0 for a single value."""
    guessed = 1 - np.unique(truth, return_counts=True)[1].max() / len(truth)
    return float(1 - np.mean(truth != predicted) / guessed) if guessed > 0 else 0.0
