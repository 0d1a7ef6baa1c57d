"""The number of factors that the codes retrieve (multitask, appendix I)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Rng, Scores, paired
from unbraid.metrics._classes import checked_classes, correlation_ratio
from unbraid.metrics.declaration import Metric


def retrieved_factors(
    codes: Any,
    factors: Any,
    *,
    level: float = 0.05,
    bonferroni: bool = False,
    categorical: Sequence[int] = (),
    rng: Rng = None,
) -> Scores:
    """How many factors some code follows: each code is matched to its most correlated factor, if significant.

    Correlations are Spearman's. `retrieved` is the number of different factors matched, `fraction` its share of all
    factors. `mean`, `std`, `min` and `max` describe the codes' largest absolute correlations, 0 for a code without a
    match. `retrieved` is at most the smaller of the numbers of codes and factors; the other scores are in [0, 1]. One
    code per factor, increasing or decreasing, retrieves all factors with correlations 1. Noise retrieves some by
    chance: with 5 factors, about one code in four matches at the paper's `level`. `bonferroni` divides the level by the
    number of pairs. Invariant to permuting and flipping codes and to any increasing map of them. Factors may be
    continuous. For the `categorical` ones, whose numbers have no order, the correlation is the root of the share of the
    variance of a code's ranks between classes, and its significance that of Kruskal and Wallis. Constant codes and
    factors with a single value match nothing, and neither do fewer than 3 rows.

    `arrays`: `correlation` (d, k), `p_value` (d, k), `match` (d,): the factor of each code, or -1.
    """
    if not 0 < level <= 1:
        raise InputError(f"level is {level}; expected a number between 0 and 1, such as 0.05")
    table, labels = paired(codes, factors)
    correlation = _spearman(table, labels)
    p_value = _p_value(correlation, len(table))
    for column in checked_classes(categorical, labels):
        correlation[:, column], p_value[:, column] = _by_classes(table, labels[:, column])
    limit = level / correlation.size if bonferroni else level
    strength = np.where(p_value < limit, np.abs(correlation), 0.0)
    largest = strength.max(1)
    match = np.where(largest > 0, strength.argmax(1), -1)
    retrieved = len(set(match[match >= 0].tolist()))
    scores = {
        "retrieved": retrieved,
        "fraction": retrieved / labels.shape[1],
        "mean": largest.mean(),
        "std": largest.std(),
        "min": largest.min(),
        "max": largest.max(),
    }
    return Scores(scores, correlation=correlation, p_value=p_value, match=match)


def _spearman(a: Array, b: Array) -> Array:
    """Spearman correlations of all pairs of columns, (d, k); 0 if a column is constant."""
    from scipy.stats import rankdata

    ranks = []
    for columns in (a, b):
        centred = rankdata(columns, axis=0) - (len(columns) + 1) / 2
        length = np.sqrt((centred**2).sum(0))
        ranks.append(np.divide(centred, length, out=np.zeros_like(centred), where=length > 0))
    return np.asarray((ranks[0].T @ ranks[1]).clip(-1, 1))


def _by_classes(codes: Array, target: Array) -> tuple[Array, Array]:
    """The root of η² of the ranks of each code (d,), and the p-values of the Kruskal-Wallis test, H = (n - 1) η²."""
    from scipy.stats import chi2, rankdata

    values = len(np.unique(target))
    share = correlation_ratio(rankdata(codes, axis=0), target)
    if values < 2 or len(codes) < 3:
        return np.zeros_like(share), np.ones_like(share)
    return np.sqrt(share), np.asarray(chi2.sf((len(codes) - 1) * share, values - 1))


def _p_value(correlation: Array, n: int) -> Array:
    """Two-sided p-values by Student's t with n - 2 degrees of freedom, as in SciPy's `spearmanr`."""
    from scipy.stats import t as student

    if n < 3:
        return np.ones_like(correlation)
    with np.errstate(divide="ignore"):
        t = correlation * np.sqrt((n - 2) / ((1 - correlation) * (1 + correlation)))
    return np.asarray(2 * student.sf(np.abs(t), n - 2))


DECLARED = Metric(
    retrieved_factors, "train",
    asks="how many factors does some code follow?",
    range="0 to the number of factors",
    better="higher",
    noise="some by chance; 0 with `bonferroni`",
    perfect="all",
    invariant="order, sign, any increasing map",
    trust="with `bonferroni`",
    report="for counts",
    seconds=lambda size, settings: 1.5e-7 * size.rows * (size.codes + size.factors),
    axes={"correlation": "cf", "p_value": "cf", "match": "c"},
)  # fmt: skip
