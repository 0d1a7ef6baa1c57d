"""The number of active codes (Burda et al. 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, as_codes


def active_units(codes: Any, *, threshold: float = 0.01, rng: Rng = None) -> Scores:
    """The number of codes whose variance over the data exceeds `threshold`: 0 to d.

    `arrays`: `active` (d,), booleans.
    """
    active = as_codes(codes).var(0) > threshold
    return Scores({"active_units": float(np.sum(active))}, active=active)
