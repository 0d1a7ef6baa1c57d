from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.metrics._logistic import STRENGTHS, _fitted, _Loss, logistic, logistic_cv

FACTORS = factors_of(900)
CODES = perfect(FACTORS) + 0.5 * noise(900)
CODES = (CODES - CODES.mean(0)) / CODES.std(0)
TARGETS = {"two classes": FACTORS[:, 0] // 2, "three classes": FACTORS[:, 0], "sixty": FACTORS @ [20, 5, 1]}


@pytest.fixture(autouse=True)
def _unfinished_fits_are_meant() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
def test_weights_are_scikit_learns(kind: str, strength: float) -> None:
    """To the last digit: where a solver that stops before the minimum ends depends on it."""
    labels = np.unique(TARGETS[kind], return_inverse=True)[1]
    model = LogisticRegression(C=strength).fit(CODES, labels)
    found = _fitted(CODES, labels, labels.max() + 1, strength)
    np.testing.assert_allclose(found[:-1].T, model.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[-1], model.intercept_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", TARGETS)
def test_predictions_are_scikit_learns(kind: str) -> None:
    target = TARGETS[kind] * 10 + 3
    shifted, test = 5 * CODES[:600] + 2, 5 * CODES[600:] + 2
    scaled, scaled_test = ((part - shifted.mean(0)) / shifted.std(0) for part in (shifted, test))
    expected = LogisticRegression(C=10).fit(scaled, target[:600]).predict(scaled_test)
    np.testing.assert_array_equal(logistic(shifted, target[:600], test, 10), expected)


def test_the_strength_is_chosen_as_scikit_learn_does() -> None:
    target = TARGETS["two classes"]
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    shift, scale = CODES[:100].mean(0), CODES[:100].std(0)
    again = (CODES - shift) / scale
    model = LogisticRegressionCV(
        Cs=STRENGTHS, cv=folds, l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False
    ).fit(again[:100], target[:100])
    np.testing.assert_array_equal(logistic_cv(CODES[:100], target[:100], CODES[100:], 7), model.predict(again[100:]))


@pytest.mark.parametrize("kind", TARGETS)
def test_the_loss_is_its_formula_and_its_slope_the_derivative(kind: str) -> None:
    labels = np.unique(TARGETS[kind][:40], return_inverse=True)[1]
    codes, classes = CODES[:40], int(labels.max() + 1)
    loss = _Loss(codes, labels, classes, 0.5)
    weights = np.random.default_rng(0).normal(size=loss.shape)
    logits = codes @ weights[:-1] + weights[-1]
    if classes == 2:
        logits = np.concatenate([np.zeros((40, 1)), logits], 1)
    likely = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -np.log(likely[np.arange(40), labels]).mean() + (weights[:-1] ** 2).sum() / (2 * 0.5 * 40)
    assert loss.value(weights.ravel()) == pytest.approx(expected)
    assert check_grad(loss.value, loss.slope, weights.ravel()) < 1e-5
    elsewhere = loss.slope(np.zeros(weights.size))
    loss.value(weights.ravel())
    np.testing.assert_array_equal(loss.slope(np.zeros(weights.size)), elsewhere)  # not that of the last value
