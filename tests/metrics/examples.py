"""Codes whose scores are known: shared by the tests of single metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SIZES = (3, 4, 5)


def factors_of(n: int = 1200, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> Array:
    """Independent factors (n, k), every combination equally often where n is a multiple of the grid's size."""
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    rows = np.arange(n) % len(grid)
    return grid[np.random.default_rng(seed).permutation(rows)]


def perfect(factors: Array) -> Array:
    """One code a factor, each a line of it."""
    return 2.0 * factors - 1.0


def noise(n: int = 1200, d: int = 3, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def rotated(factors: Array) -> Array:
    """Every code a mixture of all factors, by one and the same rotation of standardised factors."""
    k = factors.shape[1]
    matrix = np.eye(k) - 2 / k  # a reflection: informative, orthogonal, entangled
    return (factors - factors.mean(0)) / factors.std(0) @ matrix
