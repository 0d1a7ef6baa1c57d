"""Circles among latents: found where there is one, with the angle that made them, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from unbraid.search.circles import find_circles

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
    ],
    ids=["a Gaussian", "a square", "a short arc", "a line", "two pictures"],
)
def test_what_is_not_round_is_not_a_circle(codes: np.ndarray) -> None:
    assert find_circles(codes, [0, 1]) == []


def test_no_latent_is_in_two_circles() -> None:
    rings = [ring(RNG.uniform(0, 1, 2000)) for _ in range(2)]
    circles = find_circles(np.hstack(rings), range(4))
    assert sorted(circle.columns for circle in circles) == [(0, 1), (2, 3)]
