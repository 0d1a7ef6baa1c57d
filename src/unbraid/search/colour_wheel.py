"""A circle of latents that is a hue: its angle then counts as on the colour wheel, from red over green to blue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from unbraid.search.circles import Circle

Array = np.ndarray[Any, Any]
ROUND = 72  # pictures drawn on the way round
EXPLAINED = 0.5  # of how colours vary on the way round: a wheel turns them by the same angle
CLOSED = 0.02  # of a turn: a circle with a wider gap begins there


def as_colour_wheel(circle: Circle, codes: Array, draw: Callable[[Circle, Array], Array]) -> Circle:
    """The circle with angles that are hues: 0 for red, a third of a turn for green. As it is where it is not a hue.

    An arc stays as it is too: it begins where it is open. `codes` are (n, d), and `draw` gives pictures (m, C, H, W) at
    m angles of a circle.
    """
    angles = np.sort(circle.angles(codes))
    if np.diff(angles, append=angles[0] + 1).max() > CLOSED:
        return circle
    turns = np.arange(ROUND) / ROUND
    for one in (circle, _reversed(circle)):
        images = draw(one, turns)
        if images.shape[1] == 3 and (red := _red(_chroma(images), turns)) is not None:
            return replace(one, start=(one.start + red) % 1.0)
    return circle


def _reversed(circle: Circle) -> Circle:
    """The same circle the other way round: its columns change places."""
    first, second = circle.columns
    return Circle((second, first), circle.centre[::-1].copy(), circle.radii[::-1].copy(), (0.25 - circle.start) % 1.0)


def _chroma(images: Array) -> Array:
    """Colours without their brightness, (m, pixels): complex numbers whose angle is the hue; 0 is grey."""
    red, green, blue = images.astype(float).reshape(len(images), 3, -1).transpose(1, 0, 2)
    return np.asarray(red - (green + blue) / 2 + 1j * np.sqrt(3) / 2 * (green - blue))


def _red(chroma: Array, turns: Array) -> float | None:
    """The angle at which the part that turns through all hues is red; None where most of what varies does not so.

    `chroma` is (m, pixels) at m evenly spaced angles.
    """
    varying = chroma - chroma.mean(0)
    total = (np.abs(varying) ** 2).mean(0).sum()
    wheel = (varying * np.exp(-2j * np.pi * turns)[:, None]).mean(0)  # of each pixel: how far it turns with the angle
    if not total or (np.abs(wheel) ** 2).sum() < EXPLAINED * total:
        return None
    hues = np.unwrap(np.angle((chroma * np.abs(wheel)).sum(1))) / (2 * np.pi)
    whole = round(float(hues[-1] - hues[0]))
    if whole != 1:
        return None
    around, turned = np.append(turns, 1.0), np.append(hues, hues[0] + 1)
    return float(np.interp(np.ceil(turned[0]), turned, around)) % 1.0
