"""Hues on a circle: their angle is the hue, whichever way round and wherever the latents begin; others stay."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from unbraid.search.circles import Circle, find_circles
from unbraid.search.colour_wheel import as_colour_wheel

RNG = np.random.default_rng(0)


def ring(turns: np.ndarray) -> np.ndarray:
    around = np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
    return np.asarray(0.05 * RNG.normal(size=(len(turns), 2)) + [2.0, 0.5] * around + [1.0, -1.0])


def raw(circle: Circle, turns: np.ndarray) -> np.ndarray:
    """The angle in the plane of columns 0 and 1, in turns."""
    across, up = ((circle.points(turns)[:, np.argsort(circle.columns)] - [1.0, -1.0]) / [2.0, 0.5]).T
    return np.asarray(np.arctan2(up, across) / (2 * np.pi) % 1)


def patches(hues: np.ndarray) -> np.ndarray:
    """Pictures of 4 x 4 pixels on grey, in which a corner has the hue: (m, 3, 4, 4)."""
    images = np.full((len(hues), 3, 4, 4), 0.8)
    images[:, :, :2, :2] = np.array([colorsys.hsv_to_rgb(hue % 1, 0.9, 0.9) for hue in hues])[:, :, None, None]
    images[:, 0, 3] = 0.3  # a colour that is always there
    return 255 * images


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("offset", [0.0, 0.3, 0.77])
def test_the_angle_of_a_hue_is_the_hue(direction: int, offset: float) -> None:
    hues = RNG.uniform(0, 1, 2000)
    codes = ring(direction * hues + offset)
    (circle,) = find_circles(codes, [0, 1])
    wheel = as_colour_wheel(circle, codes, lambda one, turns: patches(direction * (raw(one, turns) - offset)))
    apart = (wheel.angles(codes) - hues + 0.5) % 1 - 0.5
    assert np.abs(apart).max() < 0.06
    assert wheel.degrees(codes[np.argsort(np.abs(hues - 1 / 3))[:1]])[0] == pytest.approx(120, abs=12)


def test_what_is_not_a_hue_and_what_is_open_stay_as_they_are() -> None:
    turns = RNG.uniform(0, 1, 2000)
    codes = ring(turns)
    (circle,) = find_circles(codes, [0, 1])

    def moving(one: Circle, angles: np.ndarray) -> np.ndarray:
        images = np.zeros((len(angles), 3, 8, 8))
        for image, angle in zip(images, raw(one, angles), strict=True):
            image[:, int(8 * angle), 2:5] = 200
        return images

    assert as_colour_wheel(circle, codes, moving) is circle
    assert as_colour_wheel(circle, codes, lambda one, angles: np.zeros((len(angles), 1, 4, 4))) is circle
    arc = ring(RNG.uniform(0.1, 0.8, 2000))
    (opened,) = find_circles(arc, [0, 1])
    assert as_colour_wheel(opened, arc, lambda one, angles: patches(raw(one, angles))) is opened
