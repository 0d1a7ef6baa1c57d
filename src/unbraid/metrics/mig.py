"""The mutual information gap (Chen et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information


def mig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """MIG = mean over factors v of (I(z*; v) - I(z**; v)) / H(v), for the two codes that tell most about v.

    Range [0, 1]. 1 where each factor is told by one code alone and completely; 0 where two codes tell as much, and for
    noise. Unchanged by permuting, flipping or scaling codes. A factor with a single value counts 0: no code can tell
    it. With a single code the second is 0.

    Continuous factors are refused unless `factor_bins` cuts them into so many bins of equal width; factors of whole
    numbers are taken as they are.

    `arrays`: `information` (d, k) in nats, `per_factor` (k,).
    """
    table, labels = counted("mig", codes, factors, factor_bins)
    information = mutual_information(discretise(table, bins), labels)
    entropies = entropy(labels)
    per_factor = np.divide(gap(information), entropies, out=np.zeros_like(entropies), where=entropies > 0)
    return Scores({"mig": per_factor.mean()}, information=information, per_factor=per_factor)
