"""Modularity (Ridgeway & Mozer 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores
from unbraid.metrics._information import counted, discretise, mutual_information
from unbraid.metrics.declaration import Metric


def modularity(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """The mean over codes of 1 - Σ_f (m_f - t_f)² / (θ² (k - 1)), where t keeps only θ, the largest information m_f.

    Range [0, 1]. 1 if each code is informative about one factor only. A code that is equally informative about all
    factors counts 0, and so does one with less than 1e-12 nats about each. With a single factor every informative code
    counts 1.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `information` (d, k) in nats, `per_code` (d,).
    """
    table, labels = counted("modularity", codes, factors, factor_bins)
    information = mutual_information(discretise(table, bins), labels)
    squared = information**2
    theta = squared.max(1)
    rest = (squared.sum(1) - theta) / max(labels.shape[1] - 1, 1)
    per_code = np.where(theta > 0, 1 - np.divide(rest, theta, out=np.zeros_like(theta), where=theta > 0), 0.0)
    return Scores({"modularity": per_code.mean()}, information=information, per_code=per_code)


DECLARED = Metric(
    modularity, "train",
    asks="does each code hold one factor only?",
    range="0 to 1",
    better="higher",
    noise="arbitrary, often high",
    perfect="1",
    invariant="order, sign, scale",
    trust="beside an informativeness: noise scores high",
    report="to compare with papers",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"information": "cf", "per_code": "c"},
)  # fmt: skip
