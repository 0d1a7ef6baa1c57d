"""MED: the disentanglement of DCI with mutual information as importance (Cao et al. 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, Scores
from unbraid.metrics._information import counted, discretise, mutual_information
from unbraid.metrics.dci import from_importance
from unbraid.metrics.declaration import Metric


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

    This is the disentanglement of `dci` without a classifier: all factors weigh the same, and no fit prefers one of two
    equal codes. `top_k` keeps for each factor only the `top_k` least entangled codes among those most informative
    about it, so that wide codes can be compared with narrow ones. Range [0, 1]. 1 if each code is informative about one
    factor only; 0 if each is equally informative about all. Noise scores near 0, but not 0, because a histogram finds
    uneven information in it. Invariant to permuting, flipping and scaling codes. A factor about which no code is
    informative has no weight; if all are such, the score is 0. With a single factor every informative code scores 1.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `importance` (d, k), `per_code` (d,), `kept` (d,): the codes that `top_k` keeps.
    """
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k is {top_k}; expected at least 1")
    table, labels = counted("med", codes, factors, factor_bins)
    information = mutual_information(discretise(table, bins), labels)
    total = information.sum(0)
    importance = np.divide(information, total, out=np.zeros_like(information), where=total > 0)
    per_code = from_importance(importance, np.zeros(labels.shape[1])).arrays["per_code"]
    kept = np.ones(len(importance), bool) if top_k is None else _top(importance, per_code, top_k)
    weight = importance.sum(1) * kept
    score = per_code @ weight / weight.sum() if weight.sum() > 0 else 0.0
    return Scores({"med": score}, importance=importance, per_code=per_code, kept=kept)


def _top(importance: Array, per_code: Array, k: int) -> Array:
    """Which codes (d,) are among the k least entangled of those with the same most important factor."""
    kept = np.zeros(len(importance), bool)
    main = importance.argmax(1)
    for factor in np.unique(main):
        own = np.flatnonzero((main == factor) & (importance.sum(1) > 0))
        kept[own[np.argsort(-per_code[own], kind="stable")[:k]]] = True
    return kept


DECLARED = Metric(
    med, "train",
    asks="does each code hold one factor only?",
    range="0 to 1",
    better="higher",
    noise="near 0, more with few rows",
    perfect="1",
    invariant="order, sign, scale",
    trust="beside the noise value; with `top_k` for wide codes",
    report="yes, for wide codes",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"importance": "cf", "per_code": "c", "kept": "c"},
)  # fmt: skip
