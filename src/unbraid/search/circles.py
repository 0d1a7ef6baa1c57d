"""Pairs of latents that go round in a circle: a hue, a direction. Two numbers, but one factor, which is their angle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ROUND = 0.22  # spread of the radius, as a share of it, up to which a cloud of points is a circle; a square has 0.37
OPEN = 0.5  # of a turn: an arc that leaves out more is a curve, not a circle
BINS = 36  # of the angles among which the sparsest is looked for


@dataclass(frozen=True, eq=False)
class Circle:
    """Two columns of codes, and the ellipse that they follow. Angles are in turns, from 0 to 1."""

    columns: tuple[int, int]
    centre: Array
    """(2,)"""
    radii: Array
    """(2,): along the two columns."""
    start: float
    """Where angles begin: where points are sparsest, so that an arc is not cut."""

    def angles(self, codes: Array) -> Array:
        """Of codes (n, d): (n,)."""
        across, up = ((codes[:, list(self.columns)] - self.centre) / self.radii).T
        return np.asarray((np.arctan2(up, across) / (2 * np.pi) - self.start) % 1.0)

    def points(self, angles: Array) -> Array:
        """The values of the two columns at these angles: (n, 2)."""
        turn = 2 * np.pi * (np.asarray(angles) + self.start)
        return np.asarray(self.centre + self.radii * np.column_stack([np.cos(turn), np.sin(turn)]))


def find_circles(codes: Array, columns: Sequence[int]) -> list[Circle]:
    """The circles among these columns of codes (n, d), roundest first; no column is in two of them."""
    tried = [(spread, circle) for pair in combinations(columns, 2) for spread, circle in [_fit(codes, pair)] if circle]
    chosen: list[Circle] = []
    for _, circle in sorted(tried, key=lambda one: one[0]):
        if not any(set(circle.columns) & set(other.columns) for other in chosen):
            chosen.append(circle)
    return chosen


def _fit(codes: Array, pair: tuple[int, int]) -> tuple[float, Circle | None]:
    """The circle through two columns of equal spread, by least squares (Kåsa 1976), and the spread of its radius."""
    points = codes[:, list(pair)].astype(float)
    middle, scale = points.mean(0), points.std(0)
    if len(points) < 3 or not scale.all():
        return np.inf, None
    points = (points - middle) / scale
    *centre, _ = np.linalg.lstsq(np.column_stack([2 * points, np.ones(len(points))]), (points**2).sum(1), rcond=None)[0]
    away = points - centre
    radius = np.linalg.norm(away, axis=1)
    spread = float(radius.std() / radius.mean())
    angles = np.sort(np.arctan2(away[:, 1], away[:, 0]) / (2 * np.pi) % 1.0)
    gap = float(np.diff([*angles, angles[0] + 1]).max())
    if spread > ROUND or gap > OPEN:
        return spread, None
    return spread, Circle(pair, middle + scale * centre, scale * radius.mean(), _sparsest(angles))


def _sparsest(angles: Array) -> float:
    """The angle at which there are fewest points: the middle of the emptiest of some overlapping bins."""
    counts = np.histogram(angles, BINS, (0.0, 1.0))[0]
    smooth = counts + np.roll(counts, 1) + np.roll(counts, -1)
    empty = np.flatnonzero(smooth == smooth.min())
    return float((empty[len(empty) // 2] + 0.5) / BINS)
