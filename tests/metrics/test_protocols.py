"""`score` and its protocols, and the traps that public implementations of the metrics fell into."""

from __future__ import annotations

import doctest
import inspect
import json
import math
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import unbraid
from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import (
    METRICS,
    PROTOCOLS,
    Protocol,
    as_protocol,
    beta_vae_score,
    dci,
    dcimig,
    infomec,
    irs,
    med,
    mig,
    mig_sup,
    modularity,
    sap,
    score,
    udr,
)
from unbraid.metrics._forest import DEPTHS, _by_depth, best_depth
from unbraid.metrics._information import discretise, entropy, mutual_information
from unbraid.metrics._interventions import Interventions
from unbraid.metrics.beta_vae_score import _points
from unbraid.metrics.dci import from_importance

Array = np.ndarray[Any, Any]
QUICK = ["mig", "sap", "modularity", "irs", "total_correlation"]
DLIB = {
    "mig",
    "dci.disentanglement",
    "dci.completeness",
    "dci.informativeness",
    "sap",
    "modularity",
    "explicitness",
    "beta_vae_score",
    "factor_vae_score",
    "irs",
    "total_correlation",
    "wasserstein_correlation",
    "wasserstein_correlation.normalised",
    "code_information",
    "active_units",
}
COUNTING = {"mig": mig, "mig_sup": mig_sup, "modularity": modularity, "dcimig": dcimig, "med": med}
NEAR = 1 - math.log(2) / math.log(3)  # 1 minus the entropy of two thirds alike


def mixture(n: int = 600, seed: int = 0) -> tuple[Array, Array]:
    factors = factors_of(n, seed=seed)
    weights = np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]])
    return factors @ weights + 0.5 * noise(n, seed=seed + 1), factors


def test_the_keys_are_flat_names() -> None:
    codes, factors = mixture(300)
    found = score(codes, factors, protocol="fast")
    assert set(found) == DLIB
    assert all(isinstance(value, float) for value in found.values())
    assert unbraid.score is score


