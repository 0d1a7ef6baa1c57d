"""Logistic regression on any number of rows."""

from __future__ import annotations

import warnings

import numpy as np

from unbraid.metrics._arrays import Array, standardise

STRENGTHS = np.logspace(-4, 4, 10)


def logistic(codes: Array, target: Array, test: Array, strength: float = 1.0) -> Array:
    """Predictions for the test codes; `strength` is C in scikit-learn. A single class is always predicted."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if np.ptp(target) == 0:
        return np.full(len(test), target[0])
    codes, test = standardise(codes, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # separable classes have no optimum if the penalty is weak
        return np.asarray(LogisticRegression(C=strength).fit(codes, target).predict(test))


def logistic_cv(codes: Array, target: Array, test: Array, seed: int, folds: int = 5) -> Array:
    """`logistic` with the best of 10 strengths from 1e-4 to 1e4 by cross-validated accuracy.

    If a class has fewer members than there are folds, the folds ignore classes, a class absent from the other folds
    counts as an error, and of equally good strengths the one nearest 1 is chosen.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedKFold

    counts = np.unique(target, return_counts=True)[1]
    if len(counts) == 1:
        return logistic(codes, target, test)
    if counts.min() < folds:
        return logistic(codes, target, test, _strength(codes, target, seed, folds))
    search = LogisticRegressionCV(
        Cs=STRENGTHS,
        cv=StratifiedKFold(folds, shuffle=True, random_state=seed),
        l1_ratios=(0.0,),
        scoring="accuracy",
        use_legacy_attributes=False,
    )
    codes, test = standardise(codes, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(search.fit(codes, target).predict(test))


def _strength(codes: Array, target: Array, seed: int, folds: int) -> float:
    """The best strength over folds that ignore classes."""
    fold = np.random.default_rng(seed).permutation(len(target)) % folds
    right = np.zeros(len(STRENGTHS))
    for index, strength in enumerate(STRENGTHS):
        for unseen in range(min(folds, len(target))):
            rest = fold != unseen
            right[index] += np.sum(logistic(codes[rest], target[rest], codes[~rest], strength) == target[~rest])
    best = STRENGTHS[right == right.max()]
    return float(best[np.abs(np.log(best)).argmin()])
