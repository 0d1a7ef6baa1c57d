from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import log_loss

from tests.metrics.examples import factors_of, noise, perfect, rotated
from unbraid.errors import InputError
from unbraid.metrics import infomec
from unbraid.metrics._information import entropy, mutual_information, nearest_information

FACTORS = factors_of()
CODES = perfect(FACTORS) + noise()


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_nearest_neighbour_information_is_that_of_scikit_learn(neighbours: int) -> None:
    expected = [
        mutual_info_classif(CODES, factor, n_neighbors=neighbours, discrete_features=False, random_state=0)
        for factor in FACTORS.T
    ]
    np.testing.assert_allclose(nearest_information(CODES, FACTORS, neighbours), np.transpose(expected), atol=1e-7)


def test_nearest_neighbour_information_of_codes_with_few_values() -> None:
    """Equal values need no noise: the estimate is near the counts' own."""
    codes = np.minimum(FACTORS, 2) + 0.0
    np.testing.assert_allclose(nearest_information(codes, FACTORS, 10), mutual_information(codes, FACTORS), atol=2e-3)


def test_nearest_neighbour_information_of_a_normal_mixture() -> None:
    """Two values, codes normal around -2 and 2: I by numerical integration."""
    rng = np.random.default_rng(0)
    label = np.arange(2000) % 2
    code = rng.normal(size=2000) + 4 * label - 2
    z = np.linspace(-12, 12, 20_001)
    density = np.exp(-((z[:, None] - np.array([-2, 2])) ** 2) / 2) / np.sqrt(2 * np.pi)
    mixture = density.mean(1)
    conditional = 0.5 * np.log(2 * np.pi * np.e)
    expected = -(mixture * np.log(mixture)).sum() * (z[1] - z[0]) - conditional
    assert abs(nearest_information(code[:, None], label[:, None], 10)[0, 0] - expected) < 0.02


@pytest.mark.parametrize("estimator", ["knn", "bins", "values"])
def test_perfect_codes(estimator: str) -> None:
    found = infomec(perfect(FACTORS), FACTORS, estimator=estimator)
    assert found["infom"] == found["infoc"] == 1.0
    assert found["infoe"] > 0.999


@pytest.mark.parametrize("estimator", ["knn", "bins", "values"])
def test_rotated_codes_are_explicit_and_nothing_else(estimator: str) -> None:
    found = infomec(rotated(FACTORS), FACTORS, estimator=estimator)
    assert max(found["infom"], found["infoc"]) < 0.15
    assert found["infoe"] > 0.99


def test_noise_is_not_explicit() -> None:
    assert infomec(noise(), FACTORS)["infoe"] < 0.02


def test_the_formulae_on_a_known_matrix() -> None:
    """Written out, on the matrix of information the function itself reports."""
    found = infomec(np.c_[CODES, CODES[:, 0] + CODES[:, 1]], FACTORS)
    n = found.arrays["information"]
    infom = np.mean([(row.max() / row.sum() - 1 / 3) / (1 - 1 / 3) for row in n])
    infoc = np.mean([(column.max() / column.sum() - 1 / 4) / (1 - 1 / 4) for column in n.T])
    assert found["infom"] == pytest.approx(infom)
    assert found["infoc"] == pytest.approx(infoc)
    np.testing.assert_allclose(n[:3], nearest_information(CODES, FACTORS, 10) / entropy(FACTORS))


def test_explicitness_is_the_log_loss_against_that_of_knowing_nothing() -> None:
    from sklearn.linear_model import LogisticRegression

    scaled = (CODES - CODES.mean(0)) / CODES.std(0)
    expected = []
    for factor in FACTORS.T:
        losses = []
        for inputs in (scaled, np.zeros_like(scaled)):
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=1000).fit(inputs, factor)
            losses.append(log_loss(factor, model.predict_proba(inputs)))
        expected.append(1 - losses[0] / losses[1])
    found = infomec(CODES, FACTORS, test=(CODES, FACTORS))  # the authors measure on the rows they fit
    np.testing.assert_allclose(found.arrays["explicitness"], expected, atol=1e-3)


def test_wide_noise_is_not_explicit() -> None:
    """On the rows it was fitted to it would be, since 300 codes separate 400 rows."""
    rng = np.random.default_rng(0)
    codes, factors = rng.normal(size=(600, 300)), np.column_stack([FACTORS[:600], rng.normal(size=600)])
    assert infomec(codes, factors)["infoe"] < 0.01
    assert infomec(codes, factors, test=(codes, factors))["infoe"] > 0.5


def test_a_test_row_of_an_unknown_value_counts_as_a_guess() -> None:
    codes, factor = np.repeat([-1.0, 1.0], 50)[:, None], np.repeat([0, 1], 50)
    seen = infomec(codes, factor, test=(codes, factor)).arrays["explicitness"][0]
    half = infomec(codes, factor, test=(codes, np.where(np.arange(100) % 2, factor, 7))).arrays["explicitness"][0]
    assert seen > 0.99
    assert half == pytest.approx(0.5, abs=0.01)


def test_inactive_codes_are_left_out() -> None:
    duplicate = 0.01 * perfect(FACTORS)[:, :1]
    found = infomec(np.c_[perfect(FACTORS), duplicate, np.zeros(1200)], FACTORS)
    assert found.arrays["active"].tolist() == [True, True, True, False, False]
    assert found["infoc"] == 1.0
    everything = infomec(np.c_[perfect(FACTORS), duplicate], FACTORS, inactive=0.0)
    assert everything["infoc"] == pytest.approx((2 + (1 / 2 - 1 / 4) / (1 - 1 / 4)) / 3)


def test_degenerate_input() -> None:
    assert dict(infomec(np.zeros((1200, 2)), FACTORS)) == {"infom": 0, "infoe": 0, "infoc": 0}
    one = infomec(perfect(FACTORS)[:, :1], FACTORS[:, :1])
    assert (one["infom"], one["infoc"]) == (1.0, 1.0)
    single = infomec(perfect(FACTORS), np.c_[FACTORS, np.full(1200, 7)])
    assert (single["infom"], single["infoc"]) == (1.0, 0.75)
    assert single.arrays["explicitness"][3] == 0
    every = infomec(noise(20), np.arange(20))  # each value once: no neighbour shares it
    assert (every["infom"], every["infoc"]) == (0.0, 0.0)
    wide = infomec(noise(20, 40), FACTORS[:20])
    assert all(0 <= value <= 1 for value in wide.values())


def test_errors() -> None:
    with pytest.raises(InputError, match="no estimator 'kn'; did you mean 'knn'"):
        infomec(CODES, FACTORS, estimator="kn")
    with pytest.raises(InputError, match="neighbours is 0"):
        infomec(CODES, FACTORS, neighbours=0)
    with pytest.raises(InputError, match="1200 rows of codes but 10"):
        infomec(CODES, FACTORS[:10])
    with pytest.raises(InputError, match="codes column 2 is inf"):
        infomec(np.where([False, False, True], np.inf, CODES), FACTORS)
