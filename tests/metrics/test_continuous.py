"""Continuous factors: what `score` does with them, and the estimates that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from unbraid import score
from unbraid.errors import InputError
from unbraid.metrics import PROTOCOLS, dci, infomec, mig, probes, sap
from unbraid.metrics._information import discretise, nearest_entropies, nearest_information

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
MIXED = np.column_stack([RNG.uniform(size=300), RNG.integers(4, size=300), RNG.normal(size=300)])
CODES = MIXED * [2.0, -1.0, 1.0] + 0.05 * RNG.normal(size=MIXED.shape)
NEEDING = ["mig", "dci", "sap", "modularity", "explicitness", "beta_vae_score", "factor_vae_score"]
QUICK = {"sap": {"predictor": "r2"}, "irs": {}, "infomec": {}, "retrieved_factors": {}}


CONTINUOUS = MIXED[:, [0, 2]]


def test_a_named_protocol_leaves_out_what_needs_classes_and_says_so() -> None:
    found = score(CODES, CONTINUOUS)
    assert set(found) == {
        "irs", "total_correlation", "wasserstein_correlation", "wasserstein_correlation.normalised",
        "code_information", "active_units",
    }  # fmt: skip
    assert found.notes == [
        f"left out {', '.join(NEEDING)}: factor '0' is continuous ({MIXED[0, 0]:g} at row 0); "
        "protocol 'continuous' has metrics for such factors"
    ]
    with pytest.raises(KeyError, match=r"^there is no score 'mig': factor '0' is continuous"):
        found["mig"]
    with pytest.raises(InputError, match=r"^there is no score 'med': ask for it with metrics=\['med'\]$"):
        found["med"]
    with pytest.raises(InputError, match=r"^there is no score 'irx'; did you mean 'irs'\?$"):
        found["irx"]
    assert found.get("mig") is None


def test_a_continuous_factor_is_left_out_of_what_needs_classes_and_the_others_stay() -> None:
    quick = ["mig", "sap", "modularity", "irs"]
    found = score(CODES, pd.DataFrame(MIXED, columns=["x", "shape", "size"]), metrics=quick)
    train = score(CODES, MIXED[:, 1], metrics=["mig"])
    assert found["mig"] == train["mig"] > 0.5
    assert found.notes[0] == "mig, sap, modularity: without the continuous factors 'x', 'size'"
    assert np.isnan(found.arrays["mig"]["information"]).any(0).tolist() == [True, False, True]
    assert found.details()["mig"]["per_factor"] == {"x": None, "shape": pytest.approx(found["mig"]), "size": None}
    assert found.arrays["irs"]["robustness"].shape == (3, 3)


@pytest.mark.parametrize("metric", NEEDING)
def test_a_metric_that_was_chosen_is_refused(metric: str) -> None:
    """With the row as it was given, though the rows are shuffled."""
    line = rf"^factor '0' is continuous \({MIXED[0, 0]:g} at row 0\); {metric}.*; or use protocol 'continuous'$"
    with pytest.raises(InputError, match=line):
        score(CODES, CONTINUOUS, metrics=["irs", metric])
    with pytest.raises(InputError, match=line):
        score(CODES, CONTINUOUS, protocol={metric: {}})


def test_intervals_of_what_is_left() -> None:
    found = score(CODES, CONTINUOUS, protocol="fast", confidence=0.9, resamples=3)
    assert found["irs.low"] <= found["irs"] <= found["irs.high"]
    assert len(found.notes) == 1


def test_the_continuous_protocol_leaves_out_nothing() -> None:
    quick = [metric for metric in PROTOCOLS["continuous"].metrics if metric not in ("dci", "dci_es")]
    found = score(CODES, MIXED, protocol="continuous", metrics=quick)
    assert found.notes == []
    assert found["sap"] > 0.9
    assert found["infomec.infom"] > 0.9
    assert found["retrieved_factors.fraction"] == 1
    assert "dci" in PROTOCOLS["continuous"].metrics
    assert PROTOCOLS["continuous"].metrics["dci"]["estimator"] == "forest"


def test_floats_that_are_whole_numbers_are_classes() -> None:
    factors = np.random.default_rng(1).integers(3, size=(300, 2))
    codes = factors + 0.3 * np.random.default_rng(2).normal(size=(300, 2))
    metrics = ["mig", "sap", "irs", "infomec"]
    assert score(codes, factors.astype(np.float32), metrics=metrics) == score(codes, factors, metrics=metrics)


def test_factor_bins_cut_continuous_factors_and_no_others() -> None:
    cut = np.column_stack([discretise(MIXED[:, :1], 10), MIXED[:, 1], discretise(MIXED[:, 2:], 10)]).astype(int)
    assert mig(CODES, MIXED, factor_bins=10) == mig(CODES, cut)
    assert score(CODES, MIXED, protocol={"mig": {"factor_bins": 10}}).notes == []


# Estimates


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_information_of_continuous_factors_is_that_of_scikit_learn(neighbours: int) -> None:
    factors = MIXED[:, [0, 2]]
    expected = [
        mutual_info_regression(CODES, factor, n_neighbors=neighbours, discrete_features=False, random_state=0)
        for factor in factors.T
    ]
    np.testing.assert_allclose(nearest_information(CODES, factors, neighbours), np.transpose(expected), atol=1e-6)


def test_information_of_correlated_normals() -> None:
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=(2, 3000))
    v = 0.9 * z + np.sqrt(1 - 0.81) * noise
    assert nearest_information(z[:, None], v[:, None], 10)[0, 0] == pytest.approx(-0.5 * np.log(1 - 0.81), abs=0.04)
    assert nearest_information(noise[:, None], z[:, None], 10)[0, 0] < 0.02


def test_a_code_of_few_values_needs_no_noise() -> None:
    """What it tells of a continuous factor is what the factor tells of its values."""
    code = np.round(MIXED[:, :1] * 4)
    backwards = mutual_info_classif(MIXED[:, :1], code[:, 0], n_neighbors=10, random_state=0)[0]
    assert nearest_information(code, MIXED[:, :1], 10)[0, 0] == pytest.approx(backwards, abs=0.1)
    constant = np.full((300, 1), 0.3)
    assert nearest_information(constant, MIXED[:, :1], 10)[0, 0] == 0


def test_what_a_code_can_tell_at_most() -> None:
    found = nearest_entropies(MIXED, 10)
    assert found[[0, 2]] == pytest.approx(digamma(300) - digamma(10))
    share = np.bincount(MIXED[:, 1].astype(int)) / 300
    assert found[1] == pytest.approx(-(share * np.log(share)).sum())


def test_infomec_of_continuous_factors_is_that_of_its_authors() -> None:
    factors = MIXED[:, [0, 2]]
    codes = CODES @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.3, 0.0, 1.0]])
    told = np.array([mutual_info_regression(codes, v, n_neighbors=10, random_state=0) for v in factors.T])
    found = infomec(codes, factors, test=(codes, factors))  # they measure on the rows they fit
    n = told / (digamma(300) - digamma(10))  # theirs is 3 % less, from noise; the same for all factors, it cancels
    np.testing.assert_allclose(found.arrays["information"], n.T, atol=1e-6)
    assert found["infom"] == pytest.approx((np.mean(n.max(0) / n.sum(0)) - 1 / 2) / (1 - 1 / 2), abs=1e-5)
    design = np.column_stack([codes, np.ones(300)])
    explained = [1 - (v - design @ np.linalg.lstsq(design, v)[0]).var() / v.var() for v in factors.T]
    assert found["infoe"] == pytest.approx(np.mean(explained))
    with pytest.raises(InputError, match="infomec with estimator='bins' counts values: use estimator='knn'"):
        infomec(codes, factors, estimator="bins")


def test_sap_is_the_gap_of_squared_correlations() -> None:
    squared = np.array([[np.corrcoef(z, v)[0, 1] ** 2 for v in MIXED.T] for z in CODES.T])
    top = np.sort(squared, axis=0)
    assert sap(CODES, MIXED, predictor="r2")["sap"] == pytest.approx(np.mean(top[-1] - top[-2]))
    dead = np.column_stack([CODES, np.full(300, 3.0) + 1e-9 * RNG.normal(size=300)])  # a variance below 1e-12
    assert sap(dead, MIXED, predictor="r2").arrays["predictability"][3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("estimator", ["lasso", "forest"])
def test_dci_reads_factors_as_numbers(estimator: str) -> None:
    found = dci(CODES, MIXED, estimator=estimator)
    assert found["informativeness"] > 0.9
    assert found["disentanglement"] > 0.8
    assert found.arrays["train_accuracy"].min() > 0.9


def test_probes_read_continuous_factors_by_regression_and_others_by_classes() -> None:
    found = probes(CODES, MIXED, groups=[[0], [1], [2]], names=("x", "shape", "size"))
    assert min(found["r.x"], found["r0.x"], found["r1.shape"], found["r2.size"]) > 0.95
    assert max(found["r1.x"], found["r2.x"]) < 0.1  # R², 0 for what tells nothing
    assert found["r0.shape"] < 0.5  # accuracy, chance for what tells nothing
    assert found["diagonal"] == 1


# From files


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_the_command_scores_continuous_factors(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unbraid.cli import app

    names = ["x", "shape", "size"]
    table = pd.DataFrame(np.hstack([CODES, MIXED]), columns=["z0", "z1", "z2", *names])
    file = tmp_path / f"codes{suffix}"
    if suffix == ".npz":
        np.savez(file, codes=CODES, factors=MIXED, names=names)
    elif suffix == ".csv":
        table.to_csv(file, index=False)
    else:
        file.write_bytes(b"")
        monkeypatch.setattr(pd, "read_parquet", lambda path: table)  # which needs pyarrow
    columns = [] if suffix == ".npz" else ["--factors", "x,shape,size"]
    ignored = [] if suffix == ".npz" else ["--ignore", "shape,size"]
    command = ["score", str(file), *columns, "--protocol", "continuous", "--metrics", "sap,irs,infomec"]
    found = CliRunner().invoke(app, command, catch_exceptions=False)
    assert found.exit_code == 0
    expected = score(CODES, MIXED, protocol="continuous", metrics=["sap", "irs", "infomec"])
    for name, value in expected.items():
        assert f"{name} " in found.output
        assert f"{value:.4f}" in found.output
    alone = ["--factors", "x"] if columns else ["--ignore", "shape,size"]
    with pytest.raises(InputError, match=r"^factor 'x' is continuous"):
        CliRunner().invoke(app, ["score", str(file), *alone, *ignored, "--metrics", "mig"], catch_exceptions=False)


def test_sap_of_classes_and_ordered_factors() -> None:
    """Column 1 is a class; each factor is scored as it would be alone, by its own predictor."""
    rows = np.random.default_rng(1).permutation(300)
    train, test = rows[:200], rows[200:]
    given: dict[str, Any] = {"predictor": "logistic", "standardised": True}
    both = sap(CODES[train], MIXED[train], test=(CODES[test], MIXED[test]), classes=[1], **given)
    alone = sap(CODES[train], MIXED[train][:, [1]], test=(CODES[test], MIXED[test][:, [1]]), **given)
    assert both.arrays["predictability"][:, 1] == pytest.approx(alone.arrays["predictability"][:, 0])
    squared = np.corrcoef(CODES[train].T, MIXED[train].T)[:3, 3:] ** 2
    assert both.arrays["predictability"][:, [0, 2]] == pytest.approx(squared[:, [0, 2]])
    assert both["sap"] == pytest.approx(both.arrays["per_factor"].mean())
    whole = MIXED[:, [1]].astype(int)
    assert sap(CODES, whole, classes=[0], rng=0, **given) == sap(CODES, whole, rng=0, **given)
    with pytest.raises(InputError, match="classes has 3; expected columns of 3 factors, 0 to 2"):
        sap(CODES, MIXED, classes=[3])
    with pytest.raises(InputError, match="factors that are not classes use one code at a time"):
        sap(CODES, MIXED, classes=[1], groups=[[0, 1], [2]])
