"""Information of codes about factors, counted over values or estimated from nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, continuous, need_classes, paired

NEGLIGIBLE = 1e-12  # nats; less is rounding, and a ratio of roundings is not a score


def counted(metric: str, codes: Any, factors: Any, factor_bins: int | None) -> tuple[Array, Array]:
    """Codes and factors for a metric that counts values; `factor_bins` cuts continuous factors into bins."""
    table, labels = paired(codes, factors)
    if factor_bins is not None and factor_bins < 2:
        raise InputError(f"factor_bins is {factor_bins}; expected at least 2")
    cut = continuous(labels)
    if factor_bins is not None and cut.any():
        labels = labels.copy()
        labels[:, cut] = discretise(labels[:, cut], factor_bins)
    need_classes(labels, f"{metric} counts values: factor_bins=20 cuts it into 20 bins of equal width; or use infomec")
    return table, labels.astype(np.int64)


def discretise(codes: Array, bins: int = 20) -> Array:
    """Each column cut into `bins` bins of equal width: int64 (n, d), 0 to bins - 1. A constant column is all 0."""
    if bins < 1:
        raise InputError(f"bins is {bins}; expected at least 1")
    low, high = codes.min(0), codes.max(0)
    binned = np.empty(codes.shape, np.int64)
    for column in range(codes.shape[1]):
        edges = np.linspace(low[column], high[column], bins + 1)[:-1]
        binned[:, column] = np.searchsorted(edges, codes[:, column], side="right") - 1
    binned[:, low == high] = 0
    return binned


def relabel(columns: Array) -> tuple[Array, Array]:
    """Each column's values numbered 0, 1, … in increasing order (n, k), and their counts (k,)."""
    numbered = np.empty(columns.shape, np.int64)
    counts = np.empty(columns.shape[1], np.int64)
    for column in range(columns.shape[1]):
        values, numbered[:, column] = np.unique(columns[:, column], return_inverse=True)
        counts[column] = len(values)
    return numbered, counts


def entropy(labels: Array) -> Array:
    """The entropy of each column in nats: (n, k) -> (k,)."""
    entropies = np.empty(labels.shape[1])
    for column in range(labels.shape[1]):
        p = np.unique(labels[:, column], return_counts=True)[1] / len(labels)
        entropies[column] = -(p * np.log(p)).sum()
    return np.abs(entropies)  # not -0


def mutual_information(a: Array, b: Array) -> Array:
    """I(a_i; b_j) in nats for all pairs of integer columns: (n, d), (n, k) -> (d, k). Less than 1e-12 counts as 0.

    One column of a is counted against all of b at once. Counting all pairs at once would take tens of gigabytes for
    hundreds of codes.
    """
    a, sizes_a = relabel(a)
    b, sizes_b = relabel(b)
    information = np.empty((a.shape[1], b.shape[1]))
    height = int(sizes_b.max())
    for column, width in enumerate(sizes_a.tolist()):
        size = width * height
        cells = a[:, column, None] * height + b + np.arange(b.shape[1]) * size
        joint = np.bincount(cells.ravel(), minlength=b.shape[1] * size).reshape(-1, width, height) / len(a)
        left, right = joint.sum(2, keepdims=True), joint.sum(1, keepdims=True)
        seen = joint > 0
        terms = np.zeros_like(joint)
        terms[seen] = joint[seen] * (np.log(joint[seen]) - np.log((left * right)[seen]))
        information[column] = terms.sum((1, 2))
    return _without_rounding(information)


def _without_rounding(information: Array) -> Array:
    return np.where(information < NEGLIGIBLE, 0.0, information)


def nearest_information(codes: Array, factors: Array, neighbours: int) -> Array:
    """I(z_i; v_j) in nats of continuous codes and any factors, from nearest neighbours: (d, k). At least 0.

    Equal values are counted (Gao et al. 2017), so codes and factors with few values need no added noise.
    """
    information = np.zeros((codes.shape[1], factors.shape[1]))
    for column, regressed in enumerate(continuous(factors)):
        estimate = _of_continuous if regressed else _of_classes
        for code in range(codes.shape[1]):
            information[code, column] = estimate(codes[:, code], factors[:, column], neighbours)
    return _without_rounding(information)


