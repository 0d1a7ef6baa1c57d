"""MIG-sup: the mutual information gap of each code between factors (Li et al. 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information
from unbraid.metrics.declaration import Metric


def mig_sup(
    codes: Any,
    factors: Any,
    *,
    bins: int = 20,
    factor_bins: int | None = None,
    threshold: float = 0.0,
    rng: Rng = None,
) -> Scores:
    """MIG-sup: the mean over codes z of N(z; v*) - N(z; v**), for its two best factors, with N = I(z; v) / H(v).

    `mig` asks whether a factor is in one code; this asks whether a code holds one factor. Range [0, 1]. 1 if each code
    captures one factor completely and no other; 0 if each is equally informative about two factors, and for noise.
    Invariant to permuting, flipping and scaling codes. The mean is over codes whose variance exceeds `threshold`: by
    default all that are not constant (the authors' 0.01 suits VAEs, and depends on the scale of the codes). Without
    any, the score is 0. An uninformative code that varies lowers the mean. A factor with a single value has N = 0. With
    a single factor, N(z; v**) is 0.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `information` (d, k), normalised, `per_code` (d,), `active` (d,).
    """
    table, labels = counted("mig_sup", codes, factors, factor_bins)
    nats, entropies = mutual_information(discretise(table, bins), labels), entropy(labels)
    information = np.divide(nats, entropies, out=np.zeros_like(nats), where=entropies > 0)
    per_code = gap(information.T)
    active = (np.ptp(table, axis=0) > 0) & (table.var(0) > threshold)
    score = per_code[active].mean() if active.any() else 0.0
    return Scores({"mig_sup": score}, information=information, per_code=per_code, active=active)


DECLARED = Metric(
    mig_sup, "train",
    asks="is a single factor in each code?",
    range="0 to 1",
    better="higher",
    noise="0",
    perfect="1",
    invariant="order, sign, scale",
    trust="if all codes are meant to be used: an unused one that varies lowers it",
    report="beside mig",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"information": "cf", "per_code": "c", "active": "c"},
)  # fmt: skip
