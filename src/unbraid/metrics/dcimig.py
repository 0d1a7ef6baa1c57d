"""DCIMIG, or 3CharM: the three properties of DCI in one mutual information gap (Sepliarskaia et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information
from unbraid.metrics.declaration import Metric


def dcimig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """Σ_v (the largest gap among the codes whose best factor is v) / Σ_v H(v).

    A code's gap is its information about its best factor minus that about its second best. A factor that is no code's
    best counts 0. Range [0, 1]. 1 if each factor has a code that captures it completely and no other factor; further
    codes for the same factor cost nothing. 0 for codes that are equally informative about two factors, and for noise.
    Invariant to permuting, flipping and scaling codes. Factors with a single value have no entropy and so no weight; if
    all are such, the score is 0. With a single factor, the second best is 0.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `information` (d, k) in nats, `per_code` (d,) gaps in nats, `per_factor` (k,) as shares of H(v).
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


DECLARED = Metric(
    dcimig, "train",
    asks="does each factor have a code of its own?",
    range="0 to 1",
    better="higher",
    noise="0",
    perfect="1",
    invariant="order, sign, scale",
    trust="with thousands of rows; copies cost nothing",
    report="if several copies of a factor are fine",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"information": "cf", "per_code": "c", "per_factor": "f"},
)  # fmt: skip
