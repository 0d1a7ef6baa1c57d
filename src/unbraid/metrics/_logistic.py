"""Logistic regression on any rows, few or many."""

from __future__ import annotations

import warnings

import numpy as np

from unbraid.metrics._arrays import Array, standardise

STRENGTHS = np.logspace(-4, 4, 10)


def logistic(codes: Array, target: Array, test: Array, strength: float = 1.0) -> Array:
    """Predictions for the test codes; `strength` is scikit-learn's C. With one class, that class."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if np.ptp(target) == 0:
        return np.full(len(test), target[0])
    codes, test = standardise(codes, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # separable classes have no optimum at a weak penalty
        return np.asarray(LogisticRegression(C=strength).fit(codes, target).predict(test))


def logistic_cv(codes: Array, target: Array, test: Array, seed: int, folds: int = 5) -> Array:
    """As `logistic`, at the best of 10 strengths from 1e-4 to 1e4 by cross-validated accuracy.

    Where a class has fewer members than there are folds, folds are drawn without regard to classes, a class that a fold
    was not fitted on counts as missed there, and of equally good strengths the one nearest 1 is taken.
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
    fold = np.random.default_rng(seed).permutation(len(target)) % folds
    right = np.zeros(len(STRENGTHS))
    for place, strength in enumerate(STRENGTHS):
        for held in range(min(folds, len(target))):
            rest = fold != held
            right[place] += np.sum(logistic(codes[rest], target[rest], codes[~rest], strength) == target[~rest])
    best = STRENGTHS[right == right.max()]
    return float(best[np.abs(np.log(best)).argmin()])
