"""The mutual information gap (Chen et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information
from unbraid.metrics.declaration import Metric


def mig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """MIG: the mean over factors v of (I(z*; v) - I(z**; v)) / H(v), for the two codes most informative about v.

    Range [0, 1]. 1 if each factor is captured completely by a single code; 0 if two codes are equally informative, and
    for noise. Invariant to permuting, flipping and scaling codes. A factor with a single value counts 0. With a single
    code, I(z**; v) is 0.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `information` (d, k) in nats, `per_factor` (k,).

    >>> factors = np.indices((3, 4)).reshape(2, -1).T
    >>> mig(2.0 * factors - 1.0, factors)["mig"]
    1.0
    """
    table, labels = counted("mig", codes, factors, factor_bins)
    information = mutual_information(discretise(table, bins), labels)
    entropies = entropy(labels)
    per_factor = np.divide(gap(information), entropies, out=np.zeros_like(entropies), where=entropies > 0)
    return Scores({"mig": per_factor.mean()}, information=information, per_factor=per_factor)


DECLARED = Metric(
    mig, "train",
    asks="is each factor in a single code?",
    range="0 to 1",
    better="higher",
    noise="0",
    perfect="1",
    invariant="order, sign, scale",
    trust="with thousands of rows; a factor in two codes scores 0",
    report="yes",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"information": "cf", "per_factor": "f"},
)  # fmt: skip
