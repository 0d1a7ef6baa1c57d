"""Explicitness (Ridgeway & Mozer 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Pair, Rng, Scores, split, standardise
from unbraid.metrics.declaration import Metric


def explicitness(
    codes: Any, factors: Any, *, test: Pair | None = None, one_vs_rest: bool = False, rng: Rng = None
) -> Scores:
    """The mean ROC-AUC on the test set of a logistic regression from all codes to each value of each factor.

    Range [0, 1], 0.5 for uninformative codes. The mean is over the values of a factor, then over factors. A value
    absent from the test set is left out; a factor with a single value counts 0.5. One regression is fitted per factor
    (multinomial, the default of scikit-learn today), or with `one_vs_rest` one per value (assumptions, appendix B, and
    older scikit-learn). Continuous factors are refused.

    `arrays`: `per_factor` (k,).
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.multiclass import OneVsRestClassifier

    remedy = "explicitness ranks classes: use infomec, which reads such a factor by linear regression (infoe)"
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng, remedy)
    train_codes, test_codes = standardise(train_codes, test_codes)
    per_factor = np.full(train_factors.shape[1], 0.5)
    for column in range(train_factors.shape[1]):
        target, truth = train_factors[:, column], test_factors[:, column]
        if np.ptp(target) == 0:
            continue
        model = (OneVsRestClassifier(LogisticRegression()) if one_vs_rest else LogisticRegression()).fit(
            train_codes, target
        )
        likely = model.predict_proba(test_codes)
        areas = [
            roc_auc_score(truth == value, likely[:, index])
            for index, value in enumerate(model.classes_)
            if 0 < np.sum(truth == value) < len(truth)
        ]
        per_factor[column] = np.mean(areas) if areas else 0.5
    return Scores({"explicitness": per_factor.mean()}, per_factor=per_factor)


DECLARED = Metric(
    explicitness, "split",
    asks="can the values of factors be read linearly?",
    range="0 to 1",
    better="higher",
    noise="0.5",
    perfect="1",
    invariant="order, sign, scale, nearly rotation",
    trust="with more rows than codes",
    report="beside a score of disentanglement",
    seconds=lambda size, settings: 4e-8 * size.rows * (size.codes + 10) * size.values,
    axes={"per_factor": "f"},
    refits=True,
)  # fmt: skip
