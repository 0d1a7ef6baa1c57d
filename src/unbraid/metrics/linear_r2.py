"""How much of each factor a linear map of all codes explains on rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.metrics._arrays import Pair, Rng, Scores, r2, split
from unbraid.metrics._classes import checked_classes, one_hot
from unbraid.metrics._ridge import ridge
from unbraid.metrics.declaration import Metric


def linear_r2(
    codes: Any, factors: Any, *, test: Pair | None = None, categorical: Sequence[int] = (), rng: Rng = None
) -> Scores:
    """The mean over factors of the R² on the test rows of a ridge regression from all codes.

    The strength of the ridge is chosen for each factor by its leave-one-out error, so that noise scores about 0 however
    many codes there are. A `categorical` factor is regressed as one column of 0 and 1 per class, and its R² is that of
    all columns together. At most 1, reached if a linear map of the codes gives each factor; slightly below 0 for noise.
    Invariant to permuting, flipping, scaling and shifting codes, and nearly to rotating them. It does not require one
    code per factor. A factor with a single value counts 0. Factors may be continuous.

    `arrays`: `per_factor` (k,).
    """
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    classes = checked_classes(categorical, train_factors)
    targets, truths = [], []
    for column in range(train_factors.shape[1]):
        target, truth = train_factors[:, column], test_factors[:, column]
        if column in classes:
            shares, values = one_hot(target)
            targets.append(shares)
            truths.append((truth[:, None] == values).astype(np.float64))
        else:
            targets.append(target[:, None].astype(np.float64))
            truths.append(truth[:, None])
    predictions = ridge(train_codes, targets, test_codes)
    per_factor = np.array([r2(truth, predicted) for truth, predicted in zip(truths, predictions, strict=True)])
    return Scores({"linear_r2": per_factor.mean()}, per_factor=per_factor)


DECLARED = Metric(
    linear_r2, "split",
    asks="how much of each factor does a linear map of all codes give?",
    range="at most 1",
    better="higher",
    noise="0",
    perfect="1; less for classes",
    invariant="order, sign, scale, nearly rotation",
    trust="always; it asks for information, not for disentanglement",
    report="yes, beside a score of disentanglement",
    seconds=lambda size, settings: 5e-11 * size.codes**2 * (size.rows + 5 * size.codes)
    + 2e-9 * size.rows * size.codes * size.values,
    axes={"per_factor": "f"},
    refits=True,
)  # fmt: skip
