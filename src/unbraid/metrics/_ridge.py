"""Ridge regression of many targets at once, each with its own strength, for wide codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.metrics._arrays import Array, standardise

STRENGTHS = np.logspace(-4, 3, 8)  # per row


def ridge(codes: Array, targets: Sequence[Array], test: Array) -> list[Array]:
    """Predictions of each target (n, t) for the test codes, with the strength of least leave-one-out error for each.

    One decomposition of the codes serves all targets, all strengths and the exact leave-one-out errors.
    """
    codes, test = standardise(codes, test)
    rows, width = codes.shape
    if width <= rows:
        squares, right = np.linalg.eigh(codes.T @ codes)
        kept = squares > squares[-1] * width * np.finfo(np.float64).eps
        right = right[:, kept]
    else:
        squares, left = np.linalg.eigh(codes @ codes.T)
        kept = squares > squares[-1] * rows * np.finfo(np.float64).eps
        right = codes.T @ (left[:, kept] / np.sqrt(squares[kept]))
    squares = squares[kept]
    inputs, unseen = codes @ right, test @ right
    means = [target.mean(0) for target in targets]
    truth = np.concatenate([target - mean for target, mean in zip(targets, means, strict=True)], 1)
    moments, square_inputs = inputs.T @ truth, inputs**2
    errors, weights = [], []
    for strength in STRENGTHS * rows:
        weight = moments / (squares + strength)[:, None]
        leverage = 1 / rows + square_inputs @ (1 / (squares + strength))
        errors.append((((truth - inputs @ weight) / (1 - leverage).clip(1e-9)[:, None]) ** 2).sum(0))
        weights.append(weight)
    predictions, start = [], 0
    for target, mean in zip(targets, means, strict=True):
        columns = slice(start, start + target.shape[1])
        best = int(np.argmin([error[columns].sum() for error in errors]))
        predictions.append(unseen @ weights[best][:, columns] + mean)
        start = columns.stop
    return predictions
