"""InfoM, InfoE, InfoC: modularity, explicitness and compactness from information (Hsu et al. 2023)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, continuous, paired, r2, split, standardise
from unbraid.metrics._information import (
    discretise,
    mutual_information,
    nearest_entropies,
    nearest_information,
    relabel,
)
from unbraid.metrics.declaration import Metric

ESTIMATORS = ("knn", "bins", "values")


def infomec(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    estimator: str = "knn",
    neighbours: int = 10,
    bins: int = 20,
    inactive: float = 1 / 20,
    rng: Rng = None,
) -> Scores:
    """Whether each code holds one factor, each factor is in one code, and the factors can be read linearly.

    With N_ij = I(z_i; v_j) / H(v_j) over active codes and k factors: `infom` is the mean over codes of (max_j N_ij /
    Σ_j N_ij - 1/k) / (1 - 1/k), 1 if each code is informative about one factor only. `infoc` is the same with codes and
    factors exchanged, 1 if each factor is in one code only. `infoe` is the mean over factors of 1 - L_j / log(values of
    v_j), where L_j is the log-loss of a logistic regression of v_j on all codes: 1 if the factors can be read linearly.
    It is fitted to the given rows and measured on the `test` rows; without these, fitted to two thirds of the rows and
    measured on the rest (the authors measure on the rows they fit, where 2,000 codes of noise score 1). The other two
    read the given rows. All are in [0, 1] and invariant to permuting, flipping and shifting codes. Scaling changes only
    which codes are active: those whose range exceeds `inactive` times the widest range.

    One code per factor scores 1, 1, 1. A rotation of these codes scores 0 for `infom` and `infoc`, and 1 for `infoe`.
    Noise scores about 0 for `infoe` and **anything** for the other two, which are ratios of tiny numbers. Estimators:
    `knn` (Ross 2014), `bins` (histograms of equal width), `values` (for quantised codes: the information of the values
    themselves, one-hot for `infoe`; every code that varies is active).

    Continuous factors need `knn`: I(z_i; v_j) by Kraskov et al. 2004, divided by the estimate of I(v_j; v_j), and for
    `infoe` the R² of a linear regression, as in the authors' code.

    A test row with a value that the fitted rows do not have counts as a guess. A code or factor without information
    (less than 1e-12 nats) counts 0, and so does a factor with a single value. With a single factor, `infom` is 1 if
    there is any information; so is `infoc` with a single active code. Without an active code all scores are 0.

    `arrays`: `information` (d, k), normalised, `active` (d,), `per_code` (d,), NaN for codes that are not active,
    `per_factor` (k,), `explicitness` (k,).
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"there is no estimator '{estimator}'{nearest(estimator, ESTIMATORS)}")
    if neighbours < 1:
        raise InputError(f"neighbours is {neighbours}; expected at least 1")
    remedy = f"infomec with estimator='{estimator}' counts values: use estimator='knn'"
    classes = "" if estimator == "knn" else remedy
    table, labels = paired(codes, factors, classes)
    fitted, fitted_labels, unseen, unseen_labels = split(codes, factors, test, rng, classes)
    spread = np.ptp(table, axis=0)
    active = spread > (0 if estimator == "values" else inactive * spread.max())
    if estimator == "knn":
        nats = nearest_information(table, labels, neighbours)
    else:
        nats = mutual_information(relabel(table)[0] if estimator == "values" else discretise(table, bins), labels)
    entropies = nearest_entropies(labels, neighbours)
    information = np.divide(nats, entropies, out=np.zeros_like(nats), where=entropies > 0)
    per_code = np.full(len(information), np.nan)
    per_code[active], per_factor = _share(information[active]), _share(information[active].T)
    explicitness = np.zeros(labels.shape[1])
    if active.any():
        inputs, others = _one_hot(fitted, unseen) if estimator == "values" else standardise(fitted, unseen)
        regressed = continuous(fitted_labels) | continuous(unseen_labels)
        for index in range(labels.shape[1]):
            read = _explained if regressed[index] else _explicitness
            explicitness[index] = read(inputs, others, fitted_labels[:, index], unseen_labels[:, index])
    scores = {
        "infom": per_code[active].mean() if active.any() else 0.0,
        "infoe": explicitness.mean(),
        "infoc": per_factor.mean(),
    }
    arrays = {"per_code": per_code, "per_factor": per_factor, "explicitness": explicitness}
    return Scores(scores, information=information, active=active, **arrays)


def _share(rows: Array) -> Array:
    """The largest entry's share of each row's sum, scaled so that equal entries give 0 and a single one gives 1."""
    width = rows.shape[1]
    if width == 0:
        return np.zeros(len(rows))
    total = rows.sum(1)
    if width == 1:
        return np.asarray((total > 0).astype(float))
    share = np.divide(rows.max(1), total, out=np.full(len(rows), 1 / width), where=total > 0)
    return np.asarray((share - 1 / width) / (1 - 1 / width))


def _one_hot(table: Array, unseen: Array) -> list[Array]:
    """The values of every code as 0 and 1, of the table's rows and of the unseen rows."""
    numbered, counts = relabel(np.concatenate([table, unseen]))
    both = np.concatenate([np.eye(count)[column] for column, count in zip(numbered.T, counts, strict=True)], axis=1)
    return [both[: len(table)], both[len(table) :]]


def _explicitness(inputs: Array, unseen: Array, target: Array, truth: Array) -> float:
    """1 - log-loss / log(values) of the unseen rows. With balanced classes, guessing has a loss of log(values)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    guess = np.log(max(len(np.union1d(target, truth)), 2))
    if np.ptp(target) == 0:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # without a penalty, separable classes have no optimum
        model = LogisticRegression(C=np.inf, class_weight="balanced").fit(inputs, target)
    known = np.isin(truth, model.classes_)
    losses = np.full(len(truth), guess)
    columns = np.searchsorted(model.classes_, truth[known])
    if known.any():
        with np.errstate(divide="ignore"):  # the logarithm of a probability of 0
            likely = model.predict_log_proba(unseen[known])
        losses[known] = -likely[np.arange(len(columns)), columns]
    return float(np.clip(1 - losses.mean() / guess, 0, 1))


def _explained(inputs: Array, unseen: Array, target: Array, truth: Array) -> float:
    """R² of a linear regression on the unseen rows."""
    shift, centre = inputs.mean(0), target.mean()
    weights = np.linalg.lstsq(inputs - shift, target - centre)[0]
    return float(np.clip(r2(truth, (unseen - shift) @ weights + centre), 0, 1))


DECLARED = Metric(
    infomec, "split",
    asks="does each code hold one factor, is each in one code, is it read linearly?",
    range="0 to 1",
    better="higher",
    noise="infoe 0; infom and infoc arbitrary",
    perfect="1",
    invariant="order, sign, one scale for all; infoe rotation",
    trust="infom and infoc if infoe is well above 0",
    report="yes",
    seconds=lambda size, settings: 8e-7 * size.rows * size.codes * size.factors
    + 4e-8 * size.rows * (size.codes + 10) * size.values,
    axes={"information": "cf", "active": "c", "per_code": "c", "per_factor": "f", "explicitness": "f"},
    refits=True,
)  # fmt: skip
