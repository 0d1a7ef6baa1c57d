"""The BetaVAE score (Higgins et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, Rng, Scores, generator, paired
from unbraid.metrics._interventions import Interventions, need_points
from unbraid.metrics.declaration import Metric

_AT_ONCE = 500  # points drawn together, to bound memory


def beta_vae_score(
    codes: Any,
    factors: Any,
    *,
    batch: int = 64,
    train_points: int = 10_000,
    test_points: int = 5_000,
    one_value: bool = False,
    rng: Rng = None,
) -> Scores:
    """Accuracy of predicting which factor two batches share from the mean absolute difference of their codes.

    Each point is made from `batch` pairs of rows. A factor is drawn for the point; the rows of a pair share its value
    and are random otherwise. A logistic regression predicts the factor. Each pair draws its own value, as in the
    reference code, or with `one_value` all pairs of a point share one value (assumptions, appendix B). Range [0, 1],
    1/k for uninformative codes. The score does not require one code per factor: rotated codes can score 1. Pairs are
    drawn from the given rows. With a single factor the score is 1. Continuous factors are refused.
    """
    from sklearn.linear_model import LogisticRegression

    need_points(batch=batch, train_points=train_points, test_points=test_points)
    remedy = "beta_vae_score draws rows that share a value: use irs, which bins such a factor"
    table, labels = paired(codes, factors, remedy)
    if labels.shape[1] == 1:
        return Scores({"beta_vae_score": 1.0})
    rng = generator(rng)
    rows = Interventions(labels)
    points, fixed = _points(rng, table, rows, batch, train_points + test_points, one_value)
    model = LogisticRegression(max_iter=100).fit(points[:train_points], fixed[:train_points])
    accuracy = np.mean(model.predict(points[train_points:]) == fixed[train_points:])
    return Scores({"beta_vae_score": accuracy})


def _points(
    rng: np.random.Generator, codes: Array, rows: Interventions, batch: int, count: int, one_value: bool
) -> tuple[Array, Array]:
    """Features (count, d) and the fixed factor (count,)."""
    fixed = rng.integers(rows.labels.shape[1], size=count)
    points = np.empty((count, codes.shape[1]))
    for column in range(rows.labels.shape[1]):
        where = np.flatnonzero(fixed == column)
        for start in range(0, len(where), _AT_ONCE):
            part = where[start : start + _AT_ONCE]
            values = rng.integers(rows.values[column], size=(len(part), 1 if one_value else batch))
            values = np.broadcast_to(values, (len(part), batch))
            first = rows.same_value(rng, column, values)
            second = rows.same_value(rng, column, values)
            points[part] = np.abs(codes[first] - codes[second]).mean(1)
    return points, fixed


DECLARED = Metric(
    beta_vae_score, "all",
    asks="do differences of codes name the factor that two images share?",
    range="0 to 1",
    better="higher",
    noise="1 / factors",
    perfect="1",
    invariant="order, sign",
    trust="little: rotated codes can score 1",
    report="to compare with papers",
    seconds=lambda size, settings: 3e-6 * size.codes * settings.get("train_points", 10_000),
    refits=True,
)  # fmt: skip
