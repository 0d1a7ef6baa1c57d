"""Logistic regression on any number of rows: scikit-learn's problem and solver without its checks of every step.

A protocol fits hundreds of small regressions per model, and scikit-learn spends two thirds of their time on checks.
"""

from __future__ import annotations

import numpy as np

from unbraid.metrics._arrays import Array, standardise

STRENGTHS = np.logspace(-4, 4, 10)


def logistic(codes: Array, target: Array, test: Array, strength: float = 1.0) -> Array:
    """Predictions for the test codes; `strength` is C in scikit-learn. A single class is always predicted."""
    if np.ptp(target) == 0:
        return np.full(len(test), target[0])
    codes, test = standardise(codes, test)
    values, labels = np.unique(target, return_inverse=True)
    return np.asarray(values[_predict(_fit(codes, labels, strength), test)])


def logistic_cv(codes: Array, target: Array, test: Array, seed: int, folds: int = 5) -> Array:
    """`logistic` with the best of 10 strengths from 1e-4 to 1e4 by cross-validated accuracy.

    If a class has fewer members than there are folds, the folds ignore classes, a class absent from the other folds
    counts as an error, and of equally good strengths the one nearest 1 is chosen.
    """
    values, labels, counts = np.unique(target, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return logistic(codes, target, test)
    if counts.min() < folds:
        return logistic(codes, target, test, _strength(codes, target, seed, folds))
    codes, test = standardise(codes, test)
    return np.asarray(values[_predict(_fit_cv(codes, labels, seed, folds), test)])


def _fit_cv(codes: Array, labels: Array, seed: int, folds: int) -> Array:
    """The weights at the best strength, as scikit-learn's LogisticRegressionCV finds them.

    In each fold a fit begins with the weights of the strength before; the last fit begins with the folds' mean.
    """
    from sklearn.model_selection import StratifiedKFold

    paths, accuracy = [], np.zeros(len(STRENGTHS))
    for rest, unseen in StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, labels):
        path: list[Array] = []
        for index, strength in enumerate(STRENGTHS):
            path.append(_fit(codes[rest], labels[rest], strength, path[-1] if path else None))
            accuracy[index] += np.mean(_predict(path[-1], codes[unseen]) == labels[unseen])
        paths.append(path)
    best = int((accuracy / folds).argmax())
    return _fit(codes, labels, STRENGTHS[best], np.mean([path[best] for path in paths], axis=0))


def _fit(codes: Array, labels: Array, strength: float, start: Array | None = None) -> Array:
    """Weights (classes, d + 1), the last column the intercepts, which have no penalty; (1, d + 1) for two classes.

    scikit-learn's LogisticRegression: the mean log loss plus |weights|^2 / (2 strength n), by at most 100 steps of
    L-BFGS until no entry of the gradient exceeds 1e-4.
    """
    from scipy.optimize import fmin_l_bfgs_b

    rows, width, classes = len(codes), codes.shape[1] + 1, int(labels.max()) + 1
    inputs = np.concatenate([codes.T, np.ones((1, rows))])
    truth = (labels == np.arange(classes)[:, None]).astype(float) if classes > 2 else labels[None].astype(float)
    penalty = 1.0 / (strength * rows)

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(-1, width)
        raw = weights @ inputs
        fitted = (truth * raw).sum()
        if classes > 2:
            highest = raw.max(0)
            likely = np.exp(raw - highest)
            total = likely.sum(0)
            likely /= total
            log_total = np.log(total) + highest
        else:
            log_total = np.logaddexp(0, raw)
            likely = np.exp(raw - log_total)
        likely -= truth
        gradient = likely @ inputs.T / rows
        slopes = weights[:, :-1]
        gradient[:, :-1] += penalty * slopes
        return (log_total.sum() - fitted) / rows + penalty / 2 * (slopes * slopes).sum(), gradient.ravel()

    first = np.zeros(len(truth) * width) if start is None else start.ravel()
    solution, *_ = fmin_l_bfgs_b(loss, first, factr=64, pgtol=1e-4, maxiter=100, maxls=50)
    return np.asarray(solution).reshape(-1, width)


def _predict(weights: Array, codes: Array) -> Array:
    """The number of each row's most likely class."""
    raw = codes @ weights[:, :-1].T + weights[:, -1]
    return np.asarray(raw.argmax(1) if len(weights) > 1 else (raw[:, 0] > 0).astype(int))


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
