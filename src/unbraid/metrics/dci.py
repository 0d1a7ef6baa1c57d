"""Disentanglement, completeness and informativeness (Eastwood & Williams 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, generator, r2, split, standardise
from unbraid.metrics._boosting import compute_threads, gbt
from unbraid.metrics._classes import avoided_errors, checked_classes, one_hot
from unbraid.metrics._forest import forest
from unbraid.metrics._information import NEGLIGIBLE
from unbraid.metrics.declaration import Metric, Settings, Size

# From training codes, a factor, test codes and a seed: importances (d,), predictions for test and training codes.
Estimator = Callable[[Array, Array, Array, int], tuple[Array, Array, Array]]
Depths = int | str | Sequence[int] | None


def dci(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    estimator: str = "gbt",
    max_depth: Depths = None,
    weighted_completeness: bool = True,
    categorical: Sequence[int] = (),
    rng: Rng = None,
) -> Scores:
    """Which codes are important for predicting which factors, and how accurate the predictions are.

    One estimator per factor gives the importance R_ij of code i for factor j. `disentanglement` is the mean over codes
    of 1 - H_k(R_i·), weighted by each code's share of all importance: 1 if each code is important for one factor only.
    `completeness` is the mean over factors of 1 - H_d(R_·j): 1 if each factor needs one code only. It is weighted by
    each factor's share of importance, as in the reference code, or a plain mean, as in the papers
    (`weighted_completeness=False`). `informativeness` is the accuracy on the test set, R² for regressions. All are in
    [0, 1], except that R² can be negative.

    Estimators: `gbt` (LightGBM, set up to reproduce `gbt_exact`), `gbt_exact` (scikit-learn's gradient boosting),
    `l1_svm` (linear SVM with an L1 penalty), and for numeric factors, continuous or not, `forest` (random forest
    regression) and `lasso`. `max_depth` is for `forest`: one depth, a list with one per factor, `"cv"` for the best by
    cross-validation, or None for trees that grow until their leaves are pure. These two read the `categorical` factors
    by a regression of each class on 0 and 1, whose accuracy is the share of the errors of guessing the most frequent
    class that is avoided, so that nothing depends on how classes are numbered.

    `arrays`: `importance` (d, k), `per_code` (d,), `per_factor` (k,), `accuracy` (k,), `train_accuracy` (k,).
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"there is no estimator '{estimator}'{nearest(estimator, ESTIMATORS)}")
    fit, regression = ESTIMATORS[estimator]
    remedy = f"dci with estimator='{estimator}' fits a classifier: use estimator='forest' or 'lasso'"
    train_codes, train_factors, test_codes, test_factors = split(
        codes, factors, test, rng, "" if regression else remedy
    )
    count = train_factors.shape[1]
    depths = _depths(estimator, max_depth, count)
    classes = checked_classes(categorical, train_factors) if regression else []
    seed = int(generator(rng).integers(2**31))
    importance = np.zeros((train_codes.shape[1], count))
    accuracy, train_accuracy = np.zeros(count), np.zeros(count)

    def measure(column: int) -> None:
        target, truth = train_factors[:, column], test_factors[:, column]
        if np.ptp(target) == 0:  # nothing to predict: no code is important, and guessing the value is best
            accuracy[column], train_accuracy[column] = np.mean(truth == target[0]), 1.0
            return
        fitting = partial(forest, depth=depths[column]) if estimator == "forest" else fit
        quality = r2 if regression else _accuracy
        if column in classes:
            shares, values = one_hot(target)
            importance[:, column], *likely = fitting(train_codes, shares, test_codes, seed)
            predicted, quality = [values[table.argmax(1)] for table in likely], avoided_errors
        else:
            importance[:, column], *predicted = fitting(train_codes, target, test_codes, seed)
        accuracy[column], train_accuracy[column] = quality(truth, predicted[0]), quality(target, predicted[1])

    longest_first = sorted(range(count), key=lambda j: -len(np.unique(train_factors[:, j])))
    with ThreadPoolExecutor(compute_threads() if estimator == "gbt" else 1) as pool:
        list(pool.map(measure, longest_first))
    scores = from_importance(importance, accuracy, weighted_completeness)
    scores.arrays["train_accuracy"] = train_accuracy
    return scores


def _depths(estimator: str, max_depth: Depths, count: int) -> list[int | str | None]:
    """One depth per factor."""
    if max_depth is not None and estimator != "forest":
        raise InputError(f"max_depth is for estimator='forest', not '{estimator}'")
    one = max_depth is None or isinstance(max_depth, int | str)
    depths: list[Any] = [max_depth] * count if one else list(max_depth)  # type: ignore[arg-type]
    if len(depths) != count:
        raise InputError(f"max_depth has {len(depths)} depths for {count} factor(s); expected one per factor, or 'cv'")
    for depth in depths:
        if not (depth is None or depth == "cv" or (isinstance(depth, int) and depth > 0)):
            raise InputError(f"max_depth is {depth!r}; expected a whole number of at least 1, 'cv' or None")
    return depths


