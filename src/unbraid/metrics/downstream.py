"""What codes are good for: predicting the factors from few and from many points (assumptions, section 5.6)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, generator, split
from unbraid.metrics._boosting import gbt
from unbraid.metrics._logistic import logistic_cv
from unbraid.progress import progress

# Fitted to training codes and one factor: the predictions for the test codes.
Learner = Callable[[Array, Array, Array, int], Array]
LEARNERS: dict[str, Learner] = {
    "logistic": logistic_cv,
    "gbt": lambda codes, target, test, seed: gbt(codes, target, test, seed)[1],
}
FEW = 100  # points of the numerator of the statistical efficiency


def downstream(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    sizes: Sequence[int] = (10, 100, 1000, 10_000),
    learners: Sequence[str] = ("logistic", "gbt"),
    rng: Rng = None,
) -> Scores:
    """The accuracy on the test set of classifiers fitted to 10, 100, 1,000 and 10,000 training points, by learner.

    `logistic.100` is the mean over factors of the accuracy of logistic regression on 100 points (its strength by 5-fold
    cross-validation), `gbt.100` that of boosted trees, `logistic.efficiency` the accuracy at 100 points over that at
    the most points (10,000): near 1 where few labels do as well as many. Accuracies are in [0, 1], about
    1 / values for codes that tell nothing, 1 where the classifier can read every factor; the efficiency is at least 0
    and can pass 1. Codes that tell nothing are efficient: read it beside the accuracy. Unchanged by permuting, flipping
    and scaling codes, up to what the learners' own ties do.

    Training points are the first of one random order, so that small sets are part of large ones. A size beyond the
    training rows there are becomes all of them, under that number and with a warning; without 100 among the sizes the
    efficiency starts from the smallest. A value that the training points lack is never predicted; a factor with a
    single value is always right. Continuous factors are refused.

    `arrays`: `sizes` (s,), and for each learner its accuracies (s, k) under its name.
    """
    for learner in learners:
        if learner not in LEARNERS:
            raise InputError(f"there is no learner '{learner}'{nearest(learner, LEARNERS)}")
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes are {tuple(sizes)}; expected numbers of training points, at least 1")
    rng = generator(rng)
    right = "downstream fits classifiers: take probes, which reads such a factor by regression"
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng, right)
    rows = len(train_codes)
    if max(sizes) > rows:
        warnings.warn(f"downstream: sizes beyond the {rows} training rows became {rows}", stacklevel=2)
    points = sorted({min(size, rows) for size in sizes})
    order, seed = rng.permutation(rows), int(rng.integers(2**31))
    scores: dict[str, float] = {}
    arrays: dict[str, Array] = {"sizes": np.asarray(points)}
    with progress("predicting factors", len(learners) * len(points) * train_factors.shape[1]) as advance:
        for learner in learners:
            accuracy = np.empty((len(points), train_factors.shape[1]))
            for place, column in np.ndindex(accuracy.shape):
                chosen = order[: points[place]]
                target = train_factors[chosen, column]
                predicted = _predict(LEARNERS[learner], train_codes[chosen], target, test_codes, seed)
                accuracy[place, column] = np.mean(predicted == test_factors[:, column])
                advance(note=f"{learner}, {points[place]} points")
            mean = accuracy.mean(1)
            scores |= {f"{learner}.{size}": value for size, value in zip(points, mean, strict=True)}
            few = mean[points.index(FEW)] if FEW in points else mean[0]
            scores[f"{learner}.efficiency"] = few / mean[-1] if mean[-1] > 0 else 0.0
            arrays[learner] = accuracy
    return Scores(scores, **arrays)


def _predict(learner: Learner, codes: Array, target: Array, test: Array, seed: int) -> Array:
    if np.ptp(target) == 0:
        return np.full(len(test), target[0])
    return learner(codes, target, test, seed)
