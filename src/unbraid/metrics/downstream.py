"""Accuracy of predicting the factors from few and from many labelled points (assumptions, section 5.6)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, generator, split
from unbraid.metrics._boosting import gbt
from unbraid.metrics._logistic import logistic_cv
from unbraid.metrics.declaration import Metric
from unbraid.progress import progress

# From training codes, a factor, test codes and a seed: predictions for the test codes.
Learner = Callable[[Array, Array, Array, int], Array]
LEARNERS: dict[str, Learner] = {
    "logistic": logistic_cv,
    "gbt": lambda codes, target, test, seed: gbt(codes, target, test, seed)[1],
}
FEW = 100  # points in the numerator of the statistical efficiency


def downstream(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    sizes: Sequence[int] = (10, 100, 1000, 10_000),
    learners: Sequence[str] = ("logistic", "gbt"),
    rng: Rng = None,
) -> Scores:
    """Test accuracy of classifiers fitted to 10, 100, 1,000 and 10,000 training points, for each learner.

    `logistic.100` is the accuracy, averaged over factors, of logistic regression on 100 points (its penalty chosen by
    5-fold cross-validation), and `gbt.100` that of boosted trees. `logistic.efficiency` is the accuracy at 100 points
    divided by that at the largest size: near 1 if few labels do as well as many. Accuracies are in [0, 1]: 1 if the
    classifier reads every factor, about 1 / values for uninformative codes. The efficiency is at least 0 and can
    exceed 1. Uninformative codes are efficient, so read it together with the accuracy. Invariant to permuting, flipping
    and scaling codes, except for how the learners break ties.

    Training points come from one random order, so small sets are contained in larger ones. A size larger than the
    training set is replaced by the number of training rows, with a warning. If 100 is not among the sizes, the
    efficiency uses the smallest. A value absent from the training points is never predicted; a factor with a single
    value is always predicted correctly. Continuous factors are refused.

    `arrays`: `sizes` (s,), and under each learner's name its accuracies (s, k).
    """
    for learner in learners:
        if learner not in LEARNERS:
            raise InputError(f"there is no learner '{learner}'{nearest(learner, LEARNERS)}")
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes are {tuple(sizes)}; expected numbers of training points, at least 1")
    rng = generator(rng)
    remedy = "downstream fits classifiers: use probes, which reads such a factor by regression"
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng, remedy)
    rows = len(train_codes)
    if max(sizes) > rows:
        warnings.warn(f"downstream: sizes larger than the {rows} training rows are replaced by {rows}", stacklevel=2)
    points = sorted({min(size, rows) for size in sizes})
    order, seed = rng.permutation(rows), int(rng.integers(2**31))
    scores: dict[str, float] = {}
    arrays: dict[str, Array] = {"sizes": np.asarray(points)}
    with progress("predicting factors", len(learners) * len(points) * train_factors.shape[1]) as advance:
        for learner in learners:
            accuracy = np.empty((len(points), train_factors.shape[1]))
            for index, column in np.ndindex(accuracy.shape):
                chosen = order[: points[index]]
                target = train_factors[chosen, column]
                predicted = _predict(LEARNERS[learner], train_codes[chosen], target, test_codes, seed)
                accuracy[index, column] = np.mean(predicted == test_factors[:, column])
                advance(note=f"{learner}, {points[index]} points")
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


DECLARED = Metric(
    downstream, "split",
    asks="how well do classifiers read factors from few and from many labels?",
    range="0 to 1; efficiency above 0",
    better="higher",
    noise="chance; efficiency 1",
    perfect="1",
    invariant="order, sign, scale",
    trust="beside chance, which is 1 / values",
    report="for the use of codes in tasks",
    seconds=lambda size, settings: 4e-6 * size.rows * size.codes * size.values / 10,
    axes={"sizes": "s", "logistic": "sf", "gbt": "sf"},
    refits=True,
)  # fmt: skip
