"""Pairs of latents whose values lie on a circle: one periodic factor, such as a hue or a direction, is their angle."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data.atomic import replacing
from unbraid.data.reading import read_json
from unbraid.data.schema import COUNT, NUMBER, Kind, check, listed
from unbraid.errors import InputError
from unbraid.runs.folder import unlinked

Array = np.ndarray[Any, Any]
ROUND = 0.22  # spread of the radius, as a share of it, up to which a cloud of points is a circle; a square has 0.37
APART = 0.75  # of the spread that the same values have in a random order: corners of a square are as round in any
OPEN = 0.5  # of a turn: an arc that leaves out more is a curve, not a circle
HOLE = 0.1  # of a turn: other gaps are narrower, else they are clusters
FEWEST = 200  # pictures in which a circle can be told from chance
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
        turns = (np.arctan2(up, across) / (2 * np.pi) - self.start) % 1.0
        return np.asarray(np.where(turns < 1, turns, 0.0))  # a tiny negative number is rounded to 1

    def degrees(self, codes: Array) -> Array:
        """The angles in degrees with one digit, below 360."""
        return np.asarray(np.round(360 * self.angles(codes), 1) % 360)

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
    if len(points) < FEWEST or not np.isfinite(points).all() or not scale.all():
        return np.inf, None
    points = (points - middle) / scale
    centre, radius, spread = _round(points)
    away = points - centre
    angles = np.sort(np.arctan2(away[:, 1], away[:, 0]) / (2 * np.pi) % 1.0)
    *_, second, widest = np.sort(np.diff([*angles, angles[0] + 1]))
    shuffled = points.copy()
    np.random.default_rng(0).shuffle(shuffled[:, 1])
    if spread > min(ROUND, APART * _round(shuffled)[2]) or widest > OPEN or second > HOLE:
        return spread, None
    return spread, Circle(pair, middle + scale * centre, scale * radius, _sparsest(angles))


def _round(points: Array) -> tuple[Array, float, float]:
    """The centre and radius of the circle through points (n, 2), and the spread of the radius as a share of it."""
    *centre, _ = np.linalg.lstsq(np.column_stack([2 * points, np.ones(len(points))]), (points**2).sum(1), rcond=None)[0]
    radius = np.linalg.norm(points - centre, axis=1)
    return np.array(centre), float(radius.mean()), float(radius.std() / radius.mean())


def _sparsest(angles: Array) -> float:
    """The angle at which there are fewest points: the middle of the emptiest of some overlapping bins."""
    counts = np.histogram(angles, BINS, (0.0, 1.0))[0]
    smooth = counts + np.roll(counts, 1) + np.roll(counts, -1)
    empty = np.flatnonzero(smooth == smooth.min())
    return float((empty[len(empty) // 2] + 0.5) / BINS)


FILE = "circles.json"  # in a run's folder
_PAIR = Kind("two numbers", lambda value: listed(NUMBER).holds(value) and len(value) == 2 and np.isfinite(value).all())
_CIRCLE = {
    "columns": Kind("two latents", lambda value: listed(COUNT).holds(value) and len(set(value)) == len(value) == 2),
    "centre": _PAIR,
    "radii": Kind("two numbers above 0", lambda value: _PAIR.holds(value) and min(value) > 0),
    "start": Kind("a number from 0 to 1", lambda value: NUMBER.holds(value) and 0 <= value <= 1),
}


def write_circles(folder: Path, circles: Mapping[str, Circle]) -> None:
    """Keep the circles of a run by name."""
    record = {
        name: {
            "columns": [int(column) for column in one.columns], "centre": one.centre.tolist(),
            "radii": one.radii.tolist(), "start": one.start,
        }
        for name, one in circles.items()
    }  # fmt: skip
    with replacing(folder / FILE) as part:
        part.write_text(json.dumps(record, indent=1) + "\n")


def read_circles(folder: Path, latents: int) -> dict[str, Circle]:
    """The circles of a run with so many latents, by name; none where none were kept."""
    path = unlinked(folder / FILE)
    if not path.exists():
        return {}
    record = read_json(path)
    if not isinstance(record, dict) or not all(isinstance(one, dict) for one in record.values()):
        raise InputError(f"{path} is not a file of circles; expected an object of objects")
    circles = {}
    for name, one in record.items():
        if not re.fullmatch(r"circle_\d+_\d+", name):
            raise InputError(f"{path} has a circle '{name}'; expected a name such as circle_1_2")
        check(path, one, _CIRCLE)
        if max(one["columns"]) >= latents:
            raise InputError(f"{path}: the circle '{name}' has latent {max(one['columns'])}; there are {latents}")
        across, up = one["columns"]
        circles[name] = Circle((across, up), np.array(one["centre"]), np.array(one["radii"]), float(one["start"]))
    return circles