def _accuracy(truth: Array, predicted: Array) -> float:
    return float(np.mean(truth == predicted))


def from_importance(importance: Array, accuracy: Array, weighted_completeness: bool = True) -> Scores:
    """The three scores of an importance matrix (d, k) and an accuracy per factor (k,).

    Importances below 1e-12 are rounding and count as none. A code or factor without importance counts 0; without any
    importance both scores are 0.
    """
    importance = np.where(importance < NEGLIGIBLE, 0.0, importance)
    per_code, per_factor = _one_minus_entropy(importance.T), _one_minus_entropy(importance)
    total = importance.sum()
    by_code = importance.sum(1) / total if total > 0 else np.full(len(importance), 1 / len(importance))
    by_factor = importance.sum(0) / total if total > 0 else np.full(importance.shape[1], 1 / importance.shape[1])
    completeness = per_factor @ by_factor if weighted_completeness else per_factor.mean()
    scores = {
        "disentanglement": per_code @ by_code,
        "completeness": completeness,
        "informativeness": accuracy.mean(),
    }
    return Scores(scores, importance=importance, per_code=per_code, per_factor=per_factor, accuracy=accuracy)


def _one_minus_entropy(columns: Array) -> Array:
    """1 minus the entropy of each column as a distribution, relative to the largest possible; 0 for a column of 0."""
    if len(columns) == 1:
        return np.asarray((columns[0] > 0).astype(float))
    share = (columns + 1e-11) / (columns + 1e-11).sum(0)
    entropy = -(share * np.log(share)).sum(0) / np.log(len(columns))
    return np.where(columns.sum(0) > 0, (1 - entropy).clip(0, 1), 0.0)


def _gbt_exact(codes: Array, target: Array, test: Array, seed: int) -> tuple[Array, Array, Array]:
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(random_state=seed).fit(codes, target)
    return np.abs(model.feature_importances_), model.predict(test), model.predict(codes)


def _l1_svm(codes: Array, target: Array, test: Array, seed: int) -> tuple[Array, Array, Array]:
    """Importance is the mean absolute weight over classes, of standardised codes (assumptions, appendix B)."""
    from sklearn.svm import LinearSVC

    codes, test = standardise(codes, test)
    model = LinearSVC(penalty="l1", C=1.0, dual=False, random_state=seed).fit(codes, target)
    return np.abs(model.coef_).mean(0), model.predict(test), model.predict(codes)


def _lasso(codes: Array, target: Array, test: Array, seed: int) -> tuple[Array, Array, Array]:
    """As in Eastwood & Williams: codes and factor standardised, importance the absolute weight.

    Of a target with several columns (n, t) it is the mean over columns.
    """
    from sklearn.linear_model import Lasso

    codes, test = standardise(codes, test)
    gram: Any = codes.T @ codes if len(codes) > codes.shape[1] else False  # shared by the columns of the target
    importance, predicted = [], []
    for column in target.reshape(len(target), -1).T:
        mean, deviation = column.mean(), column.std()
        model = Lasso(alpha=0.02, random_state=seed, fit_intercept=False, precompute=gram)
        model.fit(codes, (column - mean) / deviation)
        importance.append(np.abs(model.coef_))
        predicted.append([model.predict(table) * deviation + mean for table in (test, codes)])
    unseen, seen = (np.stack([one[index] for one in predicted], 1) for index in (0, 1))
    shape = (-1, *target.shape[1:])
    return np.mean(importance, axis=0), unseen.reshape(shape), seen.reshape(shape)


# name -> the estimator, and whether it is a regression
ESTIMATORS: dict[str, tuple[Estimator, bool]] = {
    "gbt": (gbt, False),
    "gbt_exact": (_gbt_exact, False),
    "l1_svm": (_l1_svm, False),
    "forest": (partial(forest, depth=None), True),
    "lasso": (_lasso, True),
}


def _seconds(size: Size, settings: Settings) -> float:
    match settings.get("estimator", "gbt"):
        case "lasso":
            return 8e-11 * size.rows * size.codes**2 * size.factors + 2e-7 * size.rows * size.codes
        case "l1_svm":
            return 2e-6 * size.rows * size.codes * size.values / 20
        case "forest":
            searched = 3 if settings.get("max_depth") == "cv" else 1
            return 4e-5 * size.rows * size.codes * size.factors * searched / 3
        case estimator:
            rate = 1e-6 if estimator == "gbt" else 3e-5
            return 0.08 * size.values + rate * size.rows * (size.codes + 5) * size.values


DECLARED = Metric(
    dci, "split",
    asks="which codes are used to predict which factors, and how well?",
    range="0 to 1, R² below 0",
    better="higher",
    noise="D and C near 0 by trees for few codes, arbitrary by lasso; I at chance",
    perfect="1",
    invariant="order, sign, scale",
    trust="if informativeness is well above chance",
    report="yes",
    seconds=lambda size, settings: _seconds(size, settings),
    axes={"importance": "cf", "per_code": "c", "per_factor": "f", "accuracy": "f", "train_accuracy": "f"},
    refits=True,
)  # fmt: skip
