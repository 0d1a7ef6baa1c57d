"""`score`: baselines, names, missing labels, extreme numbers, and intervals that cost little."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tests.metrics.examples import factors_of, noise, perfect
from unbraid import score
from unbraid.errors import InputError
from unbraid.metrics import METRICS, irs
from unbraid.metrics._bootstrap import share_of

FACTORS = factors_of(600)
NAMES = ["shape", "size", "x"]
QUICK = {"mig": {}, "modularity": {}, "irs": {}, "mcc": {}, "linear_r2": {}, "med": {}}
FEW: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"train_points": 60, "test_points": 30},
    "factor_vae_score": {"train_points": 60, "test_points": 30},
    "downstream": {"sizes": (40,), "learners": ("logistic",)},
    "dci": {"estimator": "lasso"},
    "dci_es": {"capacities": (0, 8), "draws": 1},
}


# What noise and perfect codes would score


def test_noise_and_perfect_codes_are_scored_beside() -> None:
    codes = np.hstack([perfect(FACTORS), noise(600, 5)])
    found = score(codes, FACTORS, protocol=QUICK, baseline=True)
    assert set(found.noise) == set(found.perfect) == set(found)
    assert max(found.noise[name] for name in ("mig", "mcc", "linear_r2")) < 0.15
    assert found.noise["modularity"] > 0.2  # why it is printed
    assert found.perfect == pytest.approx(dict.fromkeys(found, 1.0), abs=0.06)
    again = score(codes, FACTORS, protocol=QUICK)
    assert dict(again) == dict(found)  # the scores themselves are as without
    assert again.noise == {}
    record = found.record()
    assert (record["noise"], record["perfect"]) == (found.noise, found.perfect)


def test_noise_has_the_codes_own_values() -> None:
    """Shuffled, each on its own: a code that is constant or has two values stays so, and correlations vanish."""
    code = (np.arange(600) % 2).astype(float)
    codes = np.column_stack([code, code, np.ones(600)])
    found = score(codes, FACTORS, protocol={"total_correlation": {}, "active_units": {}}, baseline=True)
    assert found["total_correlation"] > 10 > 0.1 > found.noise["total_correlation"]
    assert found.noise["active_units"] == 2


def test_metrics_that_fit_models_use_fewer_rows_for_it() -> None:
    codes, factors = noise(4500, 4), factors_of(4500)
    found = score(codes, factors, protocol={"mig": {}, "explicitness": {}}, baseline=True)
    assert found.baseline_rows == {"mig": 3000, "explicitness": 2000}


def test_a_score_above_that_of_perfect_codes_is_explained() -> None:
    """A linear classifier reads a code of a larger scale better; mig does not care."""
    settings: dict[str, dict[str, Any]] = {"sap": {"predictor": "svm"}, "mig": {}, "total_correlation": {}}
    found = score(10 * perfect(FACTORS) + 1e-3 * noise(600, 3), FACTORS, protocol=settings, baseline=True)
    assert found["sap"] > found.perfect["sap"] + 0.01
    assert [note for note in found.notes if "perfect" in note] == [
        "sap: above what perfect codes score, which is a reference and not the maximum (one code per factor, its "
        "values as numbers at one scale)"
    ]
    assert score(perfect(FACTORS), FACTORS, protocol={"mig": {}}, baseline=True).notes == []


def test_notebooks_show_a_table_with_noise_and_perfect_codes() -> None:
    table = pd.DataFrame({"a<b": FACTORS[:, 0], "angle": noise(600, 1)[:, 0]})
    found = score(perfect(FACTORS), table, protocol={"mig": {}, "mcc": {}}, baseline=True, confidence=0.9)
    text = found._repr_html_()
    heads = ["score", "value", "noise", "perfect", "low", "high"]
    assert found.rows()[0] == heads
    assert "".join(f"<th>{name}</th>" for name in heads) in text
    cells = [found["mig"], found.noise["mig"], found.perfect["mig"], found["mig.low"], found["mig.high"]]
    assert f"<tr><td>mig</td>{''.join(f'<td>{cell:.4f}</td>' for cell in cells)}</tr>" in text
    assert "3 codes, 2 factors, 600 rows" in text
    assert "codes: 0, 1, 2; factors: a&lt;b (ordered), angle (continuous); protocol own" in text
    assert "note: mig: without the continuous factor &#x27;angle&#x27;" in text
    plain = score(perfect(FACTORS), table, protocol={"mig": {}})
    assert plain.rows() == (["score", "value"], [["mig", f"{plain['mig']:.4f}"]])
    assert "<td>mig</td>" in plain._repr_html_()


# Names


def test_columns_name_codes_and_factors_with_their_types() -> None:
    table = pd.DataFrame({"shape": list("abc") * 200, "size": FACTORS[:, 1], "x": FACTORS[:, 2]})
    codes = pd.DataFrame(noise(600, 9), columns=[f"z{code}" for code in range(9)])
    found = score(codes, table, metrics=["mig"])
    assert found.columns == "codes: z0, z1, z2, z3, z4, z5, … z8; factors: shape (classes), size, x (ordered)"


def test_names_are_in_notes_details_and_records() -> None:
    table = pd.DataFrame({"shape": FACTORS[:, 0], "angle": noise(600, 1)[:, 0], "still": np.full(600, 3)})
    codes = pd.DataFrame(perfect(FACTORS)[:, :2], columns=["first", "second"])
    found = score(codes, table, protocol={"mig": {}, "modularity": {}})
    assert found.notes == [
        "mig, modularity: without the continuous factor 'angle'",
        "factor 'still' has a single value in these rows, so no code can tell anything about it",
    ]
    assert found.details()["modularity"]["per_code"].keys() == {"first", "second"}
    assert found.details()["mig"]["per_factor"]["still"] == 0
    matched = score(codes, table[["shape"]], protocol={"mcc": {}}).details()["mcc"]["match"]
    assert (matched, type(matched["shape"])) == ({"shape": 0}, int)
    record = found.record(details=True)
    assert record["factors"] == {"shape": "ordered", "angle": "continuous", "still": "ordered"}
    assert record["code_names"] == ["first", "second"]
    assert record["without"] == {"mig": ["angle"], "modularity": ["angle"]}
    assert score(noise(600, 2), FACTORS, names=NAMES, metrics=["probes"])["probes.r.size"] < 0.6
    with pytest.raises(InputError, match="there are 1 names for 2 codes"):
        score(codes, table, code_names=["a"], metrics=["mig"])


def test_a_constant_factor_is_noted_where_it_decides_a_score() -> None:
    factors = np.column_stack([FACTORS[:, 0], np.full(600, 7)])
    found = score(perfect(FACTORS), factors, protocol={"modularity": {}, "dci": {"estimator": "lasso"}})
    assert found["dci.disentanglement"] == pytest.approx(1)
    assert found.notes[-1] == (
        "with a single factor that varies dci.disentanglement, modularity cannot distinguish codes"
    )


def test_fits_that_did_not_converge_are_one_note() -> None:
    """Codes of very different scales, on which scikit-learn warns in seven lines."""
    codes = noise(600, 30) * np.logspace(-4, 4, 30)
    settings = {"beta_vae_score": {"train_points": 300, "test_points": 30}, "mig": {}}
    found = score(codes, FACTORS, protocol=settings, baseline=True)
    assert found.notes == [
        "beta_vae_score: some fits stopped before they converged, so these scores may be slightly low"
    ]


# Missing labels


def test_rows_without_a_label_are_left_out() -> None:
    table = FACTORS.astype(float)
    table[::3, 1] = np.nan
    found = score(perfect(FACTORS), table, names=NAMES, metrics=["mig"])
    assert found.samples["all"] == 400
    assert found.notes == ["left out 200 of 600 rows without a label for size"]
    train, test = (perfect(FACTORS)[:300], table[:300]), (perfect(FACTORS)[300:], table[300:])
    assert score(*train, test=test, metrics=["mig"]).samples == {"train": 200, "test": 200, "all": 400}
    table[1::3, 0] = table[2::3, 2] = np.nan
    with pytest.raises(InputError, match="no row has all labels; leave out some of shape, size, x"):
        score(perfect(FACTORS), table, names=NAMES)


# Other kinds of tables


def test_sparse_codes_and_annotated_cells_score_as_arrays() -> None:
    codes = np.where(noise(600, 6) > 1, noise(600, 6), 0) + np.hstack([perfect(FACTORS), np.zeros((600, 3))])
    expected = score(codes, FACTORS, names=NAMES, metrics=["mig", "mcc"])
    assert score(csr_matrix(codes), FACTORS, metrics=["mig", "mcc"]) == expected

    class Cells:
        X = csr_matrix(codes)
        obs = pd.DataFrame(FACTORS, columns=NAMES)
        var_names = pd.Index([f"gene{number}" for number in range(6)])

    cells = score(Cells(), NAMES, metrics=["mig", "mcc"])
    assert cells == expected
    assert cells.code_names == tuple(Cells.var_names)
    with pytest.raises(InputError, match="obs has no column 'shap'; it has shape, size, x"):
        score(Cells(), ["shap"])
    huge = csr_matrix(([1.0], ([0], [0])), shape=(100_000, 100_000))
    with pytest.raises(InputError, match=r"codes are sparse \(100000, 100000\), which take 75 GB when written out"):
        score(huge, np.zeros(100_000))


# Numbers at the edge of what floats hold


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.filterwarnings("ignore")
def test_tiny_and_large_codes_give_finite_scores(metric: str) -> None:
    codes, factors = perfect(FACTORS[:90, :2]) + 0.3 * noise(90, 2), FACTORS[:90, :2]
    for scale in (1e-200, 1e-30, 1e30):
        found = score(codes * [scale, 1], factors, protocol={metric: FEW.get(metric, {})})
        assert np.isfinite(list(found.values())).all(), scale
    for scale, shown in ((1e200, "e\\+200"), (1e307, "e\\+307")):
        with pytest.raises(
            InputError, match=rf"^codes column 1 is .*{shown} at row \d+; expected at most 1e\+40: rescale"
        ):
            score(codes * [1, scale], factors, protocol={metric: {}})


def test_factors_above_2_to_the_53_are_told_apart() -> None:
    codes, factor = perfect(FACTORS[:, :1]), FACTORS[:, 0]
    for large in (factor + 2**60, factor.astype(np.uint64) + np.uint64(2**63), factor * 2**55):
        assert irs(codes, large)["irs"] == 1
        assert score(codes, large, metrics=["irs", "mig"]) == score(codes, factor, metrics=["irs", "mig"])


# Intervals


def test_intervals_have_the_spread_of_new_rows() -> None:
    """Twenty samples of an eighth of the rows, scaled back, against scores of other rows."""

    def drawn(seed: int) -> tuple[Any, Any]:
        factors = factors_of(4000, (3, 4), seed=seed)
        return factors + 1.5 * noise(4000, 2, seed=seed + 100), factors

    protocol = {"mig": {}, "sap": {"predictor": "r2"}}
    others = [score(*drawn(seed), test=drawn(seed), protocol=protocol) for seed in range(12)]
    found = score(*drawn(50), test=drawn(50), protocol=protocol, confidence=0.95, resamples=60)
    assert share_of(4000) == 1 / 8
    for name in protocol:
        width = (found[f"{name}.high"] - found[f"{name}.low"]) / 2 / 1.96
        assert width == pytest.approx(np.std([other[name] for other in others], ddof=1), rel=0.7), name


def test_intervals_cost_at_most_five_times_the_scores() -> None:
    codes, factors = noise(8_000, 10), factors_of(8_000, (3, 6, 40))
    quick = {
        name: {} for name in ("mig", "modularity", "irs", "dcimig", "med", "retrieved_factors", "factor_vae_score")
    }

    def seconds(**settings: Any) -> float:
        start = time.process_time()
        score(codes, factors, protocol=quick, **settings)
        return time.process_time() - start

    seconds()
    assert seconds(confidence=0.95) < 5 * seconds() + 0.5


def test_the_time_is_forecast_before_it_starts() -> None:
    said: list[float] = []
    codes = noise(600, 3)
    score(codes, FACTORS, metrics=["mig"], announce=said.append)
    score(codes, FACTORS, metrics=["mig"], announce=said.append, baseline=True)
    score(codes, FACTORS, metrics=["mig"], announce=said.append, confidence=0.9)
    assert 0 < said[0] < said[1] < said[2]
    with pytest.raises(InputError):
        score(codes, FACTORS[:5], announce=said.append)
    assert len(said) == 3
