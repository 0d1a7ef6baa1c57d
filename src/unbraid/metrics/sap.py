"""Separated attribute predictability (Kumar et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, checked_groups, gap, paired, split, standardise

PREDICTORS = ("svm", "logistic", "tree", "r2")


def sap(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    predictor: str = "svm",
    standardised: bool = False,
    balanced: bool = True,
    groups: Sequence[Sequence[int]] | None = None,
    rng: Rng = None,
) -> Scores:
    """The mean over factors of the difference between the two codes that predict the factor best, one code at a time.

    Predictors: `svm` (linear, C=0.01, classes `balanced` by weight; accuracy on the test set), `logistic`, `tree`
    (accuracy too), `r2` (squared correlation on the training set, for factors whose values are numbers, continuous or
    not). Range [0, 1]; 1 where one code predicts each factor and no other code tells anything, which a classifier
    cannot reach: the second best code still guesses. 0 where codes come in pairs. `standardised` gives codes mean 0 and
    deviation 1 first, as assumptions' appendix B has it and the reference code does not. `groups` of columns predict
    together, as one code would, for learners whose features have more than one dimension (not for `r2`). With a single
    code or group the second counts 0.

    `arrays`: `predictability` (codes or groups, k), `per_factor` (k,).
    """
    if predictor not in PREDICTORS:
        raise InputError(f"there is no predictor '{predictor}'{nearest(predictor, PREDICTORS)}")
    if predictor == "r2":
        if groups is not None:
            raise InputError("groups are for classifiers; predictor='r2' takes one code at a time")
        table, labels = paired(codes, factors)
        scores = _squared_correlation(table, labels)
    else:
        right = f"sap with predictor='{predictor}' fits a classifier: take predictor='r2'"
        train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng, right)
        width = train_codes.shape[1]
        chosen = [[code] for code in range(width)] if groups is None else checked_groups(width, groups)
        if standardised:
            train_codes, test_codes = standardise(train_codes, test_codes)
        fit = _model(predictor, balanced)
        scores = _accuracies(fit, chosen, train_codes, train_factors, test_codes, test_factors)
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


def _accuracies(
    model: Any, groups: list[list[int]], codes: Array, labels: Array, test_codes: Array, test_labels: Array
) -> Array:
    scores = np.zeros((len(groups), labels.shape[1]))
    for column in range(labels.shape[1]):
        target, truth = labels[:, column], test_labels[:, column]
        for place, group in enumerate(groups):
            if np.ptp(target) == 0:  # every guess is right; no code is better than another
                scores[place, column] = 1.0
                continue
            scores[place, column] = np.mean(model.fit(codes[:, group], target).predict(test_codes[:, group]) == truth)
    return scores


def _model(predictor: str, balanced: bool) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    if predictor == "svm":
        return LinearSVC(C=0.01, class_weight="balanced" if balanced else None, random_state=0)
    if predictor == "logistic":
        return LogisticRegression()
    return DecisionTreeClassifier(max_depth=5, random_state=0)
