"""Theorem 1 of assumptions as a function: codes with the same marginals, fully entangled."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, as_codes, generator


def entangle(codes: Any, alpha: float = 0.25, *, rng: Rng = None) -> Array:
    """f(z) = g⁻¹(h⁻¹(A h(g(z)))): CDF g of each code, normal quantile h, a reflection A, and back again.

    A = I - 2vvᵀ with v_1² = alpha and v_i² = (1 - alpha) / (d - 1) has no zero entry, so every new code depends on
    every old one. g is the empirical CDF, so each column of the result (n, d) is a permutation of its old values.
    Independent codes stay independent, up to sampling: their total correlation stays, while scores that use the factors
    fall.

    Any alpha with 0 < alpha < 0.5 works. Constant codes stay as they are; at least two others are needed. Equal values
    have no order, so `rng` ranks them at random. For codes with few values this adds noise, which the theorem excludes
    by assuming a density.
    """
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha is {alpha}; expected a number between 0 and 0.5")
    table = as_codes(codes)
    moving = np.flatnonzero(np.ptp(table, axis=0) > 0)
    if len(moving) < 2:
        raise InputError(f"{len(moving)} of {table.shape[1]} columns of codes vary; expected at least 2 to entangle")
    old = table[:, moving]
    mixed = _normal_scores(old, generator(rng)) @ householder(len(moving), alpha)
    result = table.copy()
    result[:, moving] = np.take_along_axis(np.sort(old, axis=0), _ranks(mixed), axis=0)
    return result


def householder(d: int, alpha: float) -> Array:
    """The reflection of the proof (d, d): orthogonal, symmetric, no entry 0.

    Off the diagonal A_ij = -2 v_i v_j; the paper's text omits the 2.
    """
    v = np.full(d, np.sqrt((1 - alpha) / (d - 1)))
    v[0] = np.sqrt(alpha)
    return np.asarray(np.eye(d) - 2 * np.outer(v, v))


def _normal_scores(table: Array, rng: np.random.Generator) -> Array:
    """h(g(z)): the normal quantile of (rank + ½) / n, with equal values in random order."""
    from scipy.special import ndtri

    shuffled = rng.permutation(len(table))
    ranks = np.empty(table.shape, np.int64)
    ranks[shuffled] = _ranks(table[shuffled])
    return np.asarray(ndtri((ranks + 0.5) / len(table)))


def _ranks(table: Array) -> Array:
    """Ranks 0 to n - 1 in each column, with equal values in row order."""
    return np.asarray(np.argsort(np.argsort(table, axis=0, kind="stable"), axis=0, kind="stable"))
