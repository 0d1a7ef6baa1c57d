from __future__ import annotations

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.metrics import entangle, mig, total_correlation
from unbraid.metrics.entangle import householder


def independent(n: int = 2000, d: int = 3, seed: int = 0) -> np.ndarray:
    """Codes of different shapes, independent of each other."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-1, 1, n), rng.normal(size=n), rng.exponential(size=n)] * d, 1)[:, :d]


@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.49])
def test_the_reflection_is_orthogonal_without_a_zero(d: int, alpha: float) -> None:
    matrix = householder(d, alpha)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(d), atol=1e-12)
    assert np.abs(matrix).min() > 1e-3


def test_each_column_keeps_its_values_exactly() -> None:
    codes = independent()
    mixed = entangle(codes)
    assert not np.allclose(mixed, codes)
    np.testing.assert_array_equal(np.sort(mixed, 0), np.sort(codes, 0))


def test_normal_codes_are_reflected() -> None:
    """For normal codes f is A itself, up to the sampling of the CDFs."""
    codes = np.random.default_rng(0).normal(size=(2000, 3))
    expected = codes @ householder(3, 0.25)
    found = entangle(codes)
    assert np.abs(found - expected).mean() < 0.06
    assert all(np.corrcoef(found[:, i], expected[:, i])[0, 1] > 0.99 for i in range(3))


def test_scores_fall_while_total_correlation_stays() -> None:
    codes = independent()
    factors = np.stack([np.searchsorted(np.quantile(c, [0.25, 0.5, 0.75]), c) for c in codes.T], 1)
    mixed = entangle(codes)
    before, after = mig(codes, factors)["mig"], mig(mixed, factors)["mig"]
    assert before > 0.8
    assert after < 0.4 * before
    tc = [total_correlation(c)["total_correlation"] for c in (codes, mixed)]
    assert abs(tc[1] - tc[0]) < 0.005


def test_it_can_be_undone_up_to_sampling() -> None:
    """A is its own inverse, and so is f."""
    codes = independent()
    again = entangle(entangle(codes))
    assert all(np.corrcoef(again[:, i], codes[:, i])[0, 1] > 0.99 for i in range(3))


def test_codes_of_few_values_keep_them_and_stay_independent() -> None:
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(5), np.arange(100)), -1).reshape(-1, 3)[:, :2].astype(float)
    mixed = entangle(grid)  # rows in order: ties broken by row would tell about the other code
    np.testing.assert_array_equal(np.sort(mixed, 0), np.sort(grid, 0))
    assert abs(np.corrcoef(mixed.T)[0, 1]) < 0.05
    np.testing.assert_array_equal(mixed, entangle(grid))


def test_constant_codes_stay_as_they_are() -> None:
    codes = np.insert(independent(), 1, 7.0, axis=1)
    mixed = entangle(codes)
    assert (mixed[:, 1] == 7.0).all()
    np.testing.assert_array_equal(np.delete(mixed, 1, axis=1), entangle(independent()))


def test_wider_codes_than_samples() -> None:
    assert entangle(np.random.default_rng(0).normal(size=(5, 9))).shape == (5, 9)


@pytest.mark.parametrize(
    ("codes", "alpha", "message"),
    [
        (independent(), 0.5, "alpha is 0.5"),
        (independent(), 0.0, "alpha is 0.0"),
        (independent()[:, :1], 0.25, "1 of 1 columns"),
        (np.ones((10, 3)), 0.25, "0 of 3 columns"),
        (np.array([[0.0, 1.0], [np.nan, 2.0]]), 0.25, "codes column 0 is nan at row 1"),
    ],
)
def test_what_cannot_be_entangled(codes: np.ndarray, alpha: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        entangle(codes, alpha)
