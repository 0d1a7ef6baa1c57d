"""Logistic regression on any rows, few or many: scikit-learn's, step for step, without its cost around each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, standardise

STRENGTHS = np.logspace(-4, 4, 10)
_STOP = {"maxiter": 100, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}
_SOLVER: dict[str, Any] = {"method": "L-BFGS-B", "options": _STOP}  # scikit-learn's


def logistic(codes: Array, target: Array, test: Array, strength: float = 1.0) -> Array:
    """Predictions for the test codes; `strength` is scikit-learn's C. With one class, that class."""
    if np.ptp(target) == 0:
        return np.full(len(test), target[0])
    codes, test = standardise(codes, test)
    values, labels = np.unique(target, return_inverse=True)
    return np.asarray(values[_predicted(_fitted(codes, labels, len(values), strength), test)])


def logistic_cv(codes: Array, target: Array, test: Array, seed: int, folds: int = 5) -> Array:
    """As `logistic`, at the best of 10 strengths from 1e-4 to 1e4 by cross-validated accuracy.

    As scikit-learn's LogisticRegressionCV does, each fit of a fold starts from the one before, of a smaller strength,
    and the last fit, of all rows, from the mean over folds.

    Where a class has fewer members than there are folds, folds are drawn without regard to classes, a class that a fold
    was not fitted on counts as missed there, and of equally good strengths the one nearest 1 is taken.
    """
    from sklearn.model_selection import StratifiedKFold

    values, labels, counts = np.unique(target, return_inverse=True, return_counts=True)
    if len(values) == 1:
        return logistic(codes, target, test)
    if counts.min() < folds:
        return logistic(codes, target, test, _strength(codes, target, seed, folds))
    codes, test = standardise(codes, test)
    right, paths = np.zeros(len(STRENGTHS)), []
    for rest, held in StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, labels):
        path: list[Array] = []
        for place, strength in enumerate(STRENGTHS):
            path.append(_fitted(codes[rest], labels[rest], len(values), strength, path[-1] if path else None))
            right[place] += np.mean(_predicted(path[-1], codes[held]) == labels[held])
        paths.append(path)
    best = int(right.argmax())
    start = np.mean([path[best] for path in paths], axis=0)
    return np.asarray(values[_predicted(_fitted(codes, labels, len(values), STRENGTHS[best], start), test)])


def _strength(codes: Array, target: Array, seed: int, folds: int) -> float:
    fold = np.random.default_rng(seed).permutation(len(target)) % folds
    right = np.zeros(len(STRENGTHS))
    for place, strength in enumerate(STRENGTHS):
        for held in range(min(folds, len(target))):
            rest = fold != held
            right[place] += np.sum(logistic(codes[rest], target[rest], codes[~rest], strength) == target[~rest])
    best = STRENGTHS[right == right.max()]
    return float(best[np.abs(np.log(best)).argmin()])


def _fitted(codes: Array, labels: Array, classes: int, strength: float, start: Array | None = None) -> Array:
    """Weights (d + 1, classes), the last row added to every code's: the least of `_Loss`, from 0 or from a start."""
    from scipy.optimize import minimize

    loss = _Loss(codes, labels, classes, strength)
    first = np.zeros(loss.shape) if start is None else start
    return np.asarray(minimize(loss.value, first.ravel(), jac=loss.slope, **_SOLVER).x.reshape(loss.shape))


class _Loss:
    """The mean over rows of -log p(label), plus |weights|² / (2 · strength · rows), the last row of weights aside.

    Two classes take one column of weights, for the second: the first one's logit is 0. Sums run in scikit-learn's
    order: solvers stop before the minimum, and where they do depends on the last digit.
    """

    def __init__(self, codes: Array, labels: Array, classes: int, strength: float) -> None:
        count, width = codes.shape
        self._free = classes if classes > 2 else 1
        self.shape = width + 1, self._free
        self._codes, self._own, self._penalty = codes, labels * count + np.arange(count), 1 / (strength * count)
        self._by_row, self._by_class = np.empty((count, self._free)), np.zeros((classes, count))
        self._at, self._slope = np.full(self.shape, np.nan).ravel(), np.empty(self.shape)

    def value(self, flat: Array) -> float:
        """The loss. Its slope comes with it, and is kept for `slope`."""
        weights, by_row, by_class = flat.reshape(self.shape), self._by_row, self._by_class
        count, every = len(by_row), by_class.reshape(-1)
        np.matmul(self._codes, weights[:-1], out=by_row)
        by_class[: -self._free] = 0
        np.add(by_row.T, weights[-1][:, None], out=by_class[-self._free :])
        top, own = by_class.max(0), every[self._own]
        np.exp(np.subtract(by_class, top, out=by_class), out=by_class)
        total = by_class.sum(0)
        np.divide(by_class, total, out=by_class)
        every[self._own] -= 1
        np.divide(by_class[-self._free :].T, count, out=by_row)
        self._slope[:-1] = (by_row.T @ self._codes).T
        self._slope[:-1] += self._penalty * weights[:-1]
        self._slope[-1] = by_row.sum(0)
        self._at = flat.copy()
        penalty = self._penalty / 2 * np.vdot(weights[:-1], weights[:-1])
        return float((np.log(total) + top - own).sum() / count + penalty)

    def slope(self, flat: Array) -> Array:
        if not np.array_equal(flat, self._at):
            self.value(flat)
        return self._slope.ravel()


def _predicted(weights: Array, codes: Array) -> Array:
    """The class of each row, by its number."""
    logits = codes @ weights[:-1] + weights[-1]
    return np.asarray(logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).astype(int))
