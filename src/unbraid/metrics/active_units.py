"""The number of active codes (Burda et al. 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, as_codes
from unbraid.metrics.declaration import Metric


def active_units(codes: Any, *, threshold: float = 0.01, rng: Rng = None) -> Scores:
    """The number of codes whose variance over the data exceeds `threshold`: 0 to d.

    `arrays`: `active` (d,), booleans.
    """
    active = as_codes(codes).var(0) > threshold
    return Scores({"active_units": float(np.sum(active))}, active=active)


DECLARED = Metric(
    active_units, "codes",
    asks="how many codes vary?",
    range="0 to the number of codes",
    better="neither",
    noise="all",
    perfect="one per factor",
    invariant="order, sign",
    trust="if codes have the scale of a VAE's",
    report="beside any mean over codes",
    seconds=lambda size, settings: 1e-8 * size.rows * size.codes,
    axes={"active": "c"},
)  # fmt: skip
