"""Scores by two protocols at once, and of sampled codes beside those of the means."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid
from tests.metrics.examples import factors_of, noise
from unbraid.errors import InputError
from unbraid.metrics import METRICS, PROTOCOLS, Metric, Protocol, Scores, score
from unbraid.metrics.protocols import is_score_of_codes
from unbraid.runs.identity import plain

QUICK = ("mig", "sap", "modularity", "beta_vae_score", "total_correlation")
FEW = {"train_points": 100, "test_points": 50}


def quick(name: str) -> dict[str, dict[str, Any]]:
    """Some metrics of a protocol, with few points."""
    metrics = PROTOCOLS[name].metrics
    return {metric: {**metrics[metric], **(FEW if "score" in metric else {})} for metric in QUICK}


def both() -> Protocol:
    return Protocol("both", quick("locatello2018"), 400, 200, beside={"dlib": quick("dlib")})


def mixture() -> tuple[Any, Any]:
    factors = factors_of(600)
    return factors @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]]) + noise(600), factors


def test_scores_beside_are_those_that_their_protocol_gives_alone() -> None:
    first = score(*mixture(), protocol=replace(both(), beside={}), rng=3)
    other = score(*mixture(), protocol=Protocol("dlib", quick("dlib"), 400, 200), rng=3)
    table = score(*mixture(), protocol=both(), rng=3)
    assert table == first | {f"dlib.{name}": value for name, value in other.items()}
    assert table["sap"] != table["dlib.sap"]
    for name, array in other.arrays["sap"].items():
        assert np.array_equal(table.arrays["dlib.sap"][name], array)


def test_the_same_settings_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(codes: Any, factors: Any, *, bins: int = 20, rng: Any = None) -> Scores:
        calls.append(bins)
        return Scores({"mig": float(bins)})

    monkeypatch.setitem(METRICS, "mig", Metric(counted, "train"))
    protocol = Protocol("both", {"mig": {}}, beside={"same": {"mig": {"bins": 20}}, "fine": {"mig": {"bins": 50}}})
    table = score(*mixture(), protocol=protocol)
    assert calls == [20, 50]
    assert table == {"mig": 20.0, "same.mig": 20.0, "fine.mig": 50.0}


def test_intervals_and_a_choice_of_metrics_cover_what_is_beside() -> None:
    table = score(*mixture(), protocol=both(), metrics=["sap", "active_units"], confidence=0.9, resamples=3)
    names = ("sap", "active_units", "dlib.sap")
    assert set(table) == {*names, *(f"{name}.{end}" for name in names for end in ("low", "high"))}


def test_only_protocols_that_use_the_new_fields_have_them_in_ids() -> None:
    assert set(plain(Protocol("mine", {"mig": {}}))) == {"metrics", "train", "test"}
    assert plain(both())["beside"] == {"dlib": quick("dlib")}
    assert plain(Protocol("mine", {}, sampled={"mig": {}}))["sampled"] == {"mig": {}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beside": {"dlib": {"migg": {}}}}, "there is no metric 'migg'; did you mean 'mig'"),
        ({"beside": {"dlib": {"mig": {"bin": 5}}}}, "metric 'mig' has no setting 'bin'; did you mean 'bins'"),
        ({"beside": {"sap": {}}}, "'sap' cannot be a prefix"),
        ({"beside": {"a.b": {}}}, "'a.b' cannot be a prefix"),
        ({"beside": {"sampled": {}}}, "'sampled' cannot be a prefix"),
        ({"sampled": {"migg": {}}}, "there is no metric 'migg'"),
    ],
)
def test_errors(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Protocol("mine", {"mig": {}}, **given)


def test_assumptions_is_appendix_b_with_the_reference_code_beside() -> None:
    protocol = PROTOCOLS["assumptions"]
    assert protocol.metrics == {**PROTOCOLS["locatello2018"].metrics, "downstream": {}}
    assert protocol.beside == {"dlib": PROTOCOLS["dlib"].metrics}
    twice = {part.metric for part in protocol.parts() if len(part.prefixes) == 2}
    alike = {"mig", "modularity", "irs", "wasserstein_correlation", "code_information", "active_units"}
    assert twice == alike


def test_which_scores_are_of_codes() -> None:
    of_codes = ["mig", "dci.disentanglement", "dlib.mig", "dlib.dci.disentanglement"]
    others = ["kl", "test.rmse", "sampled.mig", "udr.lasso", "total_correlation_mean"]
    assert [name for name in of_codes + others if is_score_of_codes(name)] == of_codes


def test_a_run_scores_sampled_codes(tmp_path: Path) -> None:
    protocol = Protocol(
        "mine", {"total_correlation": {}}, 200, 100, sampled={"active_units": {}, "code_information": {}}
    )
    settings: dict[str, Any] = {"resolution": 16, "samples": 300, "latents": 3, "network": "small", "batch_size": 8}
    run = unbraid.train("beta_vae", "dsprites", steps=1, out=tmp_path / "run", protocol=protocol, **settings)
    scores = run.read_json("scores")["scores"]
    assert {"total_correlation", "sampled.active_units", "sampled.code_information"} <= set(scores)
    # untrained: means hardly move, sampled codes have the variance of the prior and so are active
    assert scores["sampled.active_units"] == 3.0
    codes = run.representation().draw(1)
    assert codes.std() == pytest.approx(1.0, abs=0.1)
    assert math.isclose(float((codes - run.representation().codes).mean()), 0.0, abs_tol=0.15)
    run.score_again(score(codes, run.representation().factors, metrics=["mig"]))
    again = run.read_json("scores")["scores"]
    assert "sampled.active_units" in again
    assert "total_correlation" not in again


def test_models_that_are_not_gaussian_have_no_sampled_scores(tmp_path: Path) -> None:
    protocol = Protocol("mine", {"mig": {}}, 200, 100, sampled={"mig": {}})
    settings: dict[str, Any] = {"resolution": 16, "samples": 300, "latents": 3, "network": "small", "batch_size": 8}
    run = unbraid.train("autoencoder", "dsprites", steps=1, out=tmp_path / "run", protocol=protocol, **settings)
    assert "sampled.mig" not in run.read_json("scores")["scores"]
