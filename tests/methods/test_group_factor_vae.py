"""FactorVAE with features of several dimensions: what is permuted together, and that one dimension is FactorVAE."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.methods.squares import squares
from unbraid.errors import InputError
from unbraid.methods import Method, build
from unbraid.methods._gaussian import permute_latents

SMALL: dict[str, Any] = {"network": "small", "latents": 4, "discriminator_layers": 1, "discriminator_width": 8}


def make(name: str, **settings: Any) -> Method:
    torch.manual_seed(0)
    return build(name, squares(), {**SMALL, **settings})


def test_the_columns_of_a_feature_are_permuted_together() -> None:
    torch.manual_seed(0)
    z = torch.arange(60.0).view(10, 6)
    moved = permute_latents(z, 3)
    assert torch.equal(moved.sort(0).values, z)
    rows = moved // 6  # where each entry came from
    for feature in (rows[:, :3], rows[:, 3:]):
        assert torch.equal(feature, feature[:, :1].expand(-1, 3))
    assert not torch.equal(rows[:, 0], rows[:, 3])


def test_with_one_dimension_it_is_factor_vae() -> None:
    batch = squares().batch(8, 0)
    found = []
    for name in ("factor_vae", "group_factor_vae"):
        method = make(name)
        torch.manual_seed(1)
        for _ in range(3):
            terms = method.update(batch)
        found.append({name: float(term) for name, term in terms.items()})
    assert found[0] == found[1]
    assert make("group_factor_vae").code_groups is None


def test_features_of_several_dimensions() -> None:
    assert make("group_factor_vae", dimensions=2).code_groups == [[0, 1], [2, 3]]
    with pytest.raises(InputError, match="dimensions is 3; expected a divisor of latents, 4"):
        make("group_factor_vae", dimensions=3)
