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