SETTINGS = {  # every metric of every protocol with its settings there, which protocols share
    f"{metric} {dict(settings)}": (metric, settings)
    for protocol in PROTOCOLS.values()
    for metric, settings in protocol.metrics.items()
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_metric_runs_as_the_protocols_set_it(name: str) -> None:
    metric, settings = SETTINGS[name]
    named = isinstance(settings.get("max_depth"), list) or "classes" in settings  # the factors of dSprites or 3D Shapes
    sizes = (3, 2, 4, 3, 2, 2)[: 5 if isinstance(settings.get("max_depth"), list) else 6] if named else (3, 2)
    factors = factors_of(300, sizes)
    found = score(factors + 0.5 * noise(300, len(sizes)), factors, protocol={metric: settings})
    assert found
    assert all(math.isfinite(value) for value in found.values())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_is_found_by_its_name(name: str) -> None:
    codes, factors = mixture(60)
    found = score(codes, factors, protocol=name, metrics=["active_units"])
    assert found.protocol == PROTOCOLS[name].name == name


def test_without_a_test_set_the_rows_are_split() -> None:
    codes, factors = mixture(300)
    found = score(codes, factors, metrics=QUICK)
    assert found.samples == {"train": 200, "test": 100, "all": 300}
    large = score(np.tile(codes, (100, 1)), np.tile(factors, (100, 1)), protocol="fast", metrics=["active_units"])
    assert large.samples == {"train": 1000, "test": 500, "all": 30_000}  # no more than the protocol asks for


def test_with_a_test_set_both_are_used_as_they_are() -> None:
    codes, factors = mixture(600)
    train, test = (codes[:400], factors[:400]), (codes[400:], factors[400:])
    found = score(*train, test=test, metrics=[*QUICK, "dci"], rng=3)
    assert found.samples == {"train": 400, "test": 200, "all": 600}
    assert found["mig"] == mig(*train)["mig"]
    assert found["irs"] == irs(*train)["irs"]
    assert found["dci.informativeness"] == pytest.approx(dci(*train, test=test)["informativeness"], abs=0.02)
    with pytest.raises(InputError, match=r"^codes have 3 columns but 2 in the test set$"):
        score(*train, test=(codes[400:, :2], factors[400:]), metrics=QUICK)
    with pytest.raises(InputError, match=r"^the test set is not a pair; expected test=\(codes, factors\)$"):
        score(*train, test=codes, metrics=QUICK)
    with pytest.raises(InputError, match=r"^there are 200 rows of test codes but 100 of test factors$"):
        score(*train, test=(codes[400:], factors[500:]), metrics=QUICK)


def test_a_protocol_of_ones_own() -> None:
    codes, factors = mixture(300)
    found = score(codes, factors, test=(codes, factors), protocol={"mig": {"bins": 5}, "sap": {"predictor": "r2"}})
    assert list(found) == ["mig", "sap"]
    assert found.protocol == "own"
    assert found["mig"] == mig(codes, factors, bins=5)["mig"] != mig(codes, factors)["mig"]


def test_a_protocol_that_a_user_constructs_says_its_rows_and_its_name() -> None:
    codes, factors = mixture(600)
    mine = Protocol("mine", {"mig": {"bins": 5}, "sap": {"predictor": "r2"}}, train=100, test=40)
    found = score(codes, factors, protocol=mine)
    assert list(found) == ["mig", "sap"]
    assert (found.protocol, found.samples) == ("mine", {"train": 100, "test": 40, "all": 600})
    assert list(score(codes, factors, protocol=mine, metrics=["irs"])) == ["irs"]
    assert as_protocol(mine) is mine
    assert as_protocol("dlib") is PROTOCOLS["dlib"]
    assert as_protocol({"mig": {}}) == Protocol("own", {"mig": {}})
    for wrong, message in (
        ({"metrics": {"migg": {}}}, "there is no metric 'migg'; did you mean 'mig'"),
        ({"metrics": {"mig": {"bin": 5}}}, "metric 'mig' has no setting 'bin'; did you mean 'bins'"),
        ({"metrics": {}, "train": 0}, "train is 0; expected at least 1 row"),
        ({"metrics": {}, "test": 0}, "test is 0; expected at least 1 row"),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            Protocol("wrong", **wrong)  # type: ignore[arg-type]


def test_a_metric_has_one_name() -> None:
    for name, metric in METRICS.items():
        assert name == metric.function.__name__
        assert metric.function.__module__ == f"unbraid.metrics.{name}"
        assert inspect.unwrap(getattr(unbraid.metrics, name)) is metric.function
    assert {name for name, protocol in PROTOCOLS.items() if name == protocol.name} == set(PROTOCOLS)


@pytest.mark.parametrize("module", ["mig", "protocols", "scoring"])
def test_examples_in_docstrings_run(module: str) -> None:
    found = doctest.testmod(sys.modules[f"unbraid.metrics.{module}"])
    assert found.attempted
    assert not found.failed


def test_unknown_names_suggest_what_was_meant() -> None:
    codes, factors = mixture(60)
    with pytest.raises(InputError, match=r"^there is no protocol 'dlibb'; did you mean 'dlib'\?$"):
        score(codes, factors, protocol="dlibb")
    with pytest.raises(InputError, match=r"^there is no metric 'modularty'; did you mean 'modularity'\?$"):
        score(codes, factors, metrics=["modularty"])
    with pytest.raises(InputError, match=r"^there is no metric 'migg'; did you mean 'mig'\?$"):
        score(codes, factors, protocol={"migg": {}})
    with pytest.raises(InputError, match=r"^confidence is 95; expected a number between 0 and 1"):
        score(codes, factors, confidence=95, metrics=["mig"])
    with pytest.raises(InputError, match=r"^the number of samples is 2; expected at least 3"):
        score(codes[:2], factors[:2])
    with pytest.raises(InputError, match=r"^protocol is None; expected a name, a Protocol or a mapping"):
        score(codes, factors, protocol=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^settings of 'mig' are 20; expected a mapping"):
        score(codes, factors, protocol={"mig": 20})  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"^rng is 'a'; expected "):
        score(codes, factors, rng="a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^factors are None; expected an array \(samples, columns\)$"):
        score(codes, None)
    assert list(score(codes, factors, metrics="mig")) == ["mig"]


def test_settings_out_of_range_are_named() -> None:
    codes, factors = mixture(60)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("mig", {"bins": 0}, "bins is 0; expected at least 1"),
        ("irs", {"quantile": 99}, "quantile is 99; expected a number from 0 to 1"),
        ("beta_vae_score", {"batch": 0}, "batch is 0; expected at least 1"),
        ("factor_vae_score", {"test_points": 0}, "test_points is 0; expected at least 1"),
        ("dci", {"max_depth": 3}, "max_depth is for estimator='forest', not 'gbt'"),
        ("dci", {"estimator": "forest", "max_depth": [3, 4]}, r"max_depth has 2 depths for 3 factor\(s\)"),
        ("dci", {"estimator": "forest", "max_depth": "auto"}, "max_depth is 'auto'; expected a whole number"),
        ("sap", {"predictor": "r2", "groups": [[0, 1], [2]]}, "groups are for classifiers"),
        ("sap", {"groups": [[0, 1], [3]]}, "group 1 names column 3; codes have columns 0 to 2"),
    ]
    for metric, settings, message in cases:
        with pytest.raises(InputError, match=f"^{message}"):
            score(codes, factors, protocol={metric: settings})


def test_what_a_single_factor_decides_is_noted() -> None:
    codes, factors = mixture(60)
    found = score(codes, factors[:, :1], protocol={"mig": {}, "modularity": {}})
    assert found.notes == ["with a single factor modularity cannot distinguish codes"]
    assert found["modularity"] == 1
    assert score(codes, factors, protocol={"mig": {}, "modularity": {}}).notes == []


def test_a_metric_outside_the_protocol_takes_its_defaults() -> None:
    codes, factors = mixture(300)
    found = score(codes, factors, test=(codes, factors), metrics=["mig_sup", "mig"])
    assert list(found) == ["mig_sup", "mig"]


def test_intervals_bracket_the_score_and_shrink_with_more_rows() -> None:
    widths = []
    for n in (150, 2400):
        found = score(*mixture(n), protocol={"sap": {"predictor": "r2"}, "irs": {}}, confidence=0.9, resamples=30)
        for name in ("sap", "irs"):
            assert found[f"{name}.low"] <= found[name] <= found[f"{name}.high"]
        widths.append(found["sap.high"] - found["sap.low"])
    assert widths[1] < 0.5 * widths[0]


def test_the_same_rng_gives_the_same_scores() -> None:
    codes, factors = mixture(300)
    metrics = ["mig", "dci", "sap"]
    first, second, other = (score(codes, factors, metrics=metrics, rng=seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    assert score(codes, factors, metrics=metrics, rng=np.random.default_rng(1)) == first


def test_the_result_says_how_it_was_made() -> None:
    codes, factors = mixture(300)
    found = score(codes, factors, protocol="fast", metrics=["mig", "dci", "factor_vae_score"], rng=7)
    assert (found.protocol, found.seed) == ("fast", "7")
    assert {"numpy", "scipy", "scikit-learn", "lightgbm"} <= set(found.versions)
    assert found.versions["numpy"] == np.__version__
    assert found.arrays["dci"]["importance"].shape == (3, 3)
    record = json.loads(json.dumps(found.record()))
    assert record["scores"] == dict(found)
    assert record["samples"] == {"train": 200, "test": 100, "all": 300}


def test_factors_of_two_values_bring_no_notes_of_other_libraries() -> None:
    factors = factors_of(120, (2, 2))
    assert score(factors + noise(120, 2), factors, metrics=["dci", "sap", "explicitness"]).notes == []


def test_values_with_too_few_rows_are_noted() -> None:
    codes, factors = mixture(60)
    rare = factors.copy()
    rare[:3, 1] = 9
    found = score(codes, rare, protocol={"factor_vae_score": {"train_points": 50, "test_points": 50}})
    assert found.notes == ["some factors have values with fewer than 8 rows: 1 (1 values)"]


# The traps


def test_mig_divides_by_the_entropy_of_the_factor() -> None:
    factors = factors_of(1200)
    codes = perfect(factors)
    assert mig(codes, factors)["mig"] == pytest.approx(1)
    fine = codes + np.random.default_rng(0).uniform(-0.9, 0.9, codes.shape)  # the code's entropy is near log 20
    assert mig(fine, factors)["mig"] > 0.85  # divided by the code's it is below a half


def test_mig_leaves_factors_unbinned() -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(40, size=4000), rng.integers(3, size=4000)], 1)
    codes = factors.astype(float)
    # a code of 20 bins tells log 20 of log 40; with factors binned like it, this is 1
    expected = np.mean([(np.log(20) / np.log(40)), 1])
    assert mig(codes, factors)["mig"] == pytest.approx(expected, abs=0.02)
    codes[:, 0] = rng.permutation(40)[factors[:, 0]]  # no order that a binned factor shares
    assert mig(codes, factors)["mig"] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("n", [30, 1000])
def test_a_constant_code_has_no_modularity(n: int) -> None:
    """By rounding it has 2e-16 nats about the last factor here; the ratio of that to itself is 1."""
    factors = np.random.default_rng(0).integers([3, 4, 5], size=(n, 3))
    codes = np.column_stack([factors[:, 0], np.zeros(n)])
    assert modularity(codes, factors).arrays["per_code"][1] == 0
    assert modularity(codes[:, 1:], factors)["modularity"] == 0


def test_information_that_is_rounding_counts_as_none() -> None:
    """On a full grid a code that is one factor is independent of the others: there is only rounding to divide."""
    grid = np.indices((13, 4, 7)).reshape(3, -1).T  # where modularity and infom were 1
    for own in range(3):
        code, factors = grid[:, [own]].astype(float), np.delete(grid, own, axis=1)
        assert mutual_information(grid[:, [own]], factors).max() == 0
        assert [function(code, factors)[name] for name, function in COUNTING.items()] == [0] * len(COUNTING)
        for estimator in ("bins", "values"):
            found = infomec(code, factors, estimator=estimator)
            assert found["infom"] == found["infoc"] == 0
    for shape in ((3, 1), (1, 3), (3, 3)):
        found = from_importance(np.full(shape, 1e-15), np.ones(shape[1]))
        assert found["disentanglement"] == found["completeness"] == 0


def test_information_of_codes_by_factors_is_not_transposed() -> None:
    factors = factors_of(1200)
    found = mutual_information(discretise(perfect(factors)[:, [1, 0]]), factors)
    assert found.shape == (2, 3)
    assert found.argmax(1).tolist() == [1, 0]
    assert modularity(perfect(factors)[:, [1, 0]], factors)["modularity"] == pytest.approx(1)


def test_a_code_of_no_importance_does_not_stop_the_count() -> None:
    importance = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = from_importance(importance, np.ones(3))
    assert found["disentanglement"] == pytest.approx(1)
    assert found.arrays["per_code"] == pytest.approx([1, 0, 1, 1])
    factors = factors_of(600)
    dead = np.insert(perfect(factors), 1, 0.0, axis=1)
    assert dci(dead, factors)["disentanglement"] == pytest.approx(1)


def test_completeness_is_weighted_in_one_tradition_and_plain_in_the_other() -> None:
    importance = np.array([[0.9, 0.05], [0.0, 0.05], [0.0, 0.05]])  # the first factor is complete and important
    weighted = from_importance(importance, np.ones(2), weighted_completeness=True)
    plain = from_importance(importance, np.ones(2), weighted_completeness=False)
    assert weighted.arrays["per_factor"] == pytest.approx([1, 0])
    assert weighted["completeness"] == pytest.approx(0.9 / 1.05)
    assert plain["completeness"] == pytest.approx(0.5)
    assert PROTOCOLS["dlib"].metrics["dci"].get("weighted_completeness", True)
    for name in ("locatello2018", "intervention"):
        assert not PROTOCOLS[name].metrics["dci"]["weighted_completeness"]
    codes, factors = mixture(300)
    found = score(codes, factors, protocol="locatello2018", metrics=["dci"])
    assert found["dci.completeness"] == pytest.approx(found.arrays["dci"]["per_factor"].mean())


def test_irs_counts_dimensions_that_vary_and_not_their_values() -> None:
    factors = factors_of(600)
    codes = np.hstack([perfect(factors), np.full((600, 2), 0.3)])  # 0.3 has a variance of rounding errors
    found = irs(codes, factors)
    assert np.isfinite(found.arrays["robustness"]).all(1).tolist() == [True, True, True, False, False]
    assert found["irs"] == irs(perfect(factors), factors)["irs"] == pytest.approx(1)
    assert irs(100.0 + perfect(factors), factors)["irs"] == pytest.approx(1)


def test_udr_of_a_model_with_nothing_active_is_0() -> None:
    rng = np.random.default_rng(0)
    codes = [rng.normal(size=(200, 3)) for _ in range(3)]
    kl = [np.ones(3), np.full(3, 0.001), np.ones(3)]
    for correlation in ("lasso", "spearman"):
        found = udr(codes, kl, correlation)
        assert found["scores"][1] == 0
        assert np.isfinite(found["pairs"]).all()
    assert udr([codes[0], np.zeros((200, 3))])["scores"][1] == 0
    assert udr([codes[0], np.full((200, 3), 0.3)])["scores"][1] == 0


def test_udr_of_models_of_different_widths() -> None:
    grid = factors_of(600).astype(float)
    wide = np.hstack([grid, grid[:, :1] + grid[:, 1:2]])
    found = udr([grid[:, [2, 0, 1]], wide, grid[:, :2]], correlation="spearman")
    assert found["pairs"].shape == (3, 3)
    assert found["pairs"][0, 1] == pytest.approx(found["pairs"][1, 0])
    assert (found["scores"] > 0.3).all()


def test_entropy_is_in_nats_of_the_empirical_distribution() -> None:
    labels = np.array([[0, 5], [0, 5], [1, 5], [3, 5]])
    p = np.array([0.5, 0.25, 0.25])
    assert entropy(labels) == pytest.approx([-(p * np.log(p)).sum(), 0])
    assert mutual_information(labels, labels).diagonal() == pytest.approx(entropy(labels))


def test_entropies_of_importances_are_in_units_of_the_largest() -> None:
    found = from_importance(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.ones(3))
    assert found.arrays["per_code"] == pytest.approx([NEAR, 1, 0], abs=1e-6)  # base k by code
    assert found.arrays["per_factor"] == pytest.approx([1, 1, 1], abs=1e-6)  # base d by factor
    assert from_importance(np.zeros((3, 2)), np.ones(2))["disentanglement"] == 0
    assert from_importance(np.zeros((3, 1)), np.ones(1))["disentanglement"] == 0  # one factor is no excuse
    assert from_importance(np.zeros((1, 3)), np.ones(3))["completeness"] == 0
    assert from_importance(np.array([[0.0], [2.0]]), np.ones(1)).arrays["per_code"].tolist() == [0, 1]


def test_hundreds_of_codes_need_no_table_of_all_pairs_and_rows() -> None:
    labels = np.random.default_rng(0).integers(20, size=(1_000, 200))
    tracemalloc.start()
    mutual_information(labels, labels)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1_000 * 200 * 200 * 8 / 10


def test_an_unknown_setting_in_ones_own_protocol_is_named() -> None:
    codes, factors = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30)[:, None] % 3
    with pytest.raises(InputError, match="metric 'mig' has no setting 'bin'; did you mean 'bins'"):
        score(codes, factors, protocol={"mig": {"bin": 10}})


