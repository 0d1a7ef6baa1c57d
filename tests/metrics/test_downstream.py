from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import downstream
from unbraid.metrics._logistic import _fit, logistic, logistic_cv

FACTORS = factors_of(900, (3, 4))
CODES = perfect(FACTORS)


def scores(codes: np.ndarray, factors: np.ndarray = FACTORS, **settings: object) -> dict[str, float]:
    cut = len(codes) * 2 // 3
    settings = {"sizes": (10, 100, 600), **settings}
    return downstream(codes[:cut], factors[:cut], test=(codes[cut:], factors[cut:]), **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """Of perfect codes."""
    return scores(CODES)


def test_perfect_codes(found: dict[str, float]) -> None:
    assert set(found) == {f"{learner}.{key}" for learner in ("logistic", "gbt") for key in (10, 100, 600, "efficiency")}
    assert found["logistic.600"] == found["gbt.600"] == 1.0
    assert found["logistic.10"] < 1
    assert found["gbt.efficiency"] == found["gbt.100"] / found["gbt.600"]


def test_noise_guesses_and_is_efficient_at_it() -> None:
    found = scores(noise(900), sizes=(100, 600))
    chance = np.mean([1 / 3, 1 / 4])
    for name in ("logistic.600", "gbt.600"):
        assert abs(found[name] - chance) < 0.08
    assert found["logistic.efficiency"] > 0.8


def test_accuracy_is_that_of_the_learner_itself() -> None:
    """Logistic regression by scikit-learn's own cross-validation on the same rows."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedKFold

    codes = CODES + 1.5 * noise(900, 2)
    train, test, target = codes[:600], codes[600:], FACTORS[:600, 0]
    scale = train.std(0)
    model = LogisticRegressionCV(
        Cs=10, cv=StratifiedKFold(5, shuffle=True, random_state=3), l1_ratios=(0.0,), scoring="accuracy",
        use_legacy_attributes=False,
    ).fit((train - train.mean(0)) / scale, target)  # fmt: skip
    expected = model.predict((test - train.mean(0)) / scale)
    np.testing.assert_array_equal(logistic_cv(train, target, test, 3), expected)


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_the_regression_is_that_of_scikit_learn(classes: int) -> None:
    rng = np.random.default_rng(classes)
    codes = rng.normal(size=(300, 4)) * [1.0, 5.0, 0.1, 1.0] + 3.0
    target = np.digitize(codes[:, 0] + rng.normal(size=300), np.linspace(1.5, 4.5, classes - 1)) * 2 + 7
    scaled = (codes - codes.mean(0)) / codes.std(0)
    for strength in (1e-3, 1.0):
        model = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000).fit(scaled, target)
        labels = np.unique(target, return_inverse=True)[1]
        weights = _fit(scaled, labels, strength)
        np.testing.assert_allclose(weights[:, :-1], model.coef_, atol=2e-3)
        np.testing.assert_allclose(np.ptp(weights[:, -1]), np.ptp(model.intercept_), atol=5e-3)
        np.testing.assert_array_equal(logistic(codes, target, codes, strength), model.predict(scaled))


def test_classes_with_fewer_members_than_folds_do_not_stop_it() -> None:
    target = np.array([0] * 20 + [1] * 20 + [2] * 2)
    codes = np.stack([target * 3.0, np.arange(42.0)], 1)
    assert set(logistic_cv(codes, target, codes, 0)) == {0, 1, 2}
    every = np.arange(6)
    assert (logistic_cv(every[:, None] * 5.0, every, every[:, None] * 5.0, 0) == every).mean() > 0.3


def test_small_sets_are_part_of_large_ones_and_repeat(found: dict[str, float]) -> None:
    again = scores(CODES, sizes=(10, 100))
    assert {name: again[name] for name in again if "efficiency" not in name}.items() <= found.items()


def test_sizes_beyond_the_rows_become_all_rows_and_say_so() -> None:
    with pytest.warns(UserWarning, match="larger than the 600 training rows"):
        found = scores(CODES, sizes=(50, 1000, 10_000), learners=("gbt",))
    assert set(found) == {"gbt.50", "gbt.600", "gbt.efficiency"}
    assert found["gbt.efficiency"] == found["gbt.50"] / found["gbt.600"]


def test_without_a_test_set_it_splits() -> None:
    found = downstream(CODES, FACTORS, sizes=(100,), learners=("gbt",))
    assert found["gbt.efficiency"] == 1.0


@pytest.mark.parametrize("learner", ["logistic", "gbt"])
def test_degenerate_codes_and_factors(learner: str) -> None:
    one = {"sizes": (100,), "learners": (learner,)}
    assert scores(np.zeros((900, 2)), **one)[f"{learner}.100"] < 0.5
    assert scores(CODES[:, :1], FACTORS[:, :1], **one)[f"{learner}.100"] == 1.0
    assert scores(CODES, np.ones((900, 1), int), **one)[f"{learner}.100"] == 1.0
    wide = np.random.default_rng(0).normal(size=(30, 50))
    assert 0 <= scores(wide, FACTORS[:30], sizes=(20,), learners=(learner,))[f"{learner}.20"] <= 1


def test_errors() -> None:
    with pytest.raises(InputError, match="no learner 'logistics'; did you mean 'logistic'"):
        downstream(CODES, FACTORS, learners=("logistics",))
    with pytest.raises(InputError, match="sizes are"):
        downstream(CODES, FACTORS, sizes=())
    with pytest.raises(InputError, match="900 rows of codes but 899"):
        downstream(CODES, FACTORS[1:])
    with pytest.raises(InputError, match="codes column 1 is nan"):
        downstream(np.where([False, True], np.nan, CODES), FACTORS)
