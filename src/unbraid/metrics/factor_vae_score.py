"""The FactorVAE score (Kim & Mnih 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, Rng, Scores, generator, paired
from unbraid.metrics._interventions import Interventions, need_points
from unbraid.metrics.declaration import Metric

_AT_ONCE = 500  # batches drawn together, to bound memory


def factor_vae_score(
    codes: Any,
    factors: Any,
    *,
    batch: int = 64,
    train_points: int = 10_000,
    test_points: int = 5_000,
    threshold: float = 0.05,
    rng: Rng = None,
) -> Scores:
    """Accuracy of a majority vote that names the fixed factor of a batch from the code that varies least in it.

    All `batch` rows of a batch share one factor's value. Each code's variance in the batch is divided by its variance
    over all rows; the code with the smallest ratio votes for the factor. Codes with a standard deviation below
    `threshold` are dropped; if all are, the score is 0. Range [0, 1]: 1 if each factor has a code that is constant
    while the factor is fixed, near 1/k for noise. Continuous factors are refused.

    `arrays`: `votes` (d, k) in the training batches.
    """
    need_points(batch=batch, train_points=train_points, test_points=test_points)
    remedy = "factor_vae_score draws rows that share a value: use irs, which bins such a factor"
    table, labels = paired(codes, factors, remedy)
    rng = generator(rng)
    variances = table.var(0, ddof=1) if len(table) > 1 else np.zeros(table.shape[1])
    active = np.flatnonzero(np.sqrt(variances) >= threshold)
    votes = np.zeros((table.shape[1], labels.shape[1]), np.int64)
    if not len(active):
        return Scores({"factor_vae_score": 0.0}, votes=votes)
    scaled = table[:, active] / np.sqrt(variances[active])
    rows = Interventions(labels)
    code, fixed = _votes(rng, scaled, rows, batch, train_points + test_points)
    counted = np.zeros((len(active), labels.shape[1]), np.int64)
    np.add.at(counted, (code[:train_points], fixed[:train_points]), 1)
    classifier = counted.argmax(1)
    votes[active] = counted
    accuracy = np.mean(classifier[code[train_points:]] == fixed[train_points:])
    return Scores({"factor_vae_score": accuracy}, votes=votes)


def _votes(rng: np.random.Generator, scaled: Array, rows: Interventions, batch: int, count: int) -> tuple[Array, Array]:
    """The code of least variance (count,) and the fixed factor (count,) of `count` batches."""
    fixed = rng.integers(rows.labels.shape[1], size=count)
    code = np.empty(count, np.int64)
    for column in range(rows.labels.shape[1]):
        where = np.flatnonzero(fixed == column)
        for start in range(0, len(where), _AT_ONCE):
            part = where[start : start + _AT_ONCE]
            values = rng.integers(rows.values[column], size=(len(part), 1))
            drawn = rows.same_value(rng, column, np.broadcast_to(values, (len(part), batch)))
            code[part] = scaled[drawn].var(1).argmin(1)
    return code, fixed


DECLARED = Metric(
    factor_vae_score, "all",
    asks="does the code that varies least name the factor that is fixed?",
    range="0 to 1",
    better="higher",
    noise="1 / factors",
    perfect="1",
    invariant="order, sign, scale above the threshold",
    trust="with many rows for each value",
    report="to compare with papers",
    seconds=lambda size, settings: 3e-6 * size.codes * settings.get("train_points", 10_000),
    axes={"votes": "cf"},
)  # fmt: skip
