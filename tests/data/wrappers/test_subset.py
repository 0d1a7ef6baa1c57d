from __future__ import annotations

import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import FactorData, Rows, Subset, load, split
from unbraid.data.wrappers.correlated import with_correlated
from unbraid.data.wrappers.held_out import with_held_out
from unbraid.data.wrappers.subset import with_draws
from unbraid.errors import InputError


@pytest.fixture
def grid() -> FactorData:
    return Numbers((4, 5, 6))


def test_subset_keeps_rows_and_order(grid: FactorData) -> None:
    rows = torch.tensor([17, 3, 99, 3])
    data = Subset(grid, rows)
    assert len(data) == 4
    assert torch.equal(data.all_factors(), grid.factors_at(rows))
    assert torch.equal(data.images_at([0, 2]), grid.images_at([17, 99]))
    assert data.index_of(grid.factors_at([99])).tolist() == [2]
    assert torch.equal(data.images(grid.factors_at([17])), grid.images_at([17]))
    images, factors = data.sample(100, 0)
    assert set(grid.index_of(factors).tolist()) == {3, 17, 99}
    assert torch.equal(images[..., 0, 0].long(), factors)


def test_subset_of_subset(grid: FactorData) -> None:
    data = Subset(Subset(grid, range(50, 100)), [0, 10])
    assert torch.equal(data.all_factors(), grid.factors_at([50, 60]))


def test_a_combination_outside_the_subset_is_named(grid: FactorData) -> None:
    with pytest.raises(InputError, match="no image here has f0=3, f1=4, f2=5"):
        Subset(grid, [0]).images([[3, 4, 5]])


def test_an_empty_subset_is_refused(grid: FactorData) -> None:
    with pytest.raises(InputError, match="there is no row to draw from"):
        Subset(grid, [])


def test_subset_of_instances_stays_inside_itself() -> None:
    pixels = torch.arange(6, dtype=torch.uint8).view(6, 1, 1, 1)
    digits = Rows(pixels, torch.tensor([[0], [1], [0], [1], [0], [1]]), ["digit"], [2], source="test")
    train = Subset(digits, [0, 1, 2])
    assert set(train.images(torch.zeros(50, 1, dtype=torch.int64), 0).flatten().tolist()) == {0, 2}


def test_split_is_reproducible_and_disjoint(grid: FactorData) -> None:
    parts = split(grid, [0.2, 0.3], 4)
    assert [len(part) for part in parts] == [24, 36]
    assert not set(parts[0].rows.tolist()) & set(parts[1].rows.tolist())
    assert torch.equal(parts[0].rows, split(grid, [0.2, 0.3], 4)[0].rows)


@pytest.mark.parametrize("fractions", [[], [0.5, 0.6], [0.5, -0.1], [0.0]])
def test_bad_fractions(grid: FactorData, fractions: list[float]) -> None:
    with pytest.raises(InputError, match="fractions are"):
        split(grid, fractions, 0)


def test_draws_are_a_fixed_set_by_weight_and_with_repetition() -> None:
    data = with_correlated(with_held_out(Numbers((3, 3)), 0.3, 0), "f0,f1", 0.1)
    drawn = with_draws(data, 50, 1)
    assert len(drawn) == 50
    assert torch.equal(drawn.all_factors(), data.factors_at(data.sample_index(50, 1)))
    assert not torch.equal(drawn.all_factors(), with_draws(data, 50, 2).all_factors())
    assert drawn.held_out is data.held_out is not None
    assert len(load("dsprites", 16, draws=100)) == 100  # independent sets of the same size


def test_a_set_of_no_draws_is_refused() -> None:
    with pytest.raises(InputError, match="draws is 0; expected at least 1"):
        load("dsprites", 16, draws=0)
