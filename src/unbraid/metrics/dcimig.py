"""DCIMIG, also 3CharM: three properties of DCI in one mutual information gap (Sepliarskaia et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information


def dcimig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """Σ_v (the largest gap among the codes that tell most about v) / Σ_v H(v).

    A code's gap is what it tells about its best factor less what it tells about its second best. Each factor takes the
    best of the codes that are its own, 0 where it has none. Range [0, 1]. 1 where each factor has a code that tells it
    completely and no other factor; more codes of the same factor cost nothing. 0 for codes that tell two factors
    alike, and for noise. Unchanged by permuting, flipping or scaling codes. Factors with a single value have no
    entropy and so no weight; where all are such, 0. With a single factor the second is 0.

    Continuous factors are refused unless `factor_bins` cuts them into so many bins of equal width; factors of whole
    numbers are taken as they are.

    `arrays`: `information` (d, k) in nats, `per_code` (d,) gaps in nats, `per_factor` (k,) as parts of H(v).
    """
    table, labels = counted("dcimig", codes, factors, factor_bins)
    information, entropies = mutual_information(discretise(table, bins), labels), entropy(labels)
    per_code = gap(information.T)
    own = np.zeros_like(information)
    own[np.arange(len(own)), information.argmax(1)] = per_code
    best, total = own.max(0), entropies.sum()
    per_factor = np.divide(best, entropies, out=np.zeros_like(best), where=entropies > 0)
    score = best.sum() / total if total > 0 else 0.0
    return Scores({"dcimig": score}, information=information, per_code=per_code, per_factor=per_factor)
