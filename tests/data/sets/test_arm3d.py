"""Arm3D at 16x16, drawn once into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from unbraid.data.sets import arm3d
from unbraid.data.sets.arm3d import Arm3D
from unbraid.errors import InputError

SIDE = 16


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm3D]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield Arm3D(SIDE)


def series(data: Arm3D, name: str, rows: int) -> torch.Tensor:
    """Images of random rows in which one factor takes all its values in turn: (rows, value, 3, H, W)."""
    column = data.column(name)
    values = data.sizes[column]
    factors = data.factors_at(data.sample_index(rows, 1)).repeat_interleave(values, 0)
    factors[:, column] = torch.arange(values).repeat(rows)
    return data.images(factors).unflatten(0, (rows, values))


def opacity(data: Arm3D) -> np.ndarray:
    """How much of each pixel of the picture the object covers: (camera, horizontal, vertical, shape, size, H, W)."""
    window = data._objects.shape[-1]
    patches = data._objects.reshape(3, 40, 40, 6, 2, 2, window, window)[..., 0, :, :]
    covers = np.zeros((*patches.shape[:5], SIDE, SIDE), np.uint8)
    for pose in np.ndindex(3, 40, 40):
        x, y = data._corners[pose]
        covers[pose][..., y : y + window, x : x + window] = patches[pose]
    return covers


@pytest.fixture(scope="module")
def covers(data: Arm3D) -> np.ndarray:
    return opacity(data)


def test_what_it_holds(data: Arm3D) -> None:
    images, factors = data.sample(5, 0)
    assert len(data) == 1_036_800
    assert len(data.names) == len(data.sizes) == 7
    assert images.shape == (5, *data.image_shape) == (5, 3, SIDE, SIDE)
    assert images.dtype == torch.uint8
    assert torch.equal(data.images(factors), images)
    assert data.images(torch.empty(0, 7, dtype=torch.int64)).shape == (0, 3, SIDE, SIDE)


@pytest.mark.parametrize("name", Arm3D.names)
def test_each_step_of_a_factor_shows(data: Arm3D, name: str) -> None:
    images = series(data, name, 100).int()
    change = (images[:, 1:] - images[:, :-1]).abs().flatten(2).amax(2)
    assert change.min() > 0
    assert change.float().quantile(0.02) >= 4  # and nearly always by more than rounding


def test_any_two_colours_and_shapes_differ(data: Arm3D) -> None:
    for name in ("object_color", "object_shape", "background_color", "camera_height"):
        images = series(data, name, 50)
        for i in range(images.shape[1]):
            for j in range(i):
                assert (images[:, i] != images[:, j]).flatten(1).any(1).all()


def test_colour_changes_the_object_only(data: Arm3D, covers: np.ndarray) -> None:
    factors = data.factors_at(data.sample_index(100, 1))
    images = series(data, "object_color", 100)  # of the same rows
    changed = (images != images[:, :1]).any(2).any(1).numpy()
    _, shape, size, camera, _, horizontal, vertical = factors.numpy().T
    covered = covers[camera, horizontal, vertical, shape, size]
    assert not changed[covered == 0].any()
    assert changed[covered > 128].all()


def test_background_changes_the_ring_only(data: Arm3D, covers: np.ndarray) -> None:
    factors = data.factors_at(data.sample_index(100, 1))
    images = series(data, "background_color", 100)
    changed = (images != images[:, :1]).any(2).any(1).numpy()
    _, shape, size, camera, _, horizontal, vertical = factors.numpy().T
    ring = (data._backdrops != data._backdrops[:, :1]).any(2).any(1)[camera]
    assert not changed[~ring].any()
    assert not changed[covers[camera, horizontal, vertical, shape, size] == 255].any()
    assert 0.02 < ring.mean() < 0.2


def test_the_object_stays_in_the_picture(data: Arm3D, covers: np.ndarray) -> None:
    edges = [covers[..., 0, :], covers[..., -1, :], covers[..., 0], covers[..., -1]]
    assert max(edge.max() for edge in edges) <= 170  # of three samples across an outermost pixel, the last is empty
    assert covers.max((-1, -2)).min() > 0  # nor does the post ever hide it


def test_the_window_holds_the_object(data: Arm3D) -> None:
    window = data._objects.shape[-1]
    patches = data._objects.reshape(3, 40, 40, 12, 2, window, window)[..., 0, :, :].max(3)
    x, y = np.moveaxis(data._corners, -1, 0)
    last = SIDE - window
    for edge, inside in (
        (patches[..., 0], x > 0), (patches[..., -1], x < last),
        (patches[..., 0, :], y > 0), (patches[..., -1, :], y < last),
    ):  # fmt: skip
        assert not edge[inside].any()


def test_large_is_larger_than_small(covers: np.ndarray) -> None:
    area = covers.sum((-1, -2), dtype=np.int64)
    assert (area[..., 1] > 1.4 * area[..., 0]).all()


def test_joints_turn_and_lift(covers: np.ndarray) -> None:
    balls = covers[:, :, :, 5, 1].astype(np.float64)
    middle = np.arange(SIDE) + 0.5
    x = (balls.sum(-2) * middle).sum(-1) / balls.sum((-1, -2))
    y = (balls.sum(-1) * middle).sum(-1) / balls.sum((-1, -2))
    assert (np.diff(x[:, 5:35, 10:], axis=1) > 0).all()
    assert (np.diff(y[:, :, 10:].mean(1), axis=1) < 0).all()


def test_an_image_does_not_depend_on_its_batch(data: Arm3D) -> None:
    images, factors = data.sample(300, 3)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    assert torch.equal(data.images(factors[order], rng=7), images[order])
    for i in (0, 127, 128, 299):  # around the edges of a step
        assert torch.equal(data.images(factors[i : i + 1])[0], images[i])


def test_drawing_again_gives_the_same(data: Arm3D) -> None:
    assert np.array_equal(next(arm3d._arms(SIDE))[0], data._arms[0])
    assert np.array_equal(next(arm3d._objects(SIDE))[0], data._objects[0])


@pytest.mark.parametrize("resolution", [7, 257, 32.0])
def test_bad_resolution(resolution: int) -> None:
    with pytest.raises(InputError, match=rf"resolution is {resolution}; .* 8 to 256"):
        Arm3D(resolution)
