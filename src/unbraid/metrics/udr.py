"""Unsupervised disentanglement ranking (Duan et al. 2020): disentangled models agree with each other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.arguments import need_array
from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, as_codes, standardise


def udr(
    codes: Sequence[Any], kl: Sequence[Any] | None = None, correlation: str = "lasso", *, threshold: float = 0.01
) -> dict[str, Array]:
    """Scores of m models from their codes for the same images: `scores` (m,) and `pairs` (m, m).

    `codes` is a list of arrays (n, d_i); widths may differ. `kl` is a list of each model's mean KL per latent (d_i,); a
    latent with at most `threshold` nats is inactive. Without `kl`, a code is active if its variance exceeds `threshold`
    times the largest of its model. `correlation` is `lasso` (absolute weights, α = 0.1, of predicting one model's codes
    from the other's) or `spearman` (absolute rank correlation).

    pairs[i, j] is the mean of max²/sum over the columns and over the rows of the correlation matrix of models i and j:
    1 if their active codes match one to one. A model's score is the median over the other models. Range [0, 1]; a model
    without an active code scores 0.
    """
    if correlation not in ("lasso", "spearman"):
        raise InputError(f"correlation is '{correlation}'; expected lasso or spearman")
    tables = [as_codes(table, f"codes of model {model}") for model, table in enumerate(codes)]
    if len(tables) < 2:
        raise InputError(f"udr compares models with each other; got {len(tables)}, expected at least 2")
    for model, table in enumerate(tables):
        if len(table) != len(tables[0]):
            raise InputError(f"model {model} has {len(table)} rows of codes; model 0 has {len(tables[0])}")
    if kl is not None and len(kl) != len(tables):
        raise InputError(f"there are {len(tables)} models but {len(kl)} rows of kl; expected one per model")
    active = [_active(table, None if kl is None else kl[model], threshold) for model, table in enumerate(tables)]
    kept = [standardise(table)[0][:, mask] for table, mask in zip(tables, active, strict=True)]
    if correlation == "spearman":
        from scipy.stats import rankdata

        kept = [standardise(rankdata(table, axis=0))[0] if table.shape[1] else table for table in kept]
    pairs = np.zeros((len(tables), len(tables)))
    for i, left in enumerate(kept):
        for j, right in enumerate(kept):
            if i != j and left.shape[1] and right.shape[1]:
                pairs[i, j] = _agreement(_correlations(left, right, correlation))
    others = ~np.eye(len(tables), dtype=bool)
    scores = np.array([np.median(pairs[others[:, j], j]) for j in range(len(tables))])
    return {"scores": scores, "pairs": pairs}


def _active(table: Array, kl: Any, threshold: float) -> Array:
    if kl is None:
        variances = table.var(0)
        return np.asarray(variances > threshold * max(variances.max(), 1e-12))
    divergences = need_array("kl", kl)
    if divergences.dtype.kind not in "iuf":
        raise InputError(f"kl is {divergences.dtype}; expected numbers, one per code")
    if divergences.shape != (table.shape[1],):
        raise InputError(f"kl has shape {divergences.shape}; expected ({table.shape[1]},), one number per code")
    return np.asarray(divergences > threshold)


def _correlations(left: Array, right: Array, correlation: str) -> Array:
    """Absolute correlations (codes of the left model, codes of the right model)."""
    if correlation == "spearman":
        return np.asarray(np.abs(left.T @ right / len(left)))
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # copies of codes converge slowly
        weights = np.abs(Lasso(alpha=0.1).fit(left, right).coef_)  # (right, left), or (left,) for one target
    return np.asarray(np.atleast_2d(weights).T)


def _agreement(matrix: Array) -> float:
    """The mean of max²/sum over columns and over rows. A code that correlates with nothing counts 0."""
    by_column = _relative_strength(matrix).sum() / matrix.shape[1]
    by_row = _relative_strength(matrix.T).sum() / matrix.shape[0]
    return float((by_column + by_row) / 2)


def _relative_strength(matrix: Array) -> Array:
    total = matrix.sum(0)
    return np.asarray(np.divide(matrix.max(0) ** 2, total, out=np.zeros_like(total), where=total > 0))
