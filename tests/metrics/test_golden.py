"""Scores beside those of the reference implementation on the same codes, with the tolerances that came with them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from unbraid.metrics import (
    beta_vae_score,
    code_information,
    dci,
    explicitness,
    factor_vae_score,
    irs,
    mig,
    modularity,
    sap,
    score,
    total_correlation,
    udr,
    wasserstein_correlation,
)

Array = np.ndarray[Any, Any]
Shared = Callable[[str], Path]
CASES = ("identity_pad", "rotated", "half", "noise", "duplicated", "constant_dim", "vae_like")
EXACT, FITTED, INTERVENED = 1e-6, 0.005, 0.03


class Case(NamedTuple):
    codes: Array
    factors: Array
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    scores: dict[str, float]


@functools.cache
def read(arrays: Path, scores: Path) -> Case:
    with np.load(arrays) as file:
        codes, sizes, train, test = file["codes"], file["sizes"], file["train"], file["test"]
    factors = np.stack(np.unravel_index(np.arange(len(codes)), sizes), 1)
    expected = json.loads(scores.read_text())["scores"]
    return Case(codes, factors, (codes[train], factors[train]), (codes[test], factors[test]), expected)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, shared: Shared) -> Case:
    return read(shared(f"golden/{request.param}.npz"), shared(f"golden/{request.param}.json"))


# the reference's name -> our score, how far it may be
SCORES: dict[str, tuple[Callable[[Case], float], float]] = {
    "mig": (lambda c: mig(*c.train)["mig"], EXACT),
    "modularity": (lambda c: modularity(*c.train)["modularity"], EXACT),
    "sap_continuous": (lambda c: sap(*c.train, predictor="r2")["sap"], EXACT),
    "sap_discrete": (lambda c: sap(*c.train, test=c.test)["sap"], FITTED),
    "explicitness_test": (lambda c: explicitness(*c.train, test=c.test)["explicitness"], FITTED),
    "irs": (lambda c: irs(*c.train)["irs"], EXACT),
    "gaussian_total_correlation": (lambda c: total_correlation(c.train[0], epsilon=0)["total_correlation"], EXACT),
    "gaussian_wasserstein_correlation": (
        lambda c: wasserstein_correlation(c.train[0])["wasserstein_correlation"],
        EXACT,
    ),
    "mutual_info_score": (lambda c: code_information(c.train[0])["code_information"], EXACT),
    "beta_vae_eval": (lambda c: beta_vae_score(c.codes, c.factors)["beta_vae"], INTERVENED),
    "factor_vae_eval": (lambda c: factor_vae_score(c.codes, c.factors)["factor_vae"], INTERVENED),
}
DCI = {
    "dci_gbt_disentanglement": "disentanglement",
    "dci_gbt_completeness": "completeness",
    "dci_gbt_informativeness_test": "informativeness",
}
ELSEWHERE = {"dci_gbt_informativeness_train"}  # the accuracy on the training set, which no score here reports


@pytest.mark.parametrize("name", SCORES)
def test_agrees(case: Case, name: str) -> None:
    if name not in case.scores:
        pytest.skip("the reference has no such score for these codes")
    function, tolerance = SCORES[name]
    assert function(case) == pytest.approx(case.scores[name], abs=tolerance)


def test_every_score_of_the_reference_is_compared(case: Case) -> None:
    assert set(case.scores) <= set(SCORES) | set(DCI) | ELSEWHERE


def test_boosted_dci_agrees_as_closely_as_the_same_estimator_should(case: Case) -> None:
    found = dci(*case.train, test=case.test)
    for reference, ours in DCI.items():
        assert found[ours] == pytest.approx(case.scores[reference], abs=FITTED), reference


def test_the_protocol_gives_the_same_numbers(shared: Shared) -> None:
    case = read(shared("golden/vae_like.npz"), shared("golden/vae_like.json"))
    metrics = ["mig", "modularity", "sap", "irs", "explicitness"]
    found = score(*case.train, test=case.test, protocol="dlib", metrics=metrics)
    for ours, reference in zip(metrics, ["mig", "modularity", "sap_discrete", "irs", "explicitness_test"], strict=True):
        assert found[ours] == pytest.approx(case.scores[reference], abs=FITTED), ours


def test_the_exact_booster_is_scikit_learns(shared: Shared) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    case = read(shared("golden/vae_like.npz"), shared("golden/vae_like.json"))
    codes, factors = case.train[0][:300], case.train[1][:300, :2]
    test = case.test[0][:200], case.test[1][:200, :2]
    found = dci(codes, factors, test=test, estimator="gbt_exact", rng=np.random.default_rng(0))
    seed = int(np.random.default_rng(0).integers(2**31))  # features are tried in a random order
    for column in range(2):
        model = GradientBoostingClassifier(random_state=seed).fit(codes, factors[:, column])
        assert found.arrays["accuracy"][column] == np.mean(model.predict(test[0]) == test[1][:, column])
        assert np.abs(found.arrays["importance"][:, column] - model.feature_importances_).max() < 1e-12


@pytest.mark.parametrize("correlation", ["lasso", "spearman"])
def test_udr_agrees(shared: Shared, correlation: str) -> None:
    with np.load(shared("golden/udr.npz")) as file:
        codes, kl = file["codes"], file["kl"]
    expected = json.loads(shared("golden/udr.json").read_text())[correlation]
    found = udr(list(codes), list(kl), correlation)
    assert np.abs(found["pairs"] - expected["pairwise"]).max() < EXACT
    assert np.abs(found["scores"] - expected["model_scores"]).max() < EXACT