def test_locatello2018_is_appendix_b_to_the_letter() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(600, 2))
    codes = np.column_stack([0.01 * factors[:, 0] + 5, 0.02 * factors[:, 1] + 0.02 * rng.normal(size=600)])
    train, test = (codes[:400], factors[:400]), (codes[400:], factors[400:])
    found = score(*train, test=test, protocol="locatello2018", metrics=["sap", "factor_vae_score"])
    mean, deviation = train[0].mean(0), train[0].std(0)
    standard = (train[0] - mean) / deviation, train[1]
    by_hand = sap(*standard, test=((test[0] - mean) / deviation, test[1]), balanced=False)["sap"]
    assert found["sap"] == pytest.approx(by_hand)
    assert found["sap"] != pytest.approx(score(*train, test=test, metrics=["sap"])["sap"])  # dlib does not standardise
    spread = codes - codes.mean(0)
    between = 0.1 * spread / spread.std(0)  # a deviation of 0.1 is a variance of 0.01
    assert score(between, factors, protocol="locatello2018", metrics=["factor_vae_score"])["factor_vae_score"] == 0
    assert score(between, factors, metrics=["factor_vae_score"])["factor_vae_score"] > 0.5


def test_locatello2018_fits_svms_without_weights() -> None:
    """Where one value has most of the rows, an unweighted SVM that sees no difference always names it."""
    rng = np.random.default_rng(0)
    factors = (rng.random((600, 1)) < 0.1).astype(int)
    codes = rng.normal(size=(600, 2))
    train, test = (codes[:400], factors[:400]), (codes[400:], factors[400:])
    found = score(*train, test=test, protocol="locatello2018", metrics=["sap"])
    assert found.arrays["sap"]["predictability"] == pytest.approx(np.full((2, 1), np.mean(test[1] == 0)))
    assert score(*train, test=test, metrics=["sap"]).arrays["sap"]["predictability"].min() < 0.8


