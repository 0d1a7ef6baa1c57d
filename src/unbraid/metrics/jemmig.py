"""JEMMIG: joint entropy minus mutual information gap (Do & Tran 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information
from unbraid.metrics.declaration import Metric


def jemmig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """The mean over factors v of 1 - (H(z*, v) - I(z*; v) + I(z**; v)) / (H(v) + log bins); higher is better.

    z* and z** are the two codes most informative about v. Unlike `mig`, the joint entropy penalises whatever else z*
    holds. Range [0, 1]. 1 if z* takes one value for each value of v and no other code is informative about v; 0 if the
    best code is noise that fills its bins uniformly. Invariant to permuting, flipping and scaling codes. A factor with
    a single value counts 0. With a single code, I(z**; v) is 0. Among equally informative codes, z* is the one of least
    entropy.

    Continuous factors are refused unless `factor_bins` is the number of bins of equal width to cut them into. Factors
    of whole numbers are never binned.

    `arrays`: `information` (d, k) in nats, `per_factor` (k,), `raw` (k,): the unnormalised scores in nats; lower is
    better.
    """
    if bins < 2:
        raise InputError(f"bins is {bins}; expected at least 2")
    table, labels = counted("jemmig", codes, factors, factor_bins)
    binned = discretise(table, bins)
    information, entropies = mutual_information(binned, labels), entropy(labels)
    joint = entropy(binned)[:, None] + entropies - information  # H(z, v) for all pairs
    best = np.isclose(information, information.max(0), rtol=0, atol=1e-12)
    raw = np.where(best, joint, np.inf).min(0) - gap(information)
    per_factor = np.where(entropies > 0, 1 - raw / (entropies + np.log(bins)), 0.0)
    return Scores({"jemmig": per_factor.mean()}, information=information, per_factor=per_factor, raw=raw)


DECLARED = Metric(
    jemmig, "train",
    asks="is each factor in a single code, and nothing else in it?",
    range="0 to 1",
    better="higher",
    noise="0 to 0.2",
    perfect="1",
    invariant="order, sign, scale",
    trust="with thousands of rows",
    report="beside mig",
    seconds=lambda size, settings: 3e-8 * size.rows * size.codes * (size.factors + 3),
    axes={"information": "cf", "per_factor": "f", "raw": "f"},
)  # fmt: skip
