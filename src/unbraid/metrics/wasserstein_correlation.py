"""Wasserstein correlation of a Gaussian fitted to the codes (Xiao & Wang 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Rng, Scores, as_codes
from unbraid.metrics.declaration import Metric


def wasserstein_correlation(codes: Any, *, rng: Rng = None) -> Scores:
    """W₂² between N(0, C) and N(0, diag C): 2 tr C - 2 tr (C diag C)^½, and that divided by tr C (`normalised`).

    At least 0; 0 if the codes are uncorrelated. `normalised` is invariant to scaling all codes together.
    """
    table = as_codes(codes)
    if len(table) < 2:
        raise InputError(f"there is {len(table)} row of codes; expected at least 2 for a covariance")
    covariance = np.atleast_2d(np.cov(table, rowvar=False))
    variances = np.diag(covariance)
    # C diag C is similar to the symmetric D^½ C D^½; its root has a trace even if C is singular
    roots = np.sqrt(variances)
    cross = np.sqrt(np.linalg.eigvalsh(roots[:, None] * covariance * roots).clip(0)).sum()
    distance = max(0.0, 2 * variances.sum() - 2 * cross)
    total = variances.sum()
    return Scores({"wasserstein_correlation": distance, "normalised": distance / total if total > 0 else 0.0})


DECLARED = Metric(
    wasserstein_correlation, "codes",
    asks="are codes uncorrelated, in units of their scale?",
    range="at least 0",
    better="neither",
    noise="near 0",
    perfect="0 for independent factors",
    invariant="order, sign; normalised: one scale for all",
    trust="normalised",
    report="to compare with papers",
    seconds=lambda size, settings: 3e-10 * size.rows * size.codes ** 2 + 1e-9 * size.codes ** 3,
)  # fmt: skip
