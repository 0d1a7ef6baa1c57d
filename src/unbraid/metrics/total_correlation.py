"""Total correlation of a Gaussian fit to the codes (assumptions, section 5.2 and appendix B)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, as_codes


def total_correlation(codes: Any, *, epsilon: float = 1e-5, rng: Rng = None) -> Scores:
    """½(Σ log C_ii - log det C) in nats, with `epsilon` added to the diagonal of the covariance C of the codes.

    At least 0; 0 where the codes are uncorrelated, not only where they are independent. Codes are means or samples,
    as given. Unchanged by permuting and flipping, and but for `epsilon` by scaling.
    """
    table = as_codes(codes)
    covariance = np.atleast_2d(np.cov(table, rowvar=False)) + epsilon * np.eye(table.shape[1])
    log_det = np.linalg.slogdet(covariance)[1]
    return Scores({"total_correlation": max(0.0, 0.5 * (np.log(np.diag(covariance)).sum() - log_det))})
