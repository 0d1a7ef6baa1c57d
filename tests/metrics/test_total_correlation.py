from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from unbraid.metrics import PROTOCOLS, score, total_correlation

Array = np.ndarray[Any, Any]


def with_covariance(covariance: Array, n: int = 500) -> Array:
    """Codes (n, d) whose empirical covariance is exactly the given one."""
    white = np.random.default_rng(0).normal(size=(n, len(covariance)))
    white -= white.mean(0)
    white = white @ np.linalg.inv(np.linalg.cholesky(np.cov(white, rowvar=False))).T
    return np.asarray(3.0 + white @ np.linalg.cholesky(covariance).T)


def measure(codes: Array, **settings: float) -> float:
    return total_correlation(codes, **settings)["total_correlation"]


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.9, 0.9999])
def test_two_correlated_codes(rho: float) -> None:
    codes = with_covariance(np.array([[1.0, rho], [rho, 1.0]]))
    assert measure(codes) == pytest.approx(-0.5 * math.log(1 - rho**2), abs=1e-9)
    assert measure(codes * [1e-4, 1e3]) == pytest.approx(measure(codes), abs=1e-9)


def test_the_formula_with_epsilon_on_the_diagonal() -> None:
    root = np.random.default_rng(1).normal(size=(4, 4))
    codes = with_covariance(root @ root.T)
    for epsilon in (0.0, 1e-5, 0.1):
        covariance = root @ root.T + epsilon * np.eye(4)
        expected = 0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1])
        assert measure(codes, epsilon=epsilon) == pytest.approx(expected)


def test_constant_codes_are_ignored() -> None:
    codes = with_covariance(np.array([[1.0, 0.5], [0.5, 1.0]]))
    dead = np.hstack([codes, np.full((len(codes), 2), 0.3)])
    for epsilon in (0.0, 1e-5):
        assert measure(dead, epsilon=epsilon) == pytest.approx(measure(codes, epsilon=epsilon))
    assert measure(codes[:, :1]) == measure(np.full((10, 3), 0.3)) == measure(codes[:1]) == 0


def test_copies_are_as_large_as_double_precision_allows() -> None:
    codes = with_covariance(np.eye(3))
    one, two = measure(codes[:, [0, 1, 2, 0]]), measure(codes[:, [0, 1, 2, 0, 1]])
    assert one > 15
    assert one + 15 < two < math.inf
    assert measure(codes[:, [0, 1, 2, 0]], epsilon=1e-5) == pytest.approx(0.5 * math.log(1 / 2e-5), abs=1e-3)


def test_the_protocol_says_whether_the_diagonal_grows() -> None:
    """Codes of a small scale, where it matters; the reference code adds nothing, the paper 1e-5 (footnote 3)."""
    codes = 0.01 * with_covariance(np.array([[1.0, 0.9], [0.9, 1.0]]))
    factors = np.arange(len(codes))[:, None] % 3
    for protocol, epsilon in (("dlib", 0.0), ("fast", 0.0), ("locatello2018", 1e-5), ("assumptions", 1e-5)):
        found = score(codes, factors, (codes, factors), protocol, metrics=["total_correlation"])
        assert found["total_correlation"] == pytest.approx(measure(codes, epsilon=epsilon)), protocol
    assert measure(codes, epsilon=1e-5) < measure(codes) - 0.1
    assert "epsilon" not in PROTOCOLS["dlib"].metrics["total_correlation"]