def nearest_entropies(factors: Array, neighbours: int) -> Array:
    """The most a code can tell, (k,): the entropy of a factor of classes, the estimated I(v; v) of a continuous one."""
    entropies = entropy(factors)
    for column in np.flatnonzero(continuous(factors)):
        entropies[column] = _of_continuous(factors[:, column], factors[:, column], neighbours)
    return _without_rounding(entropies)


def _of_classes(z: Array, v: Array, neighbours: int) -> float:
    """Ross 2014: ψ(n) + ⟨ψ(k)⟩ - ⟨ψ(n_v)⟩ - ⟨ψ(m)⟩, where n_v rows share the label and m are nearer than its k-th.

    If the k-th neighbour is at distance 0, k counts the equal rows with that label and m all equal rows. A row whose
    label occurs once is left out, as in scikit-learn.
    """
    from scipy.special import digamma

    _, label, counts = np.unique(v, return_inverse=True, return_counts=True)
    kept = counts[label] > 1
    if not kept.any():
        return 0.0
    z, label = z[kept], label[kept]
    within, radius = np.empty(len(z)), np.empty(len(z))
    for value in np.unique(label):
        rows = np.flatnonzero(label == value)
        within[rows], radius[rows] = _neighbourhood(z[rows], min(neighbours, len(rows) - 1))
    around = np.maximum(_nearer(z, radius), 1)
    return float((digamma(len(z)) + digamma(within) - digamma(counts[label]) - digamma(around)).mean())


def _of_continuous(z: Array, v: Array, neighbours: int) -> float:
    """Kraskov et al. 2004: ψ(n) + ψ(k) - ⟨ψ(m_z)⟩ - ⟨ψ(m_v)⟩, where m rows are nearer than the k-th joint neighbour.

    Both variables are scaled to standard deviation 1. If the k-th neighbour is at distance 0, k and m count equal rows.
    """
    from scipy.spatial import KDTree
    from scipy.special import digamma

    if len(z) < 2 or np.ptp(z) == 0 or np.ptp(v) == 0:
        return 0.0
    z, v = z / z.std(), v / v.std()
    k = min(neighbours, len(z) - 1)
    both = np.stack([z, v], 1)
    tree = KDTree(both)
    radius = tree.query(both, [k + 1], p=np.inf)[0][:, 0]
    within = np.full(len(z), float(k))
    same = radius == 0
    if same.any():
        within[same] = tree.query_ball_point(both[same], 0.0, p=np.inf, return_length=True)
    terms = digamma(len(z)) + digamma(within) - digamma(_nearer(z, radius)) - digamma(_nearer(v, radius))
    return float(terms.mean())


def _nearer(z: Array, radius: Array) -> Array:
    """How many numbers, itself included, are nearer to each number than its radius; equal ones if the radius is 0."""
    ordered = np.sort(z)
    rounding = 4 * np.finfo(np.float64).eps * np.abs(ordered[[0, -1]]).max()  # of z ± radius: equally far is not nearer
    reach = radius - np.minimum(rounding, radius / 2)
    low, high = z - reach, z + reach
    return np.asarray(np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left"))


def _neighbourhood(z: Array, k: int) -> tuple[Array, Array]:
    """k, or how many numbers are equal if the distance is 0, and the distance to each number's k-th neighbour."""
    order = np.argsort(z, kind="stable")
    x = z[order]
    padded = np.concatenate([np.full(k, -np.inf), x, np.full(k, np.inf)])
    n = len(x)
    radius = np.full(n, np.inf)
    for left in range(k + 1):  # the k nearest are `left` numbers below and k - left above, for some left
        below, above = padded[k - left : k - left + n], padded[2 * k - left : 2 * k - left + n]
        radius = np.minimum(radius, np.maximum(x - below, above - x))
    equal = np.searchsorted(x, x, "right") - np.searchsorted(x, x, "left")
    within = np.where(radius > 0, k, equal)
    back = np.empty(n, np.int64)
    back[order] = np.arange(n)
    return within[back], radius[back]
