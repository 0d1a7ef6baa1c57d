"""Scores beside those of the reference implementation on the same codes, with the tolerances that came with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.metrics.golden import CASES, DCI, EXACT, FITTED, SCORES, Case, boosted, read, udr_differences
from unbraid.metrics import dci, score

Shared = Callable[[str], Path]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, shared: Shared) -> Case:
    return read(shared(f"golden/{request.param}.npz"), shared(f"golden/{request.param}.json"))


@pytest.mark.parametrize("name", SCORES)
def test_agrees(case: Case, name: str) -> None:
    if name not in case.scores:
        pytest.skip("the reference has no such score for these codes")
    function, tolerance = SCORES[name]
    assert function(case) == pytest.approx(case.scores[name], abs=tolerance)


def test_every_score_of_the_reference_is_compared(case: Case) -> None:
    assert set(case.scores) <= set(SCORES) | set(DCI)


def test_boosted_dci_agrees_as_closely_as_the_same_estimator_should(case: Case) -> None:
    found = boosted(case)
    for reference, ours in DCI.items():
        assert ours(found) == pytest.approx(case.scores[reference], abs=FITTED), reference


def test_the_protocol_gives_the_same_numbers(shared: Shared) -> None:
    case = read(shared("golden/vae_like.npz"), shared("golden/vae_like.json"))
    names = {
        "mig": ("mig", EXACT),
        "modularity": ("modularity", EXACT),
        "sap": ("sap_discrete", FITTED),
        "irs": ("irs", EXACT),
        "explicitness": ("explicitness_test", FITTED),
        "total_correlation": ("gaussian_total_correlation", EXACT),
    }
    found = score(*case.train, test=case.test, protocol="dlib", metrics=list(names))
    for ours, (reference, tolerance) in names.items():
        assert found[ours] == pytest.approx(case.scores[reference], abs=tolerance), ours


def test_the_exact_booster_is_scikit_learns(shared: Shared) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    case = read(shared("golden/vae_like.npz"), shared("golden/vae_like.json"))
    codes, factors = case.train[0][:100], case.train[1][:100, :2]
    test = case.test[0][:100], case.test[1][:100, :2]
    found = dci(codes, factors, test=test, estimator="gbt_exact", rng=np.random.default_rng(0))
    seed = int(np.random.default_rng(0).integers(2**31))  # features are tried in a random order
    for column in range(2):
        model = GradientBoostingClassifier(random_state=seed).fit(codes, factors[:, column])
        assert found.arrays["accuracy"][column] == np.mean(model.predict(test[0]) == test[1][:, column])
        assert np.abs(found.arrays["importance"][:, column] - model.feature_importances_).max() < 1e-12


@pytest.mark.parametrize("correlation", ["lasso", "spearman"])
def test_udr_agrees(shared: Shared, correlation: str) -> None:
    pairs, models = udr_differences(shared("golden/udr.npz"), shared("golden/udr.json"), correlation)
    assert pairs < EXACT
    assert models < EXACT
