from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import jemmig
from unbraid.metrics._information import discretise

FACTORS = factors_of()
SPREAD = perfect(FACTORS) + np.random.default_rng(0).uniform(-0.5, 0.5, FACTORS.shape)


def entropy_of(*columns: np.ndarray) -> float:
    p = np.unique(np.stack(columns, 1), axis=0, return_counts=True)[1] / len(columns[0])
    return float(-(p * np.log(p)).sum())


def test_perfect_codes() -> None:
    assert jemmig(perfect(FACTORS), FACTORS)["jemmig"] == pytest.approx(1.0)


def test_noise_of_uniform_bins_scores_zero() -> None:
    """All combinations of bin and value equally often: H(z, v) = H(v) + log bins, no information."""
    grid = factors_of(1200, (20, 3, 4))
    assert jemmig(grid[:, :1] + 0.0, grid[:, 1:])["jemmig"] == pytest.approx(0.0, abs=1e-9)
    assert jemmig(noise(), FACTORS)["jemmig"] < 0.15


def test_against_entropies_counted_one_by_one() -> None:
    binned = discretise(SPREAD, 20)
    expected = []
    for v in FACTORS.T:
        told = [entropy_of(z) + entropy_of(v) - entropy_of(z, v) for z in binned.T]
        first, second = np.argsort(told)[::-1][:2]
        raw = entropy_of(binned[:, first], v) - told[first] + told[second]
        expected.append(1 - raw / (entropy_of(v) + np.log(20)))
    found = jemmig(SPREAD, FACTORS)
    np.testing.assert_allclose(found.arrays["per_factor"], expected, atol=1e-9)
    assert found["jemmig"] == pytest.approx(np.mean(expected))


def test_a_code_that_holds_more_than_its_factor_scores_less() -> None:
    factors = factors_of(1200, (2, 3))
    both = factors[:, :1] * 3.0 + factors[:, 1:]
    expected = np.mean([1 - (np.log(6) - h) / (h + np.log(20)) for h in (np.log(2), np.log(3))])
    assert jemmig(both, factors)["jemmig"] == pytest.approx(expected)


def test_constant_codes_score_what_their_missing_entropy_is_worth() -> None:
    """The known weakness of the formula, kept and documented."""
    h = np.log(FACTORS.max(0) + 1)
    expected = np.mean(1 - h / (h + np.log(20)))
    assert jemmig(np.zeros((1200, 2)), FACTORS)["jemmig"] == pytest.approx(expected)
    assert jemmig(np.c_[perfect(FACTORS), perfect(FACTORS)], FACTORS)["jemmig"] == pytest.approx(expected)


def test_degenerate_input() -> None:
    assert jemmig(perfect(FACTORS)[:, :1], FACTORS[:, :1])["jemmig"] == pytest.approx(1.0)
    assert jemmig(perfect(FACTORS), np.full(1200, 3))["jemmig"] == 0
    assert 0 <= jemmig(noise(10, 30), FACTORS[:10])["jemmig"] <= 1
    with pytest.raises(InputError, match="codes column 0 is nan"):
        jemmig(np.full((1200, 1), np.nan), FACTORS)
    with pytest.raises(InputError, match="3 rows of codes but 1200"):
        jemmig(noise(3), FACTORS)
    with pytest.raises(InputError, match="bins is 1"):
        jemmig(noise(), FACTORS, bins=1)
