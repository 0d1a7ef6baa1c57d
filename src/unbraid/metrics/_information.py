"""Information of codes about factors: by counts of values, of all pairs at once, and by nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, continuous, need_classes, paired


def counted(metric: str, codes: Any, factors: Any, factor_bins: int | None) -> tuple[Array, Array]:
    """Codes and factors for a metric that counts the factors' values; continuous ones in bins, if it is asked for."""
    table, labels = paired(codes, factors)
    if factor_bins is not None and factor_bins < 2:
        raise InputError(f"factor_bins is {factor_bins}; expected at least 2")
    cut = continuous(labels)
    if factor_bins is not None and cut.any():
        labels = labels.copy()
        labels[:, cut] = discretise(labels[:, cut], factor_bins)
    need_classes(labels, f"{metric} counts values: factor_bins=20 cuts it into 20 bins of equal width; or take infomec")
    return table, labels.astype(np.int64)


def discretise(codes: Array, bins: int = 20) -> Array:
    """Each column in `bins` bins of equal width over its range: int64 (n, d), 0 to bins - 1. A constant is one bin."""
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
    """Each column's values numbered 0, 1, … in order, and how many there are: (n, k) and (k,)."""
    numbered = np.empty(columns.shape, np.int64)
    counts = np.empty(columns.shape[1], np.int64)
    for column in range(columns.shape[1]):
        values, numbered[:, column] = np.unique(columns[:, column], return_inverse=True)
        counts[column] = len(values)
    return numbered, counts


def entropy(labels: Array) -> Array:
    """The entropy of each column in nats: (n, k) -> (k,)."""
    found = np.empty(labels.shape[1])
    for column in range(labels.shape[1]):
        p = np.unique(labels[:, column], return_counts=True)[1] / len(labels)
        found[column] = -(p * np.log(p)).sum()
    return np.abs(found)  # no -0


def mutual_information(a: Array, b: Array) -> Array:
    """I(a_i; b_j) in nats of all pairs of integer columns: (n, d), (n, k) -> (d, k).

    One count over the joint values of a column of a and all of b serves them all; of all pairs at once, hundreds of
    codes would take tens of gigabytes.
    """
    a, sizes_a = relabel(a)
    b, sizes_b = relabel(b)
    found = np.empty((a.shape[1], b.shape[1]))
    height = int(sizes_b.max())
    for column, width in enumerate(sizes_a.tolist()):
        size = width * height
        cells = a[:, column, None] * height + b + np.arange(b.shape[1]) * size
        joint = np.bincount(cells.ravel(), minlength=b.shape[1] * size).reshape(-1, width, height) / len(a)
        left, right = joint.sum(2, keepdims=True), joint.sum(1, keepdims=True)
        seen = joint > 0
        terms = np.zeros_like(joint)
        terms[seen] = joint[seen] * (np.log(joint[seen]) - np.log((left * right)[seen]))
        found[column] = terms.sum((1, 2))
    return found.clip(0)


def nearest_information(codes: Array, factors: Array, neighbours: int) -> Array:
    """I(z_i; v_j) in nats of continuous codes and any factors by nearest neighbours: (d, k). Estimates are at least 0.

    Equal values are counted (Gao et al. 2017), so that codes and factors of few values need no noise.
    """
    found = np.zeros((codes.shape[1], factors.shape[1]))
    for column, moving in enumerate(continuous(factors)):
        for code in range(codes.shape[1]):
            information = _of_continuous if moving else _of_classes
            found[code, column] = max(0.0, information(codes[:, code], factors[:, column], neighbours))
    return found


def nearest_entropies(factors: Array, neighbours: int) -> Array:
    """What a code can tell at most, (k,): the entropy of classes, the estimated I(v; v) of continuous factors."""
    found = np.empty(factors.shape[1])
    for column, moving in enumerate(continuous(factors)):
        v = factors[:, column]
        found[column] = max(0.0, _of_continuous(v, v, neighbours)) if moving else entropy(v[:, None])[0]
    return found


def _of_classes(z: Array, v: Array, neighbours: int) -> float:
    """Ross 2014: ψ(n) + ⟨ψ(k)⟩ - ⟨ψ(n_v)⟩ - ⟨ψ(m)⟩: n_v rows share the label, m are nearer than the k-th among them.

    Where that neighbour is at distance 0, k and m count the equal rows with that label and in all. Rows that are alone
    with their label tell nothing and are left out, as scikit-learn does.
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
    """Kraskov et al. 2004: ψ(n) + ψ(k) - ⟨ψ(m_z)⟩ - ⟨ψ(m_v)⟩, m rows nearer than the k-th neighbour in both at once.

    Both are scaled to deviation 1. Where that neighbour is at distance 0, k and m count equal rows.
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
    """How many numbers, itself included, are nearer to each than its radius; where that is 0, how many equal it."""
    ordered = np.sort(z)
    rounding = 4 * np.finfo(np.float64).eps * np.abs(ordered[[0, -1]]).max()  # of z ± radius: as far is not nearer
    reach = radius - np.minimum(rounding, radius / 2)
    low, high = z - reach, z + reach
    return np.asarray(np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left"))


def _neighbourhood(z: Array, k: int) -> tuple[Array, Array]:
    """The distance to each number's k-th nearest other, and k, or where that is 0 how many numbers equal it."""
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
