"""How informative the codes are about each other: their mean pairwise mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Rng, Scores, as_codes
from unbraid.metrics._information import discretise, mutual_information
from unbraid.metrics.declaration import Metric


def code_information(codes: Any, *, bins: int = 20, rng: Rng = None) -> Scores:
    """The mean of I(z_i; z_j) in nats over pairs of different codes (`mutual_info_score` in the reference code).

    At least 0. Near 0 if the codes are independent, but not 0: histograms overestimate information. A single code
    scores 0.

    `arrays`: `information` (d, d) with a diagonal of 0.
    """
    binned = discretise(as_codes(codes), bins)
    information = mutual_information(binned, binned)
    np.fill_diagonal(information, 0)
    pairs = len(information) * (len(information) - 1)
    return Scores({"code_information": information.sum() / max(pairs, 1)}, information=information)


DECLARED = Metric(
    code_information, "codes",
    asks="do codes share information?",
    range="at least 0",
    better="neither",
    noise="bins² / (2 rows)",
    perfect="0 for independent factors",
    invariant="order, sign, scale",
    trust="with many thousands of rows",
    report="to compare with papers",
    seconds=lambda size, settings: 2.5e-8 * size.rows * size.codes ** 2,
    axes={"information": "cc"},
)  # fmt: skip
