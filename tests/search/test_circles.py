"""Circles among latents: found where there is one, with the angle that made them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.search.circles import find_circles, read_circles, write_circles

RNG = np.random.default_rng(0)


def ring(turns: np.ndarray, noise: float = 0.1) -> np.ndarray:
    """An ellipse away from the origin, with noise."""
    around = np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
    return np.array([3.0, -1.0]) + [2.0, 0.5] * (around + noise * RNG.normal(size=(len(turns), 2)))


def test_the_angle_of_a_ring_is_found_among_other_latents() -> None:
    turns = RNG.uniform(0, 1, 2000)
    others = np.column_stack([RNG.normal(size=2000), RNG.uniform(size=2000)])
    codes = np.hstack([others, ring(turns)])[:, [2, 0, 1, 3]]
    (circle,) = find_circles(codes, [0, 1, 2, 3])
    assert circle.columns == (0, 3)
    agreement = abs(np.exp(2j * np.pi * (circle.angles(codes) - turns)).mean())
    assert agreement > 0.98
    back = circle.points(circle.angles(codes))
    assert np.abs((back - codes[:, [0, 3]]) / [2.0, 0.5]).mean() < 0.15
    assert find_circles(codes, [0, 1, 2]) == []
    assert 0 <= circle.degrees(codes).min() <= circle.degrees(codes).max() < 360


def test_an_arc_is_cut_where_it_is_open() -> None:
    turns = RNG.uniform(0.1, 0.8, 2000)
    codes = ring(turns, 0.05)
    (circle,) = find_circles(codes, [0, 1])
    assert np.corrcoef(circle.angles(codes), turns)[0, 1] > 0.99


@pytest.mark.parametrize(
    "codes",
    [
        RNG.normal(size=(2000, 2)),
        RNG.uniform(size=(2000, 2)),
        ring(RNG.uniform(0, 0.3, 2000), 0.02),
        np.column_stack([np.arange(2000.0), np.zeros(2000)]),
        RNG.normal(size=(2, 2)),
        ring(RNG.uniform(0, 1, 50)),
        RNG.integers(0, 2, (2000, 2)) + 0.1 * RNG.normal(size=(2000, 2)),
        RNG.integers(0, [2, 3], (2000, 2)) + 0.05 * RNG.normal(size=(2000, 2)),
        np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])[RNG.integers(0, 3, 2000)] + 0.05 * RNG.normal(size=(2000, 2)),
        np.column_stack([RNG.integers(0, 2, 2000), np.tanh(2 * RNG.uniform(-1, 1, 2000))])
        + 0.02 * RNG.normal(size=(2000, 2)),
        np.full((2000, 2), np.nan),
    ],
    ids=[
        "a Gaussian", "a square", "a short arc", "a line", "two pictures", "few pictures", "four corners",
        "six corners", "three corners", "two sides", "unknown",
    ],
)  # fmt: skip
def test_what_is_not_round_is_not_a_circle(codes: np.ndarray) -> None:
    assert find_circles(codes, [0, 1]) == []


def test_no_latent_is_in_two_circles() -> None:
    rings = [ring(RNG.uniform(0, 1, 2000)) for _ in range(2)]
    circles = find_circles(np.hstack(rings), range(4))
    assert sorted(circle.columns for circle in circles) == [(0, 1), (2, 3)]


def test_circles_are_kept_and_read_again(tmp_path: Path) -> None:
    codes = ring(RNG.uniform(0, 1, 500))
    (circle,) = find_circles(codes, [0, 1])
    assert read_circles(tmp_path, 2) == {}
    write_circles(tmp_path, {"circle_1_2": circle})
    assert read_circles(tmp_path, 2)["circle_1_2"].angles(codes) == pytest.approx(circle.angles(codes))
    with pytest.raises(InputError, match="the circle 'circle_1_2' has latent 1; there are 1"):
        read_circles(tmp_path, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "is not a file of circles"),
        ('{"hue": 3}', "is not a file of circles"),
        ('{"file": {}}', "a circle 'file'; expected a name such as circle_1_2"),
        ('{"circle_1_2": {"columns": [0, 0], "centre": [0, 0], "radii": [1, 1], "start": 0}}', "two latents"),
        ('{"circle_1_2": {"columns": [0, 1], "centre": [0, 1e999], "radii": [1, 1], "start": 0}}', "two numbers"),
        ('{"circle_1_2": {"columns": [0, 1], "centre": [0, 0], "radii": [1, 0], "start": 0}}', "two numbers above 0"),
        ('{"circle_1_2": {"columns": [0, 1], "centre": [0, 0], "radii": [1, 1], "start": 7}}', "a number from 0 to 1"),
    ],
)
def test_a_file_of_circles_that_is_none_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "circles.json").write_text(content)
    with pytest.raises(InputError, match=words):
        read_circles(tmp_path, 2)
