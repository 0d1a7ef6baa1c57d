"""JEMMIG: joint entropy minus mutual information gap (Do & Tran 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Rng, Scores, gap
from unbraid.metrics._information import counted, discretise, entropy, mutual_information


def jemmig(codes: Any, factors: Any, *, bins: int = 20, factor_bins: int | None = None, rng: Rng = None) -> Scores:
    """The mean over factors v of 1 - (H(z*, v) - I(z*; v) + I(z**; v)) / (H(v) + log bins): higher is better.

    z* and z** tell most about v. To the gap of `mig` the joint entropy adds what else z* holds: a code that tells v
    completely and something besides scores less. Range [0, 1]. 1 where z* takes one value for each value of v and no
    other code tells of v; 0 where the best code is noise of uniform bins. Unchanged by permuting, flipping or scaling
    codes. A factor with a single value counts 0. With a single code the second is 0; of codes that tell equally much
    the one of least entropy is taken.

    Continuous factors are refused unless `factor_bins` cuts them into so many bins of equal width; factors of whole
    numbers are taken as they are.

    `arrays`: `information` (d, k) in nats, `per_factor` (k,), `raw` (k,): the unnormalised scores in nats, low is good.
    """
    if bins < 2:
        raise InputError(f"bins is {bins}; expected at least 2")
    table, labels = counted("jemmig", codes, factors, factor_bins)
    binned = discretise(table, bins)
    information, entropies = mutual_information(binned, labels), entropy(labels)
    joint = entropy(binned)[:, None] + entropies - information  # H(z, v) of all pairs
    best = np.isclose(information, information.max(0), rtol=0, atol=1e-12)
    raw = np.where(best, joint, np.inf).min(0) - gap(information)
    per_factor = np.where(entropies > 0, 1 - raw / (entropies + np.log(bins)), 0.0)
    return Scores({"jemmig": per_factor.mean()}, information=information, per_factor=per_factor, raw=raw)
