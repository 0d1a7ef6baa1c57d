"""Separated attribute predictability (Kumar et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, checked_groups, gap, paired, split, standardise
from unbraid.metrics._classes import checked_classes, correlation_ratio
from unbraid.metrics.declaration import Metric, Settings, Size

PREDICTORS = ("svm", "logistic", "tree", "r2")


def sap(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    predictor: str = "svm",
    standardised: bool = False,
    balanced: bool = True,
    classes: Sequence[int] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    categorical: Sequence[int] = (),
    rng: Rng = None,
) -> Scores:
    """The mean over factors of the gap between the two codes that, each on its own, predict the factor best.

    Predictors: `svm` (linear, C=0.01, classes `balanced` by weight), `logistic` and `tree` by their accuracy on the
    test set; `r2`, the squared correlation on the training set, for numeric factors, continuous or not. Range [0, 1]. 1
    if one code predicts each factor and all others are uninformative, which no classifier reaches because the second
    best code can still guess. 0 if every code has a copy. `standardised` scales codes to mean 0 and standard deviation
    1 first, as in assumptions, appendix B, but not in the reference code. `groups` of columns predict together as if
    they were one code, for learners whose features have several dimensions (not for `r2`). With a single code or group
    the second best is 0. `r2` of the `categorical` factors is the share of a code's variance between their classes,
    which does not depend on how they are numbered.

    `classes` names the factors that are classes, by their columns; only these have the predictor, and all others the
    squared correlation, as in the code of InfoGAN-CR (Lin et al. 2020), where shape is a class and the rest is ordered.

    `arrays`: `predictability` (codes or groups, k), `per_factor` (k,).
    """
    if predictor not in PREDICTORS:
        raise InputError(f"there is no predictor '{predictor}'{nearest(predictor, PREDICTORS)}")
    if predictor == "r2":
        if groups is not None:
            raise InputError("groups are for classifiers; predictor='r2' uses one code at a time")
        table, labels = paired(codes, factors)
        scores = _squared_correlation(table, labels)
        for column in checked_classes(categorical, labels):
            scores[:, column] = correlation_ratio(table, labels[:, column])
    elif classes is not None:
        scores = _mixed(codes, factors, test, classes, predictor, standardised, balanced, groups, rng)
    else:
        remedy = f"sap with predictor='{predictor}' fits a classifier: use predictor='r2'"
        train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng, remedy)
        width = train_codes.shape[1]
        chosen = [[code] for code in range(width)] if groups is None else checked_groups(width, groups)
        if standardised:
            train_codes, test_codes = standardise(train_codes, test_codes)
        fit = _model(predictor, balanced)
        scores = _accuracies(fit, chosen, train_codes, train_factors, test_codes, test_factors)
    per_factor = gap(scores)
    return Scores({"sap": per_factor.mean()}, predictability=scores, per_factor=per_factor)


def _mixed(
    codes: Any, factors: Any, test: Pair | None, classes: Sequence[int], predictor: str, standardised: bool,
    balanced: bool, groups: Sequence[Sequence[int]] | None, rng: Rng,
) -> Array:  # fmt: skip
    """Accuracies of the factors that are classes, squared correlations of the others, (codes or groups, k)."""
    table, labels = paired(codes, factors)
    count = labels.shape[1]
    wrong = [column for column in classes if not 0 <= column < count]
    if wrong:
        raise InputError(f"classes has {wrong[0]}; expected columns of {count} factors, 0 to {count - 1}")
    ordered = [column for column in range(count) if column not in classes]
    if ordered and groups is not None:
        raise InputError("groups are for classifiers; factors that are not classes use one code at a time")
    scores = np.zeros((table.shape[1] if groups is None else len(groups), count))
    if ordered:
        scores[:, ordered] = _squared_correlation(table, labels[:, ordered])
    if kept := [column for column in range(count) if column in classes]:
        test_codes, test_labels = (None, None) if test is None else paired(*test, which="test ")
        test_pair = None if test_labels is None else (test_codes, test_labels[:, kept])
        given: dict[str, Any] = {"standardised": standardised, "balanced": balanced, "groups": groups, "rng": rng}
        accuracies = sap(table, labels[:, kept], test=test_pair, predictor=predictor, **given)
        scores[:, kept] = accuracies.arrays["predictability"]
    return scores


def _squared_correlation(codes: Array, labels: Array) -> Array:
    """cov(z, v)² / (var z · var v), (d, k); 0 if the variance of z is at most 1e-12, as in the reference code."""
    z, v = codes - codes.mean(0), labels - labels.mean(0)
    n = len(codes) - 1
    covariance, var_z, var_v = z.T @ v / n, (z**2).sum(0) / n, (v**2).sum(0) / n
    spread = var_z[:, None] * var_v
    moving = (var_z[:, None] > 1e-12) & (var_v > 0)
    return np.asarray(np.divide(covariance**2, spread, out=np.zeros_like(covariance), where=moving))


def _accuracies(
    model: Any, groups: list[list[int]], codes: Array, labels: Array, test_codes: Array, test_labels: Array
) -> Array:
    scores = np.zeros((len(groups), labels.shape[1]))
    for column in range(labels.shape[1]):
        target, truth = labels[:, column], test_labels[:, column]
        for index, group in enumerate(groups):
            if np.ptp(target) == 0:  # every guess is right; no code is better than another
                scores[index, column] = 1.0
                continue
            scores[index, column] = np.mean(model.fit(codes[:, group], target).predict(test_codes[:, group]) == truth)
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


def _seconds(size: Size, settings: Settings) -> float:
    if settings.get("predictor") == "r2":
        return 1e-8 * size.rows * size.codes * size.factors
    return (4e-4 + 8e-8 * size.rows) * size.codes * size.values


DECLARED = Metric(
    sap, "split",
    asks="how much better does the best code predict a factor than the second?",
    range="0 to 1",
    better="higher",
    noise="0",
    perfect="1 by r2, less by classifiers",
    invariant="order, sign; scale by r2 or if standardised",
    trust="by r2; a linear classifier of one code cannot read the middle values of a factor",
    report="to compare with papers",
    seconds=lambda size, settings: _seconds(size, settings),
    axes={"predictability": "cf", "per_factor": "f"},
    refits=True,
)  # fmt: skip
