"""How much latents know of factors, on as few images as a metaEpoch may have."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import entropy

from unbraid.metrics import mig

Array = np.ndarray[Any, Any]
SHUFFLES = 20
POINTS = 20_000  # rows at most


def knowledge(codes: Array, factors: Array, bins: int | None = None, seed: int = 0) -> Array:
    """The share of each factor's entropy that each latent tells, above chance: codes (n, d), factors (n, k) -> (d, k).

    (I(z; v) - Ī) / (H(v) - Ī), where Ī is the mean of I over shuffled codes: 1 where a latent tells a factor, about 0
    where it tells nothing, however few rows there are. Without Ī, noise on 200 rows would tell a fifth of a factor of
    ten values. Codes are cut into 20 bins, as for MIG, or 2√n where that is less. Nothing is known of a factor that has
    one value only, nor of one of which chance alone tells nine tenths: then there are too few rows to say.
    """
    rng = np.random.default_rng(seed)
    bins = bins or int(np.clip(round(2 * len(codes) ** 0.5), 2, 20))
    if len(codes) > POINTS:
        chosen = rng.choice(len(codes), POINTS, replace=False)
        codes, factors = codes[chosen], factors[chosen]
    chance = np.mean([_information(rng.permutation(codes), factors, bins) for _ in range(SHUFFLES)], axis=0)
    whole = np.array([entropy(np.unique(column, return_counts=True)[1]) for column in factors.T])
    told, room = _information(codes, factors, bins) - chance, whole - chance
    enough = room > np.maximum(0.1 * whole, 1e-9)
    return np.asarray(np.divide(told, room, out=np.zeros_like(told), where=enough).clip(0, 1))


def _information(codes: Array, factors: Array, bins: int) -> Array:
    return np.asarray(mig(codes, factors, bins=bins).arrays["information"])
