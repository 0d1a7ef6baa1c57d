"""The mutual information gap (Chen et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap, paired
from unbraid.metrics._information import discretise, entropy, mutual_information


def mig(codes: Any, factors: Any, *, bins: int = 20, rng: Rng = None) -> Scores:
    """MIG = mean over factors v of (I(z*; v) - I(z**; v)) / H(v), for the two codes that tell most about v.

    Range [0, 1]. 1 where each factor is told by one code alone and completely; 0 where two codes tell as much, and for
    noise. Unchanged by permuting, flipping or scaling codes. A factor with a single value counts 0: no code can tell
    it. With a single code the second is 0.

    `arrays`: `information` (d, k) in nats, `per_factor` (k,).
    """
    table, labels = paired(codes, factors)
    information = mutual_information(discretise(table, bins), labels)
    entropies = entropy(labels)
    per_factor = np.divide(gap(information), entropies, out=np.zeros_like(entropies), where=entropies > 0)
    return Scores({"mig": per_factor.mean()}, information=information, per_factor=per_factor)
