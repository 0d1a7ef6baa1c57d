from __future__ import annotations

import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import Correlated, Subset, load
from unbraid.data.wrappers.weak_pairs import WeakPairs
from unbraid.errors import InputError


def partners(data: WeakPairs, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The factors of random rows and of their partners."""
    rows = data.sample_index(n, 0)
    return data.factors_at(rows), data.factors_at(data.partners_of(rows, torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("changes", [1, 2])
def test_a_pair_differs_in_so_many_factors_at_most(changes: int) -> None:
    data = WeakPairs(Numbers((4, 5, 6)), changes)
    mine, theirs = partners(data, 6000)
    moved = (mine != theirs).sum(1)
    assert int(moved.max()) == changes
    changed = (mine != theirs).double().mean(0)  # a factor is chosen with changes / 3, and keeps its value by chance
    expected = torch.tensor([changes / 3 * (1 - 1 / size) for size in (4, 5, 6)], dtype=torch.float64)
    assert torch.allclose(changed, expected, atol=0.03)


def test_how_many_may_be_random() -> None:
    mine, theirs = partners(WeakPairs(Numbers((40, 40, 40)), 0), 4000)
    moved = (mine != theirs).sum(1)
    assert int(moved.max()) == 2
    assert float((moved == 1).double().mean()) == pytest.approx(0.5, abs=0.06)


def test_a_factor_is_drawn_again_as_the_data_has_it_beside_the_others() -> None:
    table = torch.tensor([[8.0, 1.0, 1.0], [1.0, 8.0, 1.0], [1.0, 1.0, 8.0]])
    correlated = Correlated(Numbers((3, 3)), {("f0", "f1"): table})
    data = WeakPairs(correlated, 1)
    _, theirs = partners(data, 20_000)
    joint = torch.bincount(3 * theirs[:, 0] + theirs[:, 1], minlength=9).view(3, 3) / len(theirs)
    assert torch.allclose(joint, (table / table.sum()).float(), atol=0.015)  # partners are distributed as the rows are


def test_partners_exist() -> None:
    grid = Numbers((3, 3))
    data = WeakPairs(Subset(grid, [0, 1, 4, 8]), 1)  # (0, 0), (0, 1), (1, 1), (2, 2)
    mine, theirs = partners(data, 400)
    there = set(map(tuple, data.all_factors().tolist()))
    assert set(map(tuple, theirs.tolist())) <= there
    alone = (mine == 2).all(1)
    assert torch.equal(theirs[alone], mine[alone])  # (2, 2) has nobody beside it
    assert not torch.equal(mine, theirs)


def test_a_batch_holds_them() -> None:
    data = WeakPairs(Numbers((4, 5, 6)), 1)
    batch = data.batch(20, 0)
    assert batch["partners"].shape == batch["images"].shape
    assert int((batch["partners"][..., 0, 0] != batch["images"][..., 0, 0]).sum(1).max()) == 1
    assert torch.equal(batch["partners"], data.batch(20, 0)["partners"])


def test_they_are_a_setting_of_any_data() -> None:
    data = load("dsprites", 16, held_out=0.1, correlated="x,scale", pair_changes=2)
    assert isinstance(data, WeakPairs)
    assert data.changes == 2
    assert data.held_out is not None
    assert data.describe() != load("dsprites", 16, held_out=0.1, correlated="x,scale", pair_changes=1).describe()


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="pair_changes is 3; expected 1 to 2, or 0"):
        WeakPairs(Numbers((4, 5, 6)), 3)
    with pytest.raises(InputError, match="at least two factors; this data has 1"):
        WeakPairs(Numbers((4,)), 1)
