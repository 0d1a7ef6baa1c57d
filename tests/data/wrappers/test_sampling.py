from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import Correlated, FactorData, HeldOut, Rows, Subset, split
from unbraid.errors import InputError


@pytest.fixture
def grid() -> FactorData:
    return Numbers((4, 5, 6))


def counts(data: FactorData, a: int, b: int, n: int = 60_000) -> torch.Tensor:
    """How often each pair of values of factors a and b is drawn, as a frequency table."""
    factors = data.factors_at(data.sample_index(n, 0))
    joint = torch.bincount(factors[:, a] * data.sizes[b] + factors[:, b], minlength=data.sizes[a] * data.sizes[b])
    return joint.view(data.sizes[a], data.sizes[b]).double() / n


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
    with pytest.raises(InputError, match="no row is left"):
        Subset(grid, [])


def test_subset_of_instances_stays_inside_itself() -> None:
    pixels = torch.arange(6, dtype=torch.uint8).view(6, 1, 1, 1)
    digits = Rows(pixels, torch.tensor([[0], [1], [0], [1], [0], [1]]), ["digit"], [2], source="test")
    train = Subset(digits, [0, 1, 2])
    assert set(train.images(torch.zeros(50, 1, dtype=torch.int64), 0).flatten().tolist()) == {0, 2}


@pytest.mark.parametrize("strength", [0.1, 0.4, 2.0])
def test_correlated_draws_from_the_formula(grid: FactorData, strength: float) -> None:
    data = Correlated(grid, [("f0", "f2")], strength)
    a, b = np.linspace(0, 1, 4)[:, None], np.linspace(0, 1, 6)
    wanted = np.exp(-((a - b) ** 2) / (2 * strength**2))
    wanted /= wanted.sum()
    assert np.abs(counts(data, 0, 2).numpy() - wanted).max() < 0.006
    assert np.allclose(data.tables[("f0", "f2")].numpy(), wanted)
    assert (counts(data, 0, 1).sum(0) - 0.2).abs().max() < 0.006  # the third factor stays uniform


def test_correlated_by_a_table_of_ones_own(grid: FactorData) -> None:
    table = torch.zeros(4, 5)
    table[1, 2], table[3, 0] = 3, 1
    joint = counts(Correlated(grid, {("f0", "f1"): table}), 0, 1)
    assert abs(float(joint[1, 2]) - 0.75) < 0.01
    assert abs(float(joint[3, 0]) - 0.25) < 0.01


def test_wrappers_compose(grid: FactorData) -> None:
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


def test_held_out_is_what_the_predicate_says(grid: FactorData) -> None:
    data = HeldOut(grid, lambda f: f["f1"] == 4)
    assert set(data.held_out.all_factors()[:, 1].tolist()) == {4}
    assert set(data.all_factors()[:, 1].tolist()) == {0, 1, 2, 3}


def test_split_is_reproducible_and_disjoint(grid: FactorData) -> None:
    parts = split(grid, [0.2, 0.3], 4)
    assert [len(part) for part in parts] == [24, 36]
    assert not set(parts[0].rows.tolist()) & set(parts[1].rows.tolist())
    assert torch.equal(parts[0].rows, split(grid, [0.2, 0.3], 4)[0].rows)


@pytest.mark.parametrize("fractions", [[], [0.5, 0.6], [0.5, -0.1], [0.0]])
def test_bad_fractions(grid: FactorData, fractions: list[float]) -> None:
    with pytest.raises(InputError, match="fractions are"):
        split(grid, fractions, 0)


def test_bad_wrappers(grid: FactorData) -> None:
    cases = {
        "no factor 'g0'; known are f0, f1, f2": lambda: Correlated(grid, [("g0", "f1")]),
        "strength is 0": lambda: Correlated(grid, [("f0", "f1")], 0),
        "with itself": lambda: Correlated(grid, [("f0", "f0")]),
        r"shape \(4, 4\); expected \(4, 5\)": lambda: Correlated(grid, {("f0", "f1"): torch.ones(4, 4)}),
        "finite and nonnegative": lambda: Correlated(grid, {("f0", "f1"): -torch.ones(4, 5)}),
        "there is no factor 'shape'": lambda: HeldOut(grid, lambda f: f["shape"] == 0),
        "holds for no row": lambda: HeldOut(grid, lambda f: f["f0"] > 99),
        "expected bool": lambda: HeldOut(grid, lambda f: f["f0"]),
        "no row is left": lambda: HeldOut(grid, lambda f: f["f0"] >= 0),
    }
    for message, make in cases.items():
        with pytest.raises(InputError, match=message):
            make()
