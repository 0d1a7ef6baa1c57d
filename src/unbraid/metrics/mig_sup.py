"""MIG-sup: the mutual information gap the other way round (Li et al. 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information


def mig_sup(
    codes: Any,
    factors: Any,
    *,
    bins: int = 20,
    factor_bins: int | None = None,
    threshold: float = 0.0,
    rng: Rng = None,
) -> Scores:
    """MIG-sup = mean over codes z of N(z; v*) - N(z; v**), for the two factors it tells most of; N = I(z; v) / H(v).

    Where `mig` asks whether a factor is in one code, this asks whether a code holds one factor. Range [0, 1]. 1 where
    each code tells one factor completely and no other; 0 for codes that tell two alike, and for noise. Unchanged by
    permuting, flipping or scaling codes. The mean is over the codes whose variance passes `threshold`: by default those
    that are not constant (the authors' 0.01 fits VAEs, and depends on the codes' scale); without any, 0. A code that
    varies and tells nothing lowers the mean. A factor with a single value has N = 0. With a single factor the second
    is 0.

    Continuous factors are refused unless `factor_bins` cuts them into so many bins of equal width; factors of whole
    numbers are taken as they are.

    `arrays`: `information` (d, k), normalised, `per_code` (d,), `active` (d,).
    """
    table, labels = counted("mig_sup", codes, factors, factor_bins)
    found, entropies = mutual_information(discretise(table, bins), labels), entropy(labels)
    information = np.divide(found, entropies, out=np.zeros_like(found), where=entropies > 0)
    per_code = gap(information.T)
    active = (np.ptp(table, axis=0) > 0) & (table.var(0) > threshold)
    score = per_code[active].mean() if active.any() else 0.0
    return Scores({"mig_sup": score}, information=information, per_code=per_code, active=active)
