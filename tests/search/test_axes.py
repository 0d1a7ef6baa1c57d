"""Axes along which latents are independent: found again, put into the weights of a model, and chosen by agreement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from unbraid import nets
from unbraid.methods import build
from unbraid.methods.config import Spec
from unbraid.methods.vae import VAE
from unbraid.runs.run import Run
from unbraid.search.axes import Axes, independent_axes, turned
from unbraid.search.shared_factors import Member, Model, agreement, along_shared_axes

RNG = np.random.default_rng(0)
SQUARE = RNG.uniform(-1, 1, (2000, 2))
TURN = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)


def test_a_square_that_was_turned_is_turned_back() -> None:
    idle = RNG.normal(0, 0.01, (2000, 1))
    codes = np.hstack([SQUARE @ TURN.T + [3.0, -1.0], idle])[:, [0, 2, 1]]
    logvar = np.log(np.tile([0.02, 1.0, 0.02], (2000, 1)))
    axes = independent_axes(codes, logvar, np.array([0, 2]))
    assert axes is not None
    found = axes.codes(codes)
    correlations = np.abs(np.corrcoef(SQUARE.T, found.T))[:2, 2:]
    assert np.sort(correlations.max(1)) == pytest.approx([1, 1], abs=2e-3)
    assert correlations.min(1).max() < 0.05
    assert found[:, 1] == pytest.approx(codes[:, 1])  # it says nothing, and stays
    assert found.mean(0)[[0, 2]] == pytest.approx([0, 0], abs=1e-6)
    spread = found.var(0) + np.exp(axes.logvar(logvar)).mean(0)
    assert spread[[0, 2]] == pytest.approx([1, 1], rel=0.01)  # as the prior has it
    for column in (0, 2):  # the number and the sign of the latent that is most like it
        assert np.corrcoef(found[:, column], codes[:, column])[0, 1] > 0.6


def test_log_variances_are_those_of_the_turned_gaussian_on_average() -> None:
    codes, logvar = SQUARE @ TURN.T, np.log(RNG.uniform(0.01, 0.5, (2000, 2)))
    axes = independent_axes(codes, logvar, np.array([0, 1]))
    assert axes is not None
    exact = np.log([np.diag(axes.matrix @ np.diag(row) @ axes.matrix.T) for row in np.exp(logvar)])
    assert axes.logvar(logvar).mean(0) == pytest.approx(exact.mean(0))


def test_where_axes_cannot_be_estimated_there_are_none() -> None:
    both = np.array([0, 1])
    assert independent_axes(SQUARE, np.zeros((2000, 2)), np.array([0])) is None
    assert independent_axes(SQUARE[:20], np.zeros((20, 2)), both) is None
    wide = RNG.normal(size=(60, 40))
    assert independent_axes(wide, np.zeros((60, 40)), np.arange(40)) is None
    constant = np.column_stack([SQUARE[:, 0], np.full(2000, 3.0)])
    assert independent_axes(constant, np.zeros((2000, 2)), both) is None
    for spoilt in (np.nan, np.inf):
        codes = SQUARE.copy()
        codes[7, 1] = spoilt
        assert independent_axes(codes, np.zeros((2000, 2)), both) is None
        assert independent_axes(SQUARE, np.where(np.arange(2) == 1, spoilt, np.zeros((2000, 2))), both) is None


@pytest.mark.parametrize("network", nets.PAIRS)
def test_a_turned_model_draws_the_same_pictures(network: str) -> None:
    side = 28 if "cmnist" in network else 64 if network.startswith("multitask") else 32
    torch.manual_seed(0)
    method = build("beta_tc_vae", Spec((1, side, side), 100), {"network": network, "latents": 3}).eval()
    assert isinstance(method, VAE)
    matrix = np.linalg.qr(RNG.normal(size=(3, 3)))[0] * [[1.0], [2.0], [0.5]]
    axes = Axes(matrix, RNG.normal(size=3), RNG.normal(size=3))
    other = turned(method, axes)
    assert other is not None
    images = torch.randint(0, 256, (4, 1, side, side), dtype=torch.uint8)
    with torch.inference_mode():
        before, after = method.encoding({"images": images}), other.encoding({"images": images})
        pictures = method.decode(before.codes), other.decode(after.codes)
    assert before.logvar is not None
    assert after.logvar is not None
    assert after.codes.numpy() == pytest.approx(axes.codes(before.codes.numpy()), abs=1e-4)
    assert after.logvar.numpy() == pytest.approx(axes.logvar(before.logvar.numpy()), abs=1e-4)
    assert pictures[0].numpy() == pytest.approx(pictures[1].numpy(), abs=1e-4)


def test_a_network_that_cannot_be_turned_is_left_alone() -> None:
    """Codes that go through something else before the first layer, or come out of something else than the last."""
    method = build("beta_tc_vae", Spec((1, 32, 32), 100), {"network": "patches", "latents": 3})
    assert isinstance(method, VAE)
    axes = Axes(np.linalg.qr(RNG.normal(size=(3, 3)))[0], np.zeros(3), np.zeros(3))
    decoder, encoder = method.decoder, method.encoder
    method.decoder = torch.nn.Sequential(torch.nn.Tanh(), decoder)
    assert turned(method, axes) is None
    method.decoder, method.encoder = decoder, torch.nn.Sequential(encoder, torch.nn.Tanh())
    assert turned(method, axes) is None
    method.encoder = encoder
    assert turned(method, axes) is not None


def model(codes: np.ndarray, seed: int, axes: Axes | None = None) -> Model:
    return Model(Member(4.0, seed), Run(Path("nowhere")), codes, np.full(codes.shape[1], 2.0), axes)


def test_axes_that_others_share_are_chosen() -> None:
    other = Axes(np.eye(2), np.zeros(2), np.zeros(2))
    angles = (0.3, 0.9, 1.3)
    turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    found = along_shared_axes(
        [[model(SQUARE @ turn, seed), model(SQUARE, seed, other)] for seed, turn in enumerate(turns)]
    )
    assert [one.axes for one in found] == [other] * 3
    assert agreement(found) == pytest.approx([2, 2, 2], abs=0.1)
    found = along_shared_axes(
        [[model(SQUARE, seed), model(SQUARE @ turn, seed, other)] for seed, turn in enumerate(turns)]
    )
    assert [one.axes for one in found] == [None] * 3


def test_axes_that_others_have_left_do_not_count() -> None:
    """The first would be turned to meet an axis of the second, which keeps its own for the sake of the third."""
    other = Axes(np.eye(2), np.zeros(2), np.zeros(2))
    turn = SQUARE @ TURN
    models = [
        [model(SQUARE @ TURN[:, ::-1] * [1.0, 0.3] + 0.3 * turn, 0), model(turn, 0, other)],
        [model(SQUARE, 1), model(turn, 1, other)],
        [model(SQUARE, 2)],
        [model(SQUARE, 3)],
    ]
    found = along_shared_axes(models)
    assert [one.axes for one in found[1:]] == [None] * 3
    for index, one in enumerate(found):  # no model would rather have others of its axes beside those
        others = found[:index] + found[index + 1 :]
        for candidate in models[index]:
            gain = agreement([candidate, *others])[0] - agreement([one, *others])[0]
            assert gain <= 0.1 + 1e-9


def test_a_model_by_itself_keeps_its_own_axes() -> None:
    axes = Axes(np.eye(2), np.zeros(2), np.zeros(2))
    assert along_shared_axes([[model(SQUARE, 0), model(SQUARE, 0, axes)]])[0].axes is None
    assert along_shared_axes([]) == []
