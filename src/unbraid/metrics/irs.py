"""Interventional robustness (Suter et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, Scores, paired
from unbraid.metrics._classes import checked_classes
from unbraid.metrics._information import discretise, relabel
from unbraid.metrics.declaration import Metric


def irs(
    codes: Any,
    factors: Any,
    *,
    bins: int | None = 20,
    quantile: float = 0.99,
    categorical: Sequence[int] = (),
    rng: Rng = None,
) -> Scores:
    """How little each code moves while the factor it depends on is fixed.

    For code z and factor g, take the `quantile` of |z - E[z|g]| averaged over the values of g, relative to the largest
    deviation of z from its mean. 1 minus that, for the best factor, is the code's robustness. The score is the mean
    robustness, weighted by the codes' largest deviations. Constant codes are left out; if all are constant, the score
    is 0. At most 1, reached if each code is a function of one factor. Near 0 for noise, and slightly negative if rows
    that share a value spread further around their mean than all rows around theirs. The paper uses the maximum
    (`quantile=1`). The reference code uses the 99th percentile, and factors in 20 bins of equal width, continuous or
    not. `bins=None` leaves factors as they are, and refuses continuous ones. The `categorical` factors are never
    binned: their neighbours are not alike.

    `arrays`: `robustness` (d, k), NaN for constant codes.
    """
    if not 0 < quantile <= 1:
        raise InputError(f"quantile is {quantile}; expected a number from 0 to 1, such as 0.99")
    remedy = "irs with bins=None groups rows by value: use bins=20"
    table, labels = paired(codes, factors, remedy if bins is None else "")
    fixed = labels.copy() if bins is None else discretise(labels.astype(np.float64), bins)
    for column in checked_classes(categorical, labels):
        fixed[:, column] = relabel(labels[:, [column]])[0][:, 0]
    active = np.ptp(table, axis=0) > 0
    robustness: Array = np.full((table.shape[1], labels.shape[1]), np.nan)
    if not active.any():
        return Scores({"irs": 0.0}, robustness=robustness)
    moving = table[:, active]
    largest = np.abs(moving - moving.mean(0)).max(0)
    deviations = np.zeros((moving.shape[1], fixed.shape[1]))
    for column in range(fixed.shape[1]):
        order = np.argsort(fixed[:, column], kind="stable")
        _, starts = np.unique(fixed[order, column], return_index=True)
        groups = np.split(moving[order], starts[1:])
        tops = [np.quantile(np.abs(group - group.mean(0)), quantile, axis=0) for group in groups]
        deviations[:, column] = np.mean(tops, axis=0)
    robustness[active] = 1 - deviations / largest[:, None]
    score = np.average(robustness[active].max(1), weights=largest)
    return Scores({"irs": score}, robustness=robustness)


DECLARED = Metric(
    irs, "train",
    asks="how little does a code move while its factor is fixed?",
    range="at most 1",
    better="higher",
    noise="0.2 to 0.6",
    perfect="1 for up to 20 values",
    invariant="order, sign; one scale for all",
    trust="beside the noise value, which is far from 0",
    report="for studies of interventions",
    seconds=lambda size, settings: 4e-8 * size.rows * size.codes * (size.factors + 1),
    axes={"robustness": "cf"},
)  # fmt: skip
