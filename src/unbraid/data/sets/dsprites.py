"""dSprites: 737,280 white shapes on black, drawn here bit for bit as the published file has them.

The rules were found by fitting published images: outlines are polygons whose vertices snap to 1/256 pixel, and a pixel
is on when its centre lies inside. There is no anti-aliasing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution

NAMES = ("shape", "scale", "orientation", "x", "y")
SIZES = (3, 6, 40, 32, 32)

_FULL = 64  # the resolution that the outlines below are given for, in its pixels
_SNAP = 256  # vertices lie on this fraction of a pixel
_TIE = 1e-7  # centres move by this much towards the origin, which settles those that lie on an edge


def outlines() -> list[Array]:
    """Square, ellipse and heart at scale 1: polygons (vertices, 2) around the origin, y downwards."""
    half = 9.6
    square = half * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    t = 2 * np.pi * np.arange(100) / 100
    ellipse = np.stack([half * 1.33 * np.cos(t), half / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    curve = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    heart = np.stack([half * np.sin(t) ** 3, -0.6625 * curve - 1.44], axis=1)
    return [square, ellipse, heart]


class DSprites(FactorData):
    """Shape (square, ellipse, heart), scale 0.5 to 1, orientation 0 to 2π, x and y; rows in the published file's order.

    The last orientation, 2π, draws as the first. Other resolutions draw the same outlines scaled.
    """

    names = NAMES
    sizes = SIZES
    source = "drawn, bit for bit the published images"

    def __init__(self, resolution: int = 64) -> None:
        self.resolution = check_resolution(resolution)
        self.image_shape = (1, resolution, resolution)
        row_bytes = -(-resolution // 8)
        # (row, line, byte): eight pixels to the byte, 377 MB at 64x64 instead of 3 GB
        self._bits = drawn_array(
            f"dsprites-{resolution}-v1",
            (len(self), resolution, row_bytes),
            np.uint8,
            lambda: draw(resolution),
        )

    def masks(self, factors: Tensor) -> Array:
        """1 inside the shape, 0 outside: uint8 (n, H, W)."""
        rows = self._bits[self.to_grid(factors).numpy()]
        return np.unpackbits(rows, axis=2, count=self.resolution)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        masks = self.masks(factors)
        np.negative(masks, out=masks)  # 1 -> 255 in uint8
        return torch.from_numpy(masks).unsqueeze(1)


def draw(resolution: int) -> Iterator[Array]:
    """Every image in the file's order, one (shape, scale, orientation) at a time: bits (x · y, line, byte)."""
    zoom = resolution / _FULL
    centres = zoom * (_FULL / 4 + _FULL / 2 * np.linspace(0, 1, SIZES[3]))
    for outline in outlines():
        for scale in np.linspace(0.5, 1, SIZES[1]):
            for angle in np.linspace(0, 2 * np.pi, SIZES[2]):
                cos, sin = np.cos(-angle), np.sin(-angle)
                turned = zoom * scale * outline @ np.array([[cos, sin], [-sin, cos]])
                yield _fill(turned, centres, resolution)


def _fill(outline: Array, centres: Array, resolution: int) -> Array:
    """The polygon with its middle at every pair of centres, filled: bits (x · y, line, byte).

    Each line of pixels is crossed by a few edges. Where an edge crosses, everything to its right changes sides, so a
    line is the exclusive or of one such mask per crossing. The height of a crossing depends on y alone and its position
    on the line is linear in the snapped x, which lets all positions be done together.
    """
    x = np.floor(_SNAP * (outline[:, 0] + centres[:, None]) + 0.5) / _SNAP  # (32, vertex)
    flipped = resolution - (outline[:, 1] + centres[:, None])  # snapping has its origin at the bottom
    y = resolution - np.floor(_SNAP * flipped + 0.5) / _SNAP
    next_x, next_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)

    line = np.arange(resolution) + 0.5 - _TIE
    above = y[:, None, :] <= line[:, None]  # (32, line, vertex)
    at_y, at_line, edge = np.nonzero(above != (next_y[:, None, :] <= line[:, None]))
    along = (line[at_line] - y[at_y, edge]) / (next_y - y)[at_y, edge]
    crossing = x.T[edge] + along[:, None] * (next_x - x).T[edge]  # (crossing, 32)
    first = np.clip(np.floor(crossing - 0.5 + _TIE).astype(np.int64) + 1, 0, resolution)

    columns = np.arange(resolution)
    to_the_right = np.packbits(columns >= np.arange(resolution + 1)[:, None], axis=1)  # (first, byte)
    row_bytes = to_the_right.shape[1]
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    masks = to_the_right.view(f"u{word}")[first]  # (crossing, 32, word)

    starts = np.flatnonzero(np.r_[True, (np.diff(at_y) != 0) | (np.diff(at_line) != 0)])
    lines = np.bitwise_xor.reduceat(masks, starts, axis=0)
    bits = np.zeros((len(centres), len(centres), resolution, row_bytes // word), masks.dtype)  # (x, y, line, word)
    bits[:, at_y[starts], at_line[starts]] = lines.transpose(1, 0, 2)
    return bits.view(np.uint8).reshape(-1, resolution, row_bytes)


DECLARED = DataSet("dsprites", NAMES, SIZES, "drawn here, bit for bit the published images", DSprites, embedded=True)
