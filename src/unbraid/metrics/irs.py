"""Interventional robustness (Suter et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, Scores, paired
from unbraid.metrics._information import discretise


def irs(
    codes: Any, factors: Any, *, bins: int | None = 20, quantile: float = 0.99, rng: Rng = None
) -> Scores:
    """How little each code moves while the factor it follows is held fixed.

    For code z and factor g: the mean over values of g of the `quantile` of |z - E[z|g]|, over the largest deviation of
    z; 1 minus that is the code's robustness, for its best factor. The score weighs codes by their largest deviation.
    Constant codes are left out; where all are constant the score is 0. At most 1, where each code is a function of one
    factor; near 0 for codes that follow none, and a little below where rows that share a value spread further around
    their mean than all rows around theirs. The paper takes the maximum (`quantile=1`), the reference code the 99th
    percentile and factors in 20 bins of equal width, continuous or not (`bins=None` takes them as they are, and refuses
    continuous ones).

    `arrays`: `robustness` (d, k), NaN for constant codes.
    """
    if not 0 < quantile <= 1:
        raise InputError(f"quantile is {quantile}; expected a number from 0 to 1, such as 0.99")
    right = "irs with bins=None groups rows by value: give bins=20"
    table, labels = paired(codes, factors, right if bins is None else "")
    held = labels if bins is None else discretise(labels.astype(np.float64), bins)
    active = np.ptp(table, axis=0) > 0
    robustness: Array = np.full((table.shape[1], labels.shape[1]), np.nan)
    if not active.any():
        return Scores({"irs": 0.0}, robustness=robustness)
    moving = table[:, active]
    largest = np.abs(moving - moving.mean(0)).max(0)
    deviations = np.zeros((moving.shape[1], held.shape[1]))
    for column in range(held.shape[1]):
        order = np.argsort(held[:, column], kind="stable")
        _, starts = np.unique(held[order, column], return_index=True)
        groups = np.split(moving[order], starts[1:])
        tops = [np.quantile(np.abs(group - group.mean(0)), quantile, axis=0) for group in groups]
        deviations[:, column] = np.mean(tops, axis=0)
    robustness[active] = 1 - deviations / largest[:, None]
    score = np.average(robustness[active].max(1), weights=largest)
    return Scores({"irs": score}, robustness=robustness)
