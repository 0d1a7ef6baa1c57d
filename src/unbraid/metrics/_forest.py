"""Random forest regression as `dci` fits it, of a given depth or the best by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics._arrays import Array, r2
from unbraid.metrics._boosting import compute_threads

TREES = 100  # scikit-learn's default
DEPTHS = range(2, 16)  # and FOLDS, both as in InfoGAN-CR's code, which intervention follows
FOLDS = 3
SEARCHED = 20  # trees a fold: all of them take four times as long and find depths at most 2 away, where R² is flat


def forest(codes: Array, target: Array, test: Array, seed: int, depth: int | str | None) -> tuple[Array, Array, Array]:
    """Importances (d,), predictions for test and for training, by scikit-learn's forest with its default settings."""
    if depth == "cv":
        depth = best_depth(codes, target, seed)
    model = _fitted(codes, target, seed, depth, TREES)
    return model.feature_importances_, model.predict(test), model.predict(codes)


def best_depth(codes: Array, target: Array, seed: int) -> int:
    """The depth from 2 to 15 whose R² is highest on average over three folds; of equally good ones the least.

    How a node is split does not depend on how deep its tree may grow, so a tree cut off at a depth is one grown to that
    depth: one forest a fold serves all depths.
    """
    if len(codes) < FOLDS:
        return DEPTHS[0]
    fold = np.random.default_rng(seed).permutation(len(codes)) % FOLDS
    found = np.zeros(len(DEPTHS))
    for held in range(FOLDS):
        rest, truth = fold != held, target[fold == held]
        model = _fitted(codes[rest], target[rest], seed, DEPTHS[-1], SEARCHED)
        inputs = codes[~rest].astype(np.float32)  # as trees read them
        predicted = np.mean([_by_depth(tree.tree_, inputs) for tree in model.estimators_], axis=0)
        found += [r2(truth, row) for row in predicted]
    return DEPTHS[int(found.argmax())]


def _fitted(codes: Array, target: Array, seed: int, depth: Any, trees: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(trees, max_depth=depth, random_state=seed, n_jobs=compute_threads())
    return model.fit(codes, target)


def _by_depth(tree: Any, inputs: Array) -> Array:
    """What a tree predicts when it is cut off at each of the depths: (depths, n)."""
    node, rows = np.zeros(len(inputs), np.intp), np.arange(len(inputs))
    found = []
    for depth in range(1, DEPTHS[-1] + 1):
        left = inputs[rows, np.maximum(tree.feature[node], 0)] <= tree.threshold[node]  # a leaf's feature is -2
        below = np.where(left, tree.children_left[node], tree.children_right[node])
        node = np.where(below < 0, node, below)  # a leaf has no children
        if depth in DEPTHS:
            found.append(tree.value[node, 0, 0])
    return np.asarray(found)
