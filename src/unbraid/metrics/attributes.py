"""An attribute of one's own, read from codes after a few labelled examples, with an estimate of its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array

FOLDS = 5
LEAST = 10  # labelled examples
_LARGEST = 1e100  # of a number, whose square can be summed
PENALTIES = np.logspace(-3, 3, 13)


@dataclass(frozen=True)
class Fit:
    """An attribute's value for every code, and how good that is on examples it was not fitted to."""

    values: Array
    score: float
    """R² of a number, accuracy of a class, by cross-validation."""
    chance: float
    """What the mean, or the most frequent class, would score."""
    numeric: bool

    @property
    def summary(self) -> str:
        name = "R²" if self.numeric else "accuracy"
        return f"{name} {self.score:.2f} by cross-validation (without the codes {self.chance:.2f})"


def fit_attribute(codes: Any, labels: Any, others: Any, name: str = "the attribute") -> Fit:
    """Fit numbers by ridge regression and classes by logistic regression, and predict the codes `others`.

    Numbers are labels of a numeric type with more than two values. The error is that of 5-fold cross-validation, in
    which penalties are chosen within each fold.

    >>> codes = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(fit_attribute(codes, 2 * codes[:, 1] - 1, codes).score, 2)
    1.0
    """
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    x, y, rest = np.asarray(codes, np.float64), np.asarray(labels), np.asarray(others, np.float64)
    if len(x) < LEAST:
        raise InputError(f"{name} has {len(x)} labels; expected at least {LEAST}")
    if not (np.isfinite(x).all() and np.isfinite(rest).all()):
        raise InputError("some codes are infinite or not a number; expected those of a trained model")
    numeric = np.issubdtype(y.dtype, np.number) and len(np.unique(y)) > 2
    if numeric:
        y = y.astype(np.float64)
        if not np.abs(y).max() < _LARGEST:
            raise InputError(f"{name} has values that are not finite, or above {_LARGEST:g}; rescale them")
        if np.ptp(y) == 0:
            raise InputError(f"{name} is the same everywhere; expected at least two values")
        degree = 2 if len(x) >= 10 * x.shape[1] ** 2 else 1  # squares and products where there are labels enough
        model = make_pipeline(StandardScaler(), PolynomialFeatures(degree, include_bias=False), RidgeCV(PENALTIES))
        unseen = cross_val_predict(model, x, y, cv=KFold(FOLDS, shuffle=True, random_state=0))
        score = 1 - float(np.square(y - unseen).sum() / np.square(y - y.mean()).sum())
        return Fit(np.asarray(model.fit(x, y).predict(rest)), score, 0.0, True)
    classes, counts = np.unique(y.astype(str), return_counts=True)
    if len(classes) < 2:
        raise InputError(f"{name} is '{classes[0]}' everywhere; expected at least two classes")
    if counts.min() < 2 * FOLDS:
        rare = classes[counts.argmin()]
        raise InputError(f"{name} is '{rare}' in {counts.min()} pictures; expected at least {2 * FOLDS} of each class")
    model = make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            Cs=PENALTIES, l1_ratios=(0.0,), max_iter=2_000, scoring="accuracy", use_legacy_attributes=False
        ),
    )
    unseen = cross_val_predict(model, x, y.astype(str), cv=StratifiedKFold(FOLDS, shuffle=True, random_state=0))
    accuracy = float(np.mean(unseen == y.astype(str)))
    return Fit(np.asarray(model.fit(x, y.astype(str)).predict(rest)), accuracy, float(counts.max() / len(y)), False)
