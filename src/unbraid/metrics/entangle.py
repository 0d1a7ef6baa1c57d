"""Theorem 1 of assumptions as an instrument: the same distribution, fully entangled."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, as_codes, generator


def entangle(codes: Any, alpha: float = 0.25, *, rng: Rng = None) -> Array:
    """f(z) = g⁻¹(h⁻¹(A h(g(z)))): each code to its CDF g and a normal quantile h, a reflection A, and the way back.

    A = I - 2vvᵀ with v_1² = alpha and v_i² = (1 - alpha) / (d - 1) has no zero entry, so every new code depends on
    every old one. g is the empirical CDF and its inverse hands out the sorted values again: each column of the result
    (n, d) holds exactly the values it held before. Independent codes stay independent, up to sampling, so a total
    correlation does not move while scores that know the factors fall.

    Of 0 < alpha < 0.5, any will do. Codes that are constant stay as they are and the reflection is among the others,
    of which it takes two. Equal values have no order: `rng` ranks them at random, which for codes of few values adds
    noise that the theorem, which asks for a density, does not have.
    """
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha is {alpha}; expected a number between 0 and 0.5")
    table = as_codes(codes)
    moving = np.flatnonzero(np.ptp(table, axis=0) > 0)
    if len(moving) < 2:
        raise InputError(f"{len(moving)} of {table.shape[1]} columns of codes vary; entangling takes at least 2")
    old = table[:, moving]
    mixed = _normal_scores(old, generator(rng)) @ householder(len(moving), alpha)
    result = table.copy()
    result[:, moving] = np.take_along_axis(np.sort(old, axis=0), _ranks(mixed), axis=0)
    return result


def householder(d: int, alpha: float) -> Array:
    """The reflection of the proof (d, d): orthogonal, symmetric, without a zero. Its A_ij = -2 v_i v_j off the diagonal
    (the paper's text drops the 2)."""
    v = np.full(d, np.sqrt((1 - alpha) / (d - 1)))
    v[0] = np.sqrt(alpha)
    return np.asarray(np.eye(d) - 2 * np.outer(v, v))


def _normal_scores(table: Array, rng: np.random.Generator) -> Array:
    """h(g(z)): the normal quantile of (rank + ½) / n, equal values in random order."""
    from scipy.special import ndtri

    shuffled = rng.permutation(len(table))
    ranks = np.empty(table.shape, np.int64)
    ranks[shuffled] = _ranks(table[shuffled])
    return np.asarray(ndtri((ranks + 0.5) / len(table)))


def _ranks(table: Array) -> Array:
    """0 to n - 1 in each column, equal values in order of rows."""
    return np.asarray(np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable"))
