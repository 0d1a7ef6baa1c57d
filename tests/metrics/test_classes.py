"""Factors that are classes: no score depends on what the classes are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway, kruskal, spearmanr

from unbraid import score
from unbraid.errors import InputError
from unbraid.metrics import METRICS, dci, irs, linear_r2, mcc, retrieved_factors, sap
from unbraid.metrics._classes import avoided_errors, correlation_ratio
from unbraid.metrics._ridge import STRENGTHS, ridge

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
KIND = RNG.integers(4, size=600)
CODES = np.column_stack([np.array([0.0, 3.0, 1.0, 2.0])[KIND], RNG.normal(size=600)]) + 0.3 * RNG.normal(size=(600, 2))
SIZE = RNG.integers(5, size=600)
FACTORS = np.column_stack([KIND, SIZE])
RENAMED = np.column_stack([np.array([2, 0, 3, 1])[KIND], SIZE])
SETTINGS: dict[str, dict[str, Any]] = {
    "sap": {"predictor": "r2"},
    "dci lasso": {"estimator": "lasso"},
    "dci forest": {"estimator": "forest", "max_depth": "cv"},
    "irs": {"bins": 3},
    "retrieved_factors": {},
    "dci_es": {"capacities": (0, 8), "draws": 1},
    "mcc": {},
    "linear_r2": {},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_renaming_classes_changes_nothing(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.metrics._forest.TREES", 20)
    function, settings = METRICS[case.split()[0]].function, SETTINGS[case]
    train, test = (slice(0, 400), slice(400, 600)) if METRICS[case.split()[0]].reads == "split" else (slice(None), None)
    results = []
    for factors in (FACTORS, RENAMED):
        unseen = {} if test is None else {"test": (CODES[test], factors[test])}
        results.append(function(CODES[train], factors[train], **unseen, rng=0, categorical=[0], **settings))
        as_numbers = function(CODES[train], factors[train], **unseen, rng=0, **settings)
        if case not in ("dci_es", "dci forest"):
            assert as_numbers != pytest.approx(results[-1], abs=1e-3)  # what the numbering would have given
    assert results[0] == pytest.approx(results[1], abs=1e-9)


def test_words_reach_the_metrics_as_classes() -> None:
    """In protocols that read factors as numbers, the alphabet would decide."""
    words = np.array(["red", "green", "blue", "ochre"])[KIND]
    other = np.array(["a", "d", "b", "c"])[KIND]
    protocol = {"sap": {"predictor": "r2"}, "irs": {}, "retrieved_factors": {}, "mcc": {}, "linear_r2": {}}
    found, renamed = (
        score(CODES, pd.DataFrame({"colour": column, "size": SIZE}), protocol=protocol) for column in (words, other)
    )
    assert dict(found) == pytest.approx(dict(renamed), abs=1e-9)
    assert found.types == ("classes", "ordered")
    numbered = score(CODES, FACTORS, names=["colour", "size"], types={"colour": "classes"}, protocol=protocol)
    assert dict(numbered) == pytest.approx(dict(found), abs=1e-9)


def test_the_correlation_ratio_is_that_of_the_analysis_of_variance() -> None:
    groups = [CODES[value == KIND] for value in range(4)]
    f = f_oneway(*groups).statistic
    within, between = 600 - 4, 3
    np.testing.assert_allclose(correlation_ratio(CODES, KIND), f * between / (f * between + within))
    two = KIND > 1
    squared = np.corrcoef(CODES[:, 0], two)[0, 1] ** 2
    assert correlation_ratio(CODES, two)[0] == pytest.approx(squared)
    assert correlation_ratio(np.ones((600, 1)), KIND)[0] == 0
    best = max(np.corrcoef(CODES[:, 0], np.array(numbers)[KIND])[0, 1] ** 2 for numbers in ([0, 3, 1, 2], [0, 1, 2, 3]))
    assert correlation_ratio(CODES, KIND)[0] >= best


def test_retrieval_of_classes_is_the_test_of_kruskal_and_wallis() -> None:
    found = retrieved_factors(CODES, FACTORS, categorical=[0])
    expected = [kruskal(*(column[value == KIND] for value in range(4))) for column in CODES.T]
    np.testing.assert_allclose(found.arrays["p_value"][:, 0], [one.pvalue for one in expected], rtol=1e-6, atol=1e-30)
    two = (KIND > 1).astype(int)
    root = retrieved_factors(CODES, two, categorical=[0]).arrays["correlation"][:, 0]
    np.testing.assert_allclose(root, [abs(spearmanr(column, two)[0]) for column in CODES.T])


def test_avoided_errors() -> None:
    truth = np.array([0, 0, 0, 1, 2])
    assert avoided_errors(truth, truth) == 1
    assert avoided_errors(truth, np.zeros(5)) == 0
    assert avoided_errors(truth, np.array([0, 0, 0, 1, 1])) == pytest.approx(0.5)
    assert avoided_errors(np.zeros(5), np.ones(5)) == 0


def test_many_classes_are_not_binned() -> None:
    """Fifty classes that a code separates, in an order that says nothing: bins would mix them."""
    factor = np.arange(600) % 50
    code = np.random.default_rng(3).permutation(50)[factor][:, None].astype(float)
    assert irs(code, factor, categorical=[0])["irs"] == 1
    assert irs(code, factor)["irs"] < 0.9
    assert sap(code, factor, predictor="r2", categorical=[0])["sap"] == pytest.approx(1)
    assert linear_r2(code, factor, categorical=[0])["linear_r2"] < 0.1  # a line separates no class between others


def test_columns_of_classes_are_checked() -> None:
    with pytest.raises(InputError, match="categorical names factor 2; factors are 0 to 1"):
        sap(CODES, FACTORS, predictor="r2", categorical=[2])
    with pytest.raises(InputError, match=r"factors column 0 is continuous .*leave it out of categorical"):
        dci(CODES, CODES, estimator="lasso", categorical=[0])


# The metrics for wide codes


def test_mcc_matches_each_factor_with_a_code_of_its_own() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(900, 3))
    codes = factors[:, [2, 0, 1]] * [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=(900, 3))
    train, test = (codes[:600], factors[:600]), (codes[600:], factors[600:])
    found = mcc(*train, test=test)
    assert found.arrays["match"].tolist() == [1, 2, 0]
    expected = [abs(np.corrcoef(test[0][:, code], test[1][:, factor])[0, 1]) for factor, code in enumerate([1, 2, 0])]
    np.testing.assert_allclose(found.arrays["per_factor"], expected)
    assert found["mcc"] == pytest.approx(np.mean(expected))
    copies = mcc(codes[:, [0, 0, 0]], factors)  # one code cannot stand for three factors
    assert copies["mcc"] < 0.45
    assert mcc(codes[:, :1], factors).arrays["match"].tolist().count(-1) == 2


def test_wide_noise_scores_nothing() -> None:
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(900, 400)), np.column_stack([rng.integers(4, size=900), rng.normal(size=900)])
    assert mcc(codes, factors, categorical=[0])["mcc"] < 0.09
    assert mcc(codes, factors, test=(codes, factors))["mcc"] > 0.1  # the rows that chose the codes
    assert abs(linear_r2(codes, factors, categorical=[0])["linear_r2"]) < 0.05


@pytest.mark.parametrize("width", [5, 80])
def test_ridge_is_the_ridge_of_least_leave_one_out_error(width: int) -> None:
    from sklearn.linear_model import RidgeCV

    rng = np.random.default_rng(0)
    codes, test = rng.normal(size=(60, width)), rng.normal(size=(20, width))
    targets = [codes[:, :1] + rng.normal(size=(60, 1)), rng.normal(size=(60, 2))]
    mean, deviation = codes.mean(0), codes.std(0)
    for target, predicted in zip(targets, ridge(codes, targets, test), strict=True):
        model = RidgeCV(STRENGTHS * 60).fit((codes - mean) / deviation, target)
        np.testing.assert_allclose(predicted, model.predict((test - mean) / deviation).reshape(20, -1), atol=1e-8)
