"""MED: DCI's disentanglement with mutual information for importance (Cao et al. 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, Scores
from unbraid.metrics._information import counted, discretise, mutual_information
from unbraid.metrics.dci import from_importance


def med(
    codes: Any,
    factors: Any,
    *,
    bins: int = 20,
    factor_bins: int | None = None,
    top_k: int | None = None,
    rng: Rng = None,
) -> Scores:
    """The mean over codes i of 1 - H_k(R_i·), weighted by Σ_j R_ij, with R_ij = I(z_i; v_j) / Σ_i I(z_i; v_j).

    That is `dci`'s disentanglement without a classifier: the factors count alike, and no fit favours one of two equal
    codes. `top_k` keeps, of the codes that tell most about a factor, the `top_k` least entangled ones, for every
    factor: wide codes are then judged by a part of the size of narrow ones. Range [0, 1]. 1 where each code tells about
    one factor only; 0 for codes that tell about all factors alike. Noise scores near 0, but not 0: what a histogram
    finds in it is uneven. Unchanged by permuting, flipping or scaling codes. A factor of which no code tells anything
    has no weight; where that is so for all, 0. With a single factor any code that tells about it scores 1.

    Continuous factors are refused unless `factor_bins` cuts them into so many bins of equal width; factors of whole
    numbers are taken as they are.

    `arrays`: `importance` (d, k), `per_code` (d,), `kept` (d,): whether a code took part.
    """
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k is {top_k}; expected at least 1")
    table, labels = counted("med", codes, factors, factor_bins)
    information = mutual_information(discretise(table, bins), labels)
    total = information.sum(0)
    importance = np.divide(information, total, out=np.zeros_like(information), where=total > 1e-12)
    per_code = from_importance(importance, np.zeros(labels.shape[1])).arrays["per_code"]
    kept = np.ones(len(importance), bool) if top_k is None else _top(importance, per_code, top_k)
    weight = importance.sum(1) * kept
    score = per_code @ weight / weight.sum() if weight.sum() > 0 else 0.0
    return Scores({"med": score}, importance=importance, per_code=per_code, kept=kept)


def _top(importance: Array, per_code: Array, k: int) -> Array:
    """Whether a code is among the k least entangled of those whose most important factor is the same."""
    kept = np.zeros(len(importance), bool)
    main = importance.argmax(1)
    for factor in np.unique(main):
        own = np.flatnonzero((main == factor) & (importance.sum(1) > 0))
        kept[own[np.argsort(-per_code[own], kind="stable")[:k]]] = True
    return kept