def test_locatello2018_fits_a_regression_for_each_value() -> None:
    factors = factors_of(600, (5, 2))
    codes = factors + noise(600, 2)
    train, test = (codes[:400], factors[:400]), (codes[400:], factors[400:])
    found = score(*train, test=test, protocol="locatello2018", metrics=["explicitness"])
    mean, deviation = train[0].mean(0), train[0].std(0)
    alone = []
    for value in range(5):
        model = LogisticRegression().fit((train[0] - mean) / deviation, train[1][:, 0] == value)
        alone.append(model.predict_proba((test[0] - mean) / deviation)[:, 1])
    likely = np.array(alone) / np.sum(alone, axis=0)  # as scikit-learn makes probabilities of them
    expected = np.mean([roc_auc_score(test[1][:, 0] == value, likely[value]) for value in range(5)])
    assert found.arrays["explicitness"]["per_factor"][0] == pytest.approx(expected)
    together = score(*train, test=test, metrics=["explicitness"]).arrays["explicitness"]["per_factor"][0]
    assert abs(together - expected) > 1e-3


def test_locatello2018_fixes_one_value_for_a_point() -> None:
    """A code of two values: with one value a point it is 0 or 1 throughout, with a value a pair always about a half."""
    factors = factors_of(600, (2, 2))
    codes = factors[:, :1] * noise(600, 1, seed=3)  # moves only while the first factor is 1
    rows = Interventions(factors)
    for one_value, distinct in ((True, True), (False, False)):
        points, fixed = _points(np.random.default_rng(0), codes, rows, 64, 200, one_value)
        still = points[fixed == 0] == 0
        assert still.any() == distinct
    assert PROTOCOLS["locatello2018"].metrics["beta_vae_score"] == {"one_value": True}
    settings = {"train_points": 200, "test_points": 100}
    found = beta_vae_score(codes, factors, one_value=True, rng=0, **settings)["beta_vae_score"]
    assert found != beta_vae_score(codes, factors, rng=0, **settings)["beta_vae_score"]


