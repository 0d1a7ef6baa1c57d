from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import retrieved_factors

FACTORS = factors_of()


def test_perfect_codes_in_either_direction_and_any_increasing_map() -> None:
    codes = np.exp(perfect(FACTORS)) * [1, -1, 1]
    found = retrieved_factors(codes, FACTORS)
    assert (found["retrieved"], found["fraction"]) == (3, 1)
    assert found["mean"] == pytest.approx(1.0)
    assert found["std"] == pytest.approx(0.0, abs=1e-9)
    assert found.arrays["match"].tolist() == [0, 1, 2]


def test_correlations_and_p_values_are_those_of_scipy() -> None:
    codes = np.c_[perfect(FACTORS) + 2 * noise(), noise(1200, 2, seed=5)]
    found = retrieved_factors(codes, FACTORS)
    for i, j in np.ndindex(5, 3):
        expected = spearmanr(codes[:, i], FACTORS[:, j])
        assert found.arrays["correlation"][i, j] == pytest.approx(expected.statistic)
        assert found.arrays["p_value"][i, j] == pytest.approx(expected.pvalue, abs=1e-12)


def test_two_codes_of_one_factor_retrieve_it_once() -> None:
    found = retrieved_factors(np.c_[FACTORS[:, 0], -FACTORS[:, 0], FACTORS[:, 2]] + 0.0, FACTORS)
    assert found["retrieved"] == 2
    assert found["max"] == pytest.approx(1.0)


def test_a_correlation_that_is_not_significant_matches_nothing() -> None:
    wide = noise(1200, 40)
    plain = retrieved_factors(wide, FACTORS)
    assert 0.02 < np.mean(plain.arrays["match"] >= 0) < 0.35  # 1 - 0.95³ is 0.14
    assert retrieved_factors(wide, FACTORS, bonferroni=True)["retrieved"] <= 1
    assert plain["min"] == 0.0
    matched = plain.arrays["match"] >= 0
    largest = np.where(matched, np.abs(plain.arrays["correlation"]).max(1), 0)
    assert plain["mean"] == pytest.approx(largest.mean())
    assert plain["std"] == pytest.approx(largest.std())


def test_degenerate_input() -> None:
    assert retrieved_factors(np.zeros((1200, 2)), FACTORS)["retrieved"] == 0
    assert retrieved_factors(perfect(FACTORS)[:, :1], FACTORS[:, :1])["retrieved"] == 1
    assert retrieved_factors(perfect(FACTORS), np.full(1200, 3))["retrieved"] == 0
    assert retrieved_factors(noise(2), FACTORS[:2])["retrieved"] == 0
    assert 0 <= retrieved_factors(noise(10, 30), FACTORS[:10])["fraction"] <= 1
    with pytest.raises(InputError, match="level is 0"):
        retrieved_factors(noise(), FACTORS, level=0)
    with pytest.raises(InputError, match="codes column 0 is nan"):
        retrieved_factors(np.full((1200, 1), np.nan), FACTORS)
    with pytest.raises(InputError, match="3 rows of codes but 1200"):
        retrieved_factors(noise(3), FACTORS)
