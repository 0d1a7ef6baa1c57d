from __future__ import annotations

import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import Correlated, FactorData, HeldOut, split
from unbraid.errors import InputError


@pytest.fixture
def grid() -> FactorData:
    return Numbers((4, 5, 6))


def test_held_out_is_what_the_predicate_says(grid: FactorData) -> None:
    data = HeldOut(grid, lambda f: f["f1"] == 4)
    assert set(data.held_out.all_factors()[:, 1].tolist()) == {4}
    assert set(data.all_factors()[:, 1].tolist()) == {0, 1, 2, 3}


def test_held_out_composes_with_correlated_and_split(grid: FactorData) -> None:
    held = HeldOut(grid, lambda f: (f["f0"] == 0) & (f["f1"] > 1))
    assert len(held) + len(held.held_out) == len(grid)
    data = Correlated(held, [("f0", "f2"), ("f2", "f1")], 0.3)
    part, rest = split(data, [0.5, 0.5], 0)
    assert sorted(torch.cat([part.rows, rest.rows]).tolist()) == list(range(len(data)))
    images, factors = part.sample(2000, 1)
    assert torch.equal(images[..., 0, 0].long(), factors)
    assert not bool(((factors[:, 0] == 0) & (factors[:, 1] > 1)).any())
    scaled = factors.double() / torch.tensor([3.0, 4, 5])
    assert float(torch.corrcoef(scaled.T)[0, 2]) > 0.5


def test_bad_predicates(grid: FactorData) -> None:
    cases = {
        "there is no factor 'shape'": lambda: HeldOut(grid, lambda f: f["shape"] == 0),
        "true for no row": lambda: HeldOut(grid, lambda f: f["f0"] > 99),
        "expected bool": lambda: HeldOut(grid, lambda f: f["f0"]),
        "there is no row to draw from": lambda: HeldOut(grid, lambda f: f["f0"] >= 0),
    }
    for message, make in cases.items():
        with pytest.raises(InputError, match=message):
            make()
