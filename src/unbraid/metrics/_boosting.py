"""Boosted trees for `dci` and `downstream`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array

_ROUNDS, _RATE, _DEPTH, _LEAVES = 100, 0.1, 3, 8
_BINS = 1023  # 255 are a fifth faster, but up to 0.04 less accurate on fine mixtures of factors
_ORDERS = 3  # orders of the codes, each with its reverse
_SETTINGS: dict[str, Any] = {
    "objective": "none",
    "learning_rate": 1.0,  # the values of the leaves are set here
    "max_depth": _DEPTH,
    "num_leaves": _LEAVES,
    "min_data_in_leaf": 1,
    "min_sum_hessian_in_leaf": 0.5,
    "max_bin": 2 * _BINS,  # codes are binned already
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
    """How many boosters to fit at once: OMP_NUM_THREADS, or the number of available processors."""
    allowed = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if allowed.isdigit() and int(allowed) > 0:
        return int(allowed)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gbt(codes: Array, target: Array, test: Array, seed: int) -> tuple[Array, Array, Array]:
    """Importances (d,), predictions for test and for training codes, as scikit-learn's GradientBoostingClassifier.

    LightGBM finds the splits, and the values of the leaves are set here, because scikit-learn splits by variance (a
    hessian of 1) but sets leaves by Newton steps. LightGBM's own objectives use hessians for both, which moves the
    accuracy of a factor by up to 0.10. Importance is the decrease in variance.

    Among equally good splits LightGBM chooses the first code and scikit-learn a random one, so that copies of a code
    share the importance. Here the rounds alternate between random orders of the codes, each followed by its reverse, so
    that each of two copies comes first equally often.
    """
    edges, rows = [_edges(column) for column in codes.T], len(codes)
    binned = _binned(np.concatenate([codes, test]), edges)  # trees are grown on the rows of `codes` and applied to all
    values, labels = np.unique(target, return_inverse=True)
    truth = np.eye(len(values))[labels]
    share = truth.mean(0)
    if not np.ptp(binned[:rows], axis=0).any():
        frequent = values[share.argmax()]
        return np.zeros(codes.shape[1]), np.full(len(test), frequent), np.full(rows, frequent)
    if len(values) == 2:  # one tree per round
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
        if leaf is None:  # nothing is left to split
            break
        grown = leaf[:rows].ravel()
        along = np.bincount(grown, residual.ravel(), _LEAVES * trees)
        curvature = np.bincount(grown, (likely * (1 - likely)).ravel(), _LEAVES * trees)
        steps = _RATE * scale * np.divide(along, curvature, out=np.zeros_like(along), where=curvature > 1e-150)
        scores += steps[leaf[:rows]]
        finder.unseen += steps[leaf[rows:]]
    gain = np.sum([finder.gain() for finder in finders], axis=0)
    unseen = start + np.sum([finder.unseen for finder in finders], axis=0)
    return gain / max(gain.sum(), 1e-300), values[_most_likely(unseen)], values[_most_likely(scores)]


def _most_likely(scores: Array) -> Array:
    """The number of each row's most likely class."""
    return np.asarray((scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1))


def _edges(column: Array) -> Array:
    """Where to cut a code: between all of its values, or at the widest gap within each 1/`_BINS` of the points.

    At gaps, because a cut among the points of one factor value would spoil a code that separates the values.
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
    """LightGBM on the codes in one order: `trees` trees per round, which split the residuals of `rows` by variance."""

    def __init__(self, codes: Array, rows: int, order: Array, trees: int) -> None:
        import lightgbm

        settings = {**_SETTINGS, "num_class": trees}
        self._order, self._trees, self._rounds = order, trees, 0
        self._codes = np.ascontiguousarray(codes[:, order])
        data = lightgbm.Dataset(self._codes[:rows], params=settings, free_raw_data=False)
        self._model = lightgbm.Booster(settings, data)
        self._ones = np.ones(rows) if trees == 1 else np.ones((rows, trees))
        self.unseen = np.zeros((len(codes) - rows, trees))
        """What its trees add to the scores of the test rows."""

    def grow(self, residual: Array) -> Array | None:
        """The leaf of each row in each tree of a new round, (n, trees), numbered across trees; None without a split."""
        along = -residual.reshape(self._ones.shape)  # LightGBM warns about a single column
        if self._model.update(fobj=lambda *_: (along, self._ones)):
            return None
        leaf = self._model.predict(self._codes, pred_leaf=True, start_iteration=self._rounds, num_iteration=1)
        self._rounds += 1
        return np.asarray(leaf).astype(np.intp).reshape(-1, self._trees) + _LEAVES * np.arange(self._trees)

    def gain(self) -> Array:
        """The decrease in variance by code (d,)."""
        gain = np.empty(len(self._order))
        gain[self._order] = self._model.feature_importance("gain")
        return gain


def _probabilities(scores: Array) -> Array:
    if scores.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-scores)))
    likely = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(likely / likely.sum(1, keepdims=True))
