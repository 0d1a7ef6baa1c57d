"""FactorVAE with features of several dimensions: what is permuted together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.methods import build
from unbraid.methods.factor_vae import FactorVAE
from unbraid.methods.gaussian import permute_latents

SMALL: dict[str, Any] = {"network": "small", "latents": 4, "discriminator_layers": 1, "discriminator_width": 8}


def make(**settings: Any) -> FactorVAE:
    found = build("factor_vae", squares(), {**SMALL, **settings})
    assert isinstance(found, FactorVAE)
    return found


def test_the_columns_of_a_feature_are_permuted_together() -> None:
    torch.manual_seed(0)
    z = torch.arange(60.0).view(10, 6)
    moved = permute_latents(z, 3)
    assert torch.equal(moved.sort(0).values, z)
    rows = moved // 6  # where each entry came from
    for feature in (rows[:, :3], rows[:, 3:]):
        assert torch.equal(feature, feature[:, :1].expand(-1, 3))
    assert not torch.equal(rows[:, 0], rows[:, 3])


def test_features_of_several_dimensions() -> None:
    assert make().code_groups is None
    assert make(dimensions=2).code_groups == [[0, 1], [2, 3]]
    with pytest.raises(InputError, match="dimensions is 3; expected a divisor of latents, 4"):
        make(dimensions=3)


def test_what_the_discriminator_is_shown() -> None:
    """Codes whose columns are equal within a feature stay so: permuted one by one they would not."""
    torch.manual_seed(0)
    method = make(dimensions=2)
    shown = []
    method.discriminator.register_forward_pre_hook(lambda _, inputs: shown.append(inputs[0]))
    method.discriminator_loss(torch.randn(50, 2).repeat_interleave(2, 1))
    (seen,) = shown
    assert torch.equal(seen[:, ::2], seen[:, 1::2])
    assert not torch.equal(seen[:50], seen[50:])
