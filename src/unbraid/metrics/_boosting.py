"""Boosted trees, as `dci` and `downstream` fit them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array

_ROUNDS, _RATE, _DEPTH, _LEAVES = 100, 0.1, 3, 8
_BINS = 1023  # 255 are a fifth faster, and on fine mixtures of factors up to 0.04 less accurate
_ORDERS = 3  # orders of the codes, each with its reverse
_SETTINGS: dict[str, Any] = {
    "objective": "none",
    "learning_rate": 1.0,  # leaves are set here
    "max_depth": _DEPTH,
    "num_leaves": _LEAVES,
    "min_data_in_leaf": 1,
    "min_sum_hessian_in_leaf": 0.5,
    "max_bin": 2 * _BINS,  # codes come binned
    "min_data_in_bin": 1,
    "feature_pre_filter": False,
    "boost_from_average": False,
    "use_missing": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


def compute_threads() -> int:
    """How many boosters to fit at once: what OMP_NUM_THREADS allows, or the processors there are."""
    allowed = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if allowed.isdigit() and int(allowed) > 0:
        return int(allowed)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gbt(codes: Array, target: Array, test: Array, seed: int) -> tuple[Array, Array, Array]:
    """scikit-learn's GradientBoostingClassifier on histograms: importances (d,), predictions for test and for training.

    LightGBM finds the splits and this sets the leaves, because scikit-learn counts variance (a hessian of 1) for the
    one and takes Newton steps for the other. LightGBM's own objectives take hessians for both, and a factor's accuracy
    then comes out up to 0.10 away. Importance is the decrease in variance.

    Where codes split equally well LightGBM takes the first and scikit-learn any, so that copies of a code share the
    importance. Rounds here take turns with random orders of the codes, each followed by its reverse: of two copies,
    either is first as often.
    """
    edges, rows = [_edges(column) for column in codes.T], len(codes)
    binned = _binned(np.concatenate([codes, test]), edges)  # all rows go down the trees, those of `codes` decide them
    values, labels = np.unique(target, return_inverse=True)
    truth = np.eye(len(values))[labels]
    share = truth.mean(0)
    if not np.ptp(binned[:rows], axis=0).any():
        common = values[share.argmax()]
        return np.zeros(codes.shape[1]), np.full(len(test), common), np.full(rows, common)
    if len(values) == 2:  # one tree a round
        truth, scale, start = truth[:, 1:], 1.0, np.log(share[1:] / share[:1])
    else:
        scale, start = 1 - 1 / len(values), np.log(share)
    rng, trees = np.random.default_rng(seed), truth.shape[1]
    drawn = [rng.permutation(codes.shape[1]) for _ in range(_ORDERS)]
    finders = [_Finder(binned, rows, order, trees) for one in drawn for order in (one, one[::-1])]
    scores = np.tile(start, (rows, 1))
    for turn in range(_ROUNDS):
        likely = _probabilities(scores)
        residual = truth - likely
        finder = finders[turn % len(finders)]
        leaf = finder.grow(residual)
        if leaf is None:  # no code can be split any more
            break
        place = leaf[:rows].ravel()
        along = np.bincount(place, residual.ravel(), _LEAVES * trees)
        curvature = np.bincount(place, (likely * (1 - likely)).ravel(), _LEAVES * trees)
        steps = _RATE * scale * np.divide(along, curvature, out=np.zeros_like(along), where=curvature > 1e-150)
        scores += steps[leaf[:rows]]
        finder.found += steps[leaf[rows:]]
    gain = np.sum([finder.gain() for finder in finders], axis=0)
    found = start + np.sum([finder.found for finder in finders], axis=0)
    return gain / max(gain.sum(), 1e-300), values[_chosen(found)], values[_chosen(scores)]


def _chosen(scores: Array) -> Array:
    """The class of each row, by its number."""
    return np.asarray((scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1))


def _edges(column: Array) -> Array:
    """Where to cut a code: between all its values, or at the widest gap among each `_BINS`th of the points.

    At gaps, because a cut that falls among the points of one factor value would spoil a code that separates it.
    """
    values, counts = np.unique(column, return_counts=True)
    middle: Array = (values[1:] + values[:-1]) / 2
    if len(values) <= _BINS:
        return middle
    part = np.cumsum(counts)[:-1] * (_BINS - 1) // len(column)
    order = np.lexsort((np.diff(values), part))
    return np.asarray(middle[order[np.flatnonzero(np.diff(part[order], append=-1))]])


def _binned(codes: Array, edges: list[Array]) -> Array:
    columns = [np.searchsorted(cuts, column) for cuts, column in zip(edges, codes.T, strict=True)]
    return np.stack(columns, 1).astype(np.float64)


class _Finder:
    """LightGBM on the codes in one order, `trees` trees a round, that splits the residuals of `rows` by variance."""

    def __init__(self, codes: Array, rows: int, order: Array, trees: int) -> None:
        import lightgbm

        settings = {**_SETTINGS, "num_class": trees}
        self._order, self._trees, self._rounds = order, trees, 0
        self._codes = np.ascontiguousarray(codes[:, order])
        data = lightgbm.Dataset(self._codes[:rows], params=settings, free_raw_data=False)
        self._model = lightgbm.Booster(settings, data)
        self._ones = np.ones(rows) if trees == 1 else np.ones((rows, trees))
        self.found = np.zeros((len(codes) - rows, trees))
        """What its trees add to the scores of the rows that are not for training."""

    def grow(self, residual: Array) -> Array | None:
        """The leaf of each row of the codes in each tree of a new round, (n, trees), numbered over all trees."""
        along = -residual.reshape(self._ones.shape)  # LightGBM warns of a single column
        if self._model.update(fobj=lambda *_: (along, self._ones)):
            return None
        leaf = self._model.predict(self._codes, pred_leaf=True, start_iteration=self._rounds, num_iteration=1)
        self._rounds += 1
        found: Array = np.asarray(leaf).astype(np.intp).reshape(-1, self._trees) + _LEAVES * np.arange(self._trees)
        return found

    def gain(self) -> Array:
        found = np.empty(len(self._order))
        found[self._order] = self._model.feature_importance("gain")
        return found


def _probabilities(scores: Array) -> Array:
    if scores.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-scores)))
    likely = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(likely / likely.sum(1, keepdims=True))
