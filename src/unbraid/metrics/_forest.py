"""Random forest regression for `dci`, of a given depth or the best by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, r2
from unbraid.metrics._boosting import compute_threads

TREES = 100  # scikit-learn's default
DEPTHS = range(2, 16)  # DEPTHS and FOLDS as in the code of InfoGAN-CR, which intervention follows
FOLDS = 3
SEARCHED = 20  # trees per fold: 100 take four times as long and choose depths at most 2 away, where R² is flat


def forest(codes: Array, target: Array, test: Array, seed: int, depth: int | str | None) -> tuple[Array, Array, Array]:
    """Importances (d,), predictions for test and for training codes, by scikit-learn's forest at its defaults.

    The target may have several columns (n, t), which share the trees.
    """
    if depth == "cv":
        depth = best_depth(codes, target, seed)
    model = _fitted(codes, target, seed, depth, TREES)
    return model.feature_importances_, model.predict(test), model.predict(codes)


def best_depth(codes: Array, target: Array, seed: int) -> int:
    """The depth from 2 to 15 with the highest mean R² over three folds; the smallest of equally good ones.

    How a node is split does not depend on the maximum depth, so a tree cut off at a depth equals one grown to that
    depth. One forest per fold therefore serves all depths.
    """
    if len(codes) < FOLDS:
        return DEPTHS[0]
    fold = np.random.default_rng(seed).permutation(len(codes)) % FOLDS
    explained = np.zeros(len(DEPTHS))
    for unseen in range(FOLDS):
        rest, truth = fold != unseen, target[fold == unseen]
        model = _fitted(codes[rest], target[rest], seed, DEPTHS[-1], SEARCHED)
        inputs = codes[~rest].astype(np.float32)  # the type that trees compare in
        predicted = np.mean([_by_depth(tree.tree_, inputs) for tree in model.estimators_], axis=0)
        explained += [r2(truth, row) for row in predicted]
    return DEPTHS[int(explained.argmax())]


def _fitted(codes: Array, target: Array, seed: int, depth: Any, trees: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(trees, max_depth=depth, random_state=seed, n_jobs=compute_threads())
    return model.fit(codes, target)


def _by_depth(tree: Any, inputs: Array) -> Array:
    """Predictions of a tree cut off at each of the depths: (depths, n)."""
    node, rows = np.zeros(len(inputs), np.intp), np.arange(len(inputs))
    predictions = []
    for depth in range(1, DEPTHS[-1] + 1):
        left = inputs[rows, np.maximum(tree.feature[node], 0)] <= tree.threshold[node]  # a leaf's feature is -2
        below = np.where(left, tree.children_left[node], tree.children_right[node])
        node = np.where(below < 0, node, below)  # a leaf has no children
        if depth in DEPTHS:
            predictions.append(tree.value[node, :, 0] if tree.n_outputs > 1 else tree.value[node, 0, 0])
    return np.asarray(predictions)
