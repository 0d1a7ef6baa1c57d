"""Beyond the paper: codes rotated without labels, and their dimensions put into groups, one for each factor.

A contrastive loss sees only products of codes, so that any rotation of them does as well: what a regularizer brings has
to be compared with what a rotation afterwards brings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid.metrics import med

Array = np.ndarray[Any, Any]
Rotation = Callable[[Array], Array]
Groups = list[list[int]]
FLAT = 1e-6  # of the largest variance, below which a direction says nothing


@dataclass(frozen=True)
class Whitening:
    """codes -> scores of variance 1 on their principal directions; those that are flat are left out."""

    mean: Array
    directions: Array
    """(d, k)"""
    spread: Array
    """(k,): standard deviations."""

    @classmethod
    def of(cls, codes: Array) -> Whitening:
        mean = codes.mean(0)
        variances, directions = np.linalg.eigh(np.atleast_2d(np.cov(codes.T)))
        kept = np.flatnonzero(variances > FLAT * max(variances.max(), 1e-30))[::-1]
        return cls(mean, directions[:, kept], np.sqrt(variances[kept]))

    def __call__(self, codes: Array) -> Array:
        return np.asarray((codes - self.mean) @ self.directions / self.spread)


def ica(codes: Array) -> Rotation:
    """FastICA (Hyvärinen 1999) as scikit-learn has it: whitened codes, turned until they are as independent as can be.

    Where it does not come to rest in its number of rounds, as far as it came.
    """
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    white = Whitening.of(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = FastICA(whiten=False, random_state=0, max_iter=300, tol=1e-3).fit(white(codes))
    return lambda table: np.asarray(white(table) @ fitted.components_.T)


def varimax(codes: Array) -> Rotation:
    """Principal components, turned until each loads on as few codes as can be (Kaiser 1958)."""
    white = Whitening.of(codes)
    turn = varimax_turn(white.directions * white.spread)
    return lambda table: np.asarray(white(table) @ turn)


def varimax_turn(loadings: Array, rounds: int = 200, tolerance: float = 1e-8) -> Array:
    """The rotation R (k, k) that makes the variance of the squares in each column of loadings·R (d, k) largest."""
    turn, before = np.eye(loadings.shape[1]), 0.0
    for _ in range(rounds):
        turned = loadings @ turn
        gradient = loadings.T @ (turned**3 - turned * (turned**2).mean(0))
        left, sizes, right = np.linalg.svd(gradient)
        turn = left @ right
        if sizes.sum() <= before * (1 + tolerance):
            break
        before = sizes.sum()
    return np.asarray(turn)


ROTATIONS: dict[str, Callable[[Array], Rotation]] = {
    "as trained": lambda codes: lambda table: table,
    "ICA": ica,
    "varimax": varimax,
}


# Which dimension belongs to which group


def by_dependence(codes: Array) -> Groups:
    """Two halves without labels: what depends on each other stays together.

    Dimensions of one factor with many values stay dependent in their squares, however they are turned. Of the graph
    whose weights are the absolute correlations of squares, the halves of the second eigenvector of its normalised
    Laplacian, cut at the median: the two groups are of one size.
    """
    d = codes.shape[1]
    squares = (codes - codes.mean(0)) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.nan_to_num(np.abs(np.corrcoef(squares.T)))
    np.fill_diagonal(weights, 0.0)
    scale = 1 / np.sqrt(np.maximum(weights.sum(0), 1e-12))
    _, vectors = np.linalg.eigh(np.eye(d) - scale[:, None] * weights * scale)
    order = np.argsort(vectors[:, 1] * scale, kind="stable")
    halves = sorted([sorted(order[: d // 2].tolist()), sorted(order[d // 2 :].tolist())])
    return [list(half) for half in halves]


def by_labels(codes: Array, factors: Array) -> Groups:
    """A group for each factor, with the training labels: a dimension goes to the factor it tells most of.

    By its share of what all dimensions tell of a factor in mutual information. No group stays empty: it gets the
    dimension that is nearest to it.
    """
    importance = med(codes, factors).arrays["importance"]  # (d, k)
    owner = importance.argmax(1)
    for factor in range(importance.shape[1]):
        if not (owner == factor).any():
            spare = np.array([(owner == other).sum() > 1 for other in owner])
            lead = importance[:, factor] - importance[np.arange(len(owner)), owner]
            owner[int(np.where(spare, lead, -np.inf).argmax())] = factor
    return [np.flatnonzero(owner == factor).tolist() for factor in range(importance.shape[1])]
