"""Rotations with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from unbraid.metrics import probes
from unbraid.studies.contrastive.rotations import ROTATIONS, Array, by_dependence, by_labels, ica, varimax_turn


def sources(seed: int = 0, rows: int = 4000) -> Array:
    return np.random.default_rng(seed).laplace(size=(rows, 4))


def test_ica_finds_independent_sources() -> None:
    hidden = sources()
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    turn = ica(hidden @ mixing)
    fresh = sources(2)
    found = np.abs(np.corrcoef(turn(fresh @ mixing).T, fresh.T)[:4, 4:])
    assert (found.max(0) > 0.99).all()
    assert sorted(found.argmax(0)) == [0, 1, 2, 3]  # each its own


def test_directions_without_variance_are_left_out() -> None:
    codes = sources() @ np.random.default_rng(1).normal(size=(4, 7))  # of rank 4
    for name in ("ICA", "varimax"):
        turned = ROTATIONS[name](codes)(codes)
        assert turned.shape == (4000, 4)
        assert np.cov(turned.T) == pytest.approx(np.eye(4), abs=0.02)


def test_varimax_finds_the_axes_of_sparse_loadings() -> None:
    loadings = np.kron(np.eye(3), np.ones((4, 1))) * np.linspace(1, 2, 12)[:, None]
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    turn = varimax_turn(loadings @ rotation)
    assert turn @ turn.T == pytest.approx(np.eye(3))
    found = np.abs(loadings @ rotation @ turn)
    assert np.sort(found, axis=1)[:, :2] == pytest.approx(np.zeros((12, 2)), abs=1e-4)


def grouped(rows: int = 6000) -> tuple[Array, Array]:
    """Two factors of ten values, each a point in a space of its own of four dimensions, with little noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 10, (rows, 2))
    points = rng.normal(size=(2, 10, 4))
    codes = np.concatenate([points[k][factors[:, k]] for k in range(2)], 1)
    return codes + 0.05 * rng.normal(size=codes.shape), factors


def test_dimensions_that_depend_on_each_other_stay_together() -> None:
    codes, factors = grouped()
    mixed = codes[:, [0, 4, 1, 5, 2, 6, 3, 7]]
    assert by_dependence(mixed) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert by_labels(mixed, factors) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert by_labels(mixed[:, [1, 0]], factors) == [[1], [0]]


def test_no_group_is_empty() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (2000, 2))
    codes = factors[:, :1] + 0.1 * rng.normal(size=(2000, 3))  # all of the first factor
    groups = by_labels(codes, factors)
    assert sorted(map(len, groups)) == [1, 2]
    assert sorted(place for group in groups for place in group) == [0, 1, 2]
    halves = by_dependence(np.zeros((50, 4)))
    assert sorted(place for half in halves for place in half) == [0, 1, 2, 3]


def test_ica_and_groups_undo_a_rotation() -> None:
    """Codes whose halves tell both factors are set apart again, on rows that the rotation has not seen."""
    codes, factors = grouped()
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))
    mixed = codes @ rotation
    before = probes(mixed[:3000], factors[:3000], test=(mixed[3000:], factors[3000:]))
    turn = ica(mixed[:3000])
    train, test = turn(mixed[:3000]), turn(mixed[3000:])
    after = probes(
        train, factors[:3000], test=(test, factors[3000:]), groups=by_labels(train, factors[:3000])
    )  # fmt: skip
    assert before["r"] == after["r"] == 1
    assert after["gap"] > before["gap"] + 0.3
    assert after["diagonal"] == 1
