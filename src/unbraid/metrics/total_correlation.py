"""Total correlation of a Gaussian fitted to the codes (assumptions, section 5.2 and appendix B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.arguments import need_number
from unbraid.metrics._arrays import Rng, Scores, as_codes
from unbraid.metrics.declaration import Metric

SMALLEST = float(np.finfo(np.float64).eps)  # what rounding makes of an eigenvalue of 0, per code


def total_correlation(codes: Any, *, epsilon: float = 0.0, rng: Rng = None) -> Scores:
    """½(Σ log C_ii - log det C) in nats, for the covariance C of the codes plus `epsilon` on its diagonal.

    At least 0; 0 if the codes are uncorrelated, even if they are dependent. Codes are means or samples, as given.
    `epsilon` is 0 in the reference code and 1e-5 in the paper (footnote 3). Invariant to permuting and flipping codes
    and, for `epsilon` 0, to scaling them. Constant codes are ignored. Copies have an infinite total correlation, of
    which double precision leaves about 17 nats for each copy.
    """
    table, epsilon = as_codes(codes), need_number("epsilon", epsilon, 0)
    moving = table[:, np.ptp(table, axis=0) > 0]
    if moving.shape[1] < 2:
        return Scores({"total_correlation": 0.0})
    covariance = np.cov(moving, rowvar=False) + epsilon * np.eye(moving.shape[1])
    scale = np.sqrt(np.diag(covariance))
    eigenvalues = np.linalg.eigvalsh(covariance / scale / scale[:, None])  # of the correlations: their diagonal is 1
    log_det = np.log(eigenvalues.clip(SMALLEST * len(eigenvalues))).sum()
    return Scores({"total_correlation": max(0.0, -0.5 * log_det)})


DECLARED = Metric(
    total_correlation, "codes",
    asks="are codes uncorrelated?",
    range="at least 0",
    better="neither",
    noise="codes² / (4 rows)",
    perfect="0 for independent factors",
    invariant="order, sign, scale",
    trust="with many more rows than codes",
    report="of means and of samples",
    seconds=lambda size, settings: 3e-10 * size.rows * size.codes ** 2 + 1e-9 * size.codes ** 3,
)  # fmt: skip
