from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.path import Path as Polygon

from unbraid.data import load
from unbraid.data.sets.dsprites import DSprites, outlines
from unbraid.errors import InputError


def test_the_266_published_images_bit_for_bit(shared: Callable[[str], Path]) -> None:
    published = np.load(shared("data/dsprites_real.npz"), allow_pickle=False)
    drawn = load("dsprites").images(published["factors"].astype(np.int64))[:, 0].numpy()
    exact = (drawn == 255 * published["images"]).all(axis=(1, 2))
    assert exact.sum() == len(exact) == 266


def test_size_and_order() -> None:
    data = load("dsprites")
    assert (len(data), data.image_shape) == (737_280, (1, 64, 64))
    assert data.factors_at([1, 32, 1024, 40 * 1024]).tolist() == [
        [0, 0, 0, 0, 1],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 1, 0, 0, 0],
    ]
    assert set(data.sample(100, 0)[0].unique().tolist()) == {0, 255}


@pytest.mark.parametrize("resolution", [32, 64, 30])
def test_filling_agrees_with_a_polygon_test_per_pixel(resolution: int) -> None:
    data = DSprites(resolution)
    _, factors = data.sample(20, 3)
    images = data.images(factors)[:, 0].numpy()
    zoom = resolution / 64
    centre = np.arange(resolution) + 0.5
    points = np.stack(np.meshgrid(centre, centre), axis=-1).reshape(-1, 2)
    for image, (shape, scale, orientation, x, y) in zip(images, factors.tolist(), strict=True):
        angle = -2 * np.pi * orientation / 39
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        corners = (0.5 + 0.1 * scale) * outlines()[shape] @ turn.T + 16 + 32 * np.array([x, y]) / 31
        inside = Polygon(zoom * corners).contains_points(points).reshape(resolution, resolution)
        assert (inside != (image == 255)).sum() <= 2  # vertices snap to 1/256 pixel: a pixel on the edge may differ


def test_the_last_orientation_draws_as_the_first() -> None:
    data = load("dsprites")
    _, factors = data.sample(200, 0)
    first, last = factors.clone(), factors.clone()
    first[:, 2], last[:, 2] = 0, 39
    assert torch.equal(data.images(first), data.images(last))


@pytest.mark.parametrize("resolution", [3, 257, 64.0, True, "64"])
def test_resolution_out_of_range(resolution: object) -> None:
    with pytest.raises(InputError, match=r"resolution is .*; expected a whole number"):
        load("dsprites", resolution)  # type: ignore[arg-type]
