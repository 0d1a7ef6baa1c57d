"""Separated attribute predictability (Kumar et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, gap, paired, split, standardise

PREDICTORS = ("svm", "logistic", "tree", "r2")


def sap(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    predictor: str = "svm",
    standardised: bool = False,
    rng: Rng = None,
) -> Scores:
    """The mean over factors of the difference between the two codes that predict the factor best, one code at a time.

    Predictors: `svm` (linear, C=0.01, balanced; accuracy on the test set), `logistic`, `tree` (accuracy too), `r2`
    (squared correlation on the training set, for factors whose values are numbers). Range [0, 1]; 1 where one code
    predicts each factor and no other code tells anything, which a classifier cannot reach: the second best code still
    guesses. 0 where codes come in pairs. `standardised` gives codes mean 0 and deviation 1 first, as assumptions'
    appendix B has it and the reference code does not. With a single code the second counts 0.

    `arrays`: `predictability` (d, k), `per_factor` (k,).
    """
    if predictor not in PREDICTORS:
        raise InputError(f"there is no predictor '{predictor}'{nearest(predictor, PREDICTORS)}")
    if predictor == "r2":
        table, labels = paired(codes, factors)
        scores = _squared_correlation(table, labels)
    else:
        train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
        if standardised:
            train_codes, test_codes = standardise(train_codes, test_codes)
        scores = _accuracies(predictor, train_codes, train_factors, test_codes, test_factors)
    per_factor = gap(scores)
    return Scores({"sap": per_factor.mean()}, predictability=scores, per_factor=per_factor)


def _squared_correlation(codes: Array, labels: Array) -> Array:
    """cov(z, v)² / (var z · var v), 0 where a variance is at most 1e-12: (d, k)."""
    z, v = codes - codes.mean(0), labels - labels.mean(0)
    n = len(codes) - 1
    covariance, var_z, var_v = z.T @ v / n, (z**2).sum(0) / n, (v**2).sum(0) / n
    spread = var_z[:, None] * var_v
    moving = (var_z[:, None] > 1e-12) & (var_v > 0)
    found: Array = np.divide(covariance**2, spread, out=np.zeros_like(covariance), where=moving)
    return found


def _accuracies(predictor: str, codes: Array, labels: Array, test_codes: Array, test_labels: Array) -> Array:
    scores = np.zeros((codes.shape[1], labels.shape[1]))
    for column in range(labels.shape[1]):
        target, truth = labels[:, column], test_labels[:, column]
        for code in range(codes.shape[1]):
            if np.ptp(target) == 0:  # every guess is right; no code is better than another
                scores[code, column] = 1.0
                continue
            model = _model(predictor).fit(codes[:, [code]], target)
            scores[code, column] = np.mean(model.predict(test_codes[:, [code]]) == truth)
    return scores


def _model(predictor: str) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    if predictor == "svm":
        return LinearSVC(C=0.01, class_weight="balanced", random_state=0)
    if predictor == "logistic":
        return LogisticRegression()
    return DecisionTreeClassifier(max_depth=5, random_state=0)