# intervention, appendix D


def test_a_tree_cut_off_is_one_that_grew_so_deep() -> None:
    from sklearn.ensemble import RandomForestRegressor

    codes, factors = mixture(200)
    codes = codes[:, 2:]  # one code: where two split equally well, trees take either
    for depth in (2, 5):
        grown = RandomForestRegressor(5, max_depth=depth, random_state=0).fit(codes, factors[:, 2])
        deeper = RandomForestRegressor(5, max_depth=15, random_state=0).fit(codes, factors[:, 2])
        cut = np.mean([_by_depth(tree.tree_, codes.astype(np.float32)) for tree in deeper.estimators_], axis=0)
        assert cut[DEPTHS.index(depth)] == pytest.approx(grown.predict(codes))


def test_the_depth_found_is_as_deep_as_the_factor_needs() -> None:
    rng = np.random.default_rng(0)
    code = rng.uniform(size=(600, 1))
    assert best_depth(code, (code[:, 0] > 0.5) + 0.5 * rng.normal(size=600), 0) == 2  # the least, and no noise
    assert best_depth(code, np.sin(40 * code[:, 0]), 0) > 4


def test_intervention_is_appendix_d_to_the_letter() -> None:
    from sklearn.ensemble import RandomForestRegressor

    factors = factors_of(450, (3, 2, 4, 3, 2))
    codes = factors + 0.7 * noise(450, 5)
    train, test = (codes[:300], factors[:300]), (codes[300:], factors[300:])
    found = score(*train, test=test, protocol="intervention_dsprites", rng=0)
    depths = [4, 2, 4, 2, 2]  # shape, scale, orientation, x, y
    importance = found.arrays["dci"]["importance"]
    plain = []
    for column, depth in enumerate(depths):
        forest = RandomForestRegressor(max_depth=depth, random_state=0).fit(train[0], train[1][:, column])
        assert importance[:, column] == pytest.approx(forest.feature_importances_, abs=0.05)  # another seed
        share = importance[:, column] / importance[:, column].sum()
        plain.append(1 + (share * np.log(share)).sum() / np.log(5))
    assert found["dci.completeness"] == pytest.approx(np.mean(plain), abs=1e-6)
    one = LogisticRegression().fit(train[0][:, [1]], train[1][:, 0]).predict(test[0][:, [1]])
    assert found.arrays["sap"]["predictability"][1, 0] == np.mean(one == test[1][:, 0])  # shape is a class
    squared = np.corrcoef(train[0][:, 1], train[1][:, 2])[0, 1] ** 2
    assert found.arrays["sap"]["predictability"][1, 2] == pytest.approx(squared)  # the others are ordered
    assert found["irs"] == irs(*train, quantile=1.0, bins=None)["irs"]
    assert PROTOCOLS["intervention"].metrics["dci"]["max_depth"] == "cv"
    with pytest.raises(InputError, match=r"^max_depth has 5 depths for 3 factor\(s\)"):
        score(*mixture(60), protocol="intervention_dsprites")


def test_codes_in_groups_predict_together() -> None:
    factors = factors_of(600, (4, 3))
    angle = 2 * np.pi * factors[:, 0] / 4
    codes = np.column_stack([np.cos(angle), np.sin(angle), factors[:, 1], 0.1 * noise(600, 1)[:, 0]])
    train, test = (codes[:400], factors[:400]), (codes[400:], factors[400:])
    alone = sap(*train, test=test, predictor="logistic")
    found = sap(*train, test=test, predictor="logistic", groups=[[0, 1], [2, 3]])
    assert found.arrays["predictability"].shape == (2, 2)
    assert found.arrays["predictability"][0, 0] == 1 > alone.arrays["predictability"][:, 0].max()
    assert found.arrays["predictability"][1, 1] == 1
    assert found["sap"] > 0.6 > alone["sap"]
