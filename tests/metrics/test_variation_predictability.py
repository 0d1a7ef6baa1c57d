"""Variation predictability of decoders whose answer is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.metrics.variation_predictability import variation_predictability

DATA = squares()
SIDE = DATA.image_shape[1]


@dataclass
class Stripes:
    """Four codes of each image, random but its own, drawn as stripes: each its own, or all their sum in one."""

    apart: bool
    code_groups: list[list[int]] | None = None

    def encode(self, images: Tensor) -> Tensor:
        seeds = images.flatten(1).double() @ torch.arange(1, images[0].numel() + 1).double()
        return torch.stack([torch.sin(seeds * (k + 1)) for k in range(4)], 1).float()

    def decode(self, codes: Tensor) -> Tensor:
        images = torch.zeros(len(codes), 1, SIDE, SIDE)
        for k in range(4):
            if self.apart:
                images[:, 0, k * SIDE // 4 : (k + 1) * SIDE // 4] += codes[:, k, None, None] / 2 + 0.5
            else:
                images[:, 0] += codes[:, k, None, None] / 8 + 0.125
        return images


def test_features_with_places_of_their_own_are_told() -> None:
    """Except where the other image is the same, one of 36 times, or its code hardly differs."""
    found = variation_predictability(Stripes(apart=True), DATA, pairs=800, trained=0.4, steps=80)
    assert found["variation_predictability"] > 0.85
    assert np.diag(found.arrays["confusion"]).min() > 0.8
    assert found["overfit"] < 0.1


def test_features_that_all_do_the_same_are_guessed() -> None:
    found = variation_predictability(Stripes(apart=False), DATA, pairs=800, trained=0.4, steps=80)
    assert abs(found["variation_predictability"] - 0.25) < 0.1
    assert found.arrays["confusion"].sum(1) == pytest.approx(np.ones(4))


def test_groups_are_changed_together() -> None:
    halves = Stripes(apart=True, code_groups=[[0, 1], [2, 3]])
    found = variation_predictability(halves, DATA, pairs=400, trained=0.5, steps=60)
    assert found["variation_predictability"] > 0.95
    assert found.arrays["confusion"].shape == (2, 2)


def test_the_same_seed_gives_the_same_score() -> None:
    first, second = (variation_predictability(Stripes(apart=False), DATA, 3, pairs=200, steps=5) for _ in range(2))
    assert first == second


def test_what_cannot_be_predicted() -> None:
    with pytest.raises(InputError, match="the method has one feature"):
        variation_predictability(Stripes(apart=True, code_groups=[[0, 1, 2, 3]]), DATA, pairs=40)
    with pytest.raises(InputError, match="trained is 1; expected a share of 40 pairs"):
        variation_predictability(Stripes(apart=True), DATA, pairs=40, trained=1.0)
