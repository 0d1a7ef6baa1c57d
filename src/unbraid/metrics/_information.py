"""Discrete information: histograms of codes, entropies, mutual information of all pairs at once."""

from __future__ import annotations

import numpy as np

from unbraid.metrics._arrays import Array


def discretise(codes: Array, bins: int = 20) -> Array:
    """Each column in `bins` bins of equal width over its range: int64 (n, d), 0 to bins - 1. A constant is one bin."""
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

    One count over the joint values of all pairs serves them all.
    """
    a, sizes_a = relabel(a)
    b, sizes_b = relabel(b)
    rows, width, height = len(a), int(sizes_a.max()), int(sizes_b.max())
    pairs = a.shape[1] * b.shape[1]
    offsets = np.arange(pairs).reshape(a.shape[1], b.shape[1]) * (width * height)
    cells = a[:, :, None] * height + b[:, None, :] + offsets
    joint = np.bincount(cells.ravel(), minlength=pairs * width * height).reshape(pairs, width, height) / rows
    left, right = joint.sum(2, keepdims=True), joint.sum(1, keepdims=True)
    seen = joint > 0
    terms = np.zeros_like(joint)
    terms[seen] = joint[seen] * (np.log(joint[seen]) - np.log((left * right)[seen]))
    found: Array = terms.sum((1, 2)).clip(0).reshape(a.shape[1], b.shape[1])
    return found


def nearest_information(codes: Array, labels: Array, neighbours: int) -> Array:
    """I(z_i; v_j) in nats of continuous codes and integer labels by nearest neighbours (Ross 2014): (d, k).

    ψ(n) + ⟨ψ(k)⟩ - ⟨ψ(n_v)⟩ - ⟨ψ(m)⟩: n_v rows share the label, m rows are nearer than the k-th neighbour among them.
    Where that neighbour is at distance 0, k and m count the equal rows with that label and in all (Gao et al. 2017):
    codes of few values need no noise. Rows that are alone with their label tell nothing and are left out, as
    scikit-learn does; negative estimates are 0.
    """
    from scipy.special import digamma

    found = np.zeros((codes.shape[1], labels.shape[1]))
    for column in range(labels.shape[1]):
        _, label, counts = np.unique(labels[:, column], return_inverse=True, return_counts=True)
        kept = counts[label] > 1
        if not kept.any():
            continue
        for code in range(codes.shape[1]):
            z, v = codes[kept, code], label[kept]
            within, radius = np.empty(len(z)), np.empty(len(z))
            for value in np.unique(v):
                rows = np.flatnonzero(v == value)
                within[rows], radius[rows] = _neighbourhood(z[rows], min(neighbours, len(rows) - 1))
            ordered = np.sort(z)
            low = np.where(radius > 0, np.nextafter(z - radius, np.inf), z)
            high = np.where(radius > 0, np.nextafter(z + radius, -np.inf), z)
            around = np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left")
            terms = digamma(len(z)) + digamma(within) - digamma(counts[v]) - digamma(np.maximum(around, 1))
            found[code, column] = max(0.0, float(terms.mean()))
    return found


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
