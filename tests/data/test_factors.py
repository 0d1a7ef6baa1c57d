from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.examples.numbers import Numbers
from unbraid.data.factors import Rows, generator
from unbraid.errors import InputError


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_index_and_factors_are_inverse_and_the_last_factor_is_fastest(sizes: list[int]) -> None:
    data = Numbers(tuple(sizes))
    rows = torch.arange(len(data))
    factors = data.factors_at(rows)
    assert np.array_equal(factors.numpy(), np.stack(np.unravel_index(rows.numpy(), sizes), axis=1))
    assert torch.equal(data.index_of(factors), rows)


def test_sample_gives_images_of_its_factors_and_the_same_for_the_same_seed() -> None:
    data = Numbers((3, 5, 2))
    images, factors = data.sample(200, torch.Generator().manual_seed(1))
    assert torch.equal(images[..., 0, 0].long(), factors)
    again = data.sample(200, 1)
    assert torch.equal(again[0], images)
    assert len(factors.unique(dim=0)) > 25  # of 30 combinations


def test_generators_of_all_kinds() -> None:
    assert generator(None).initial_seed() == 0
    assert generator(7).initial_seed() == 7
    first, second = (generator(np.random.default_rng(3)).initial_seed() for _ in range(2))
    assert first == second
    mine = torch.Generator()
    assert generator(mine) is mine


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([[0, 5]], "factor 'f1' is 5; expected 0 to 4"),
        ([[-1, 0]], "factor 'f0' is -1; expected 0 to 2"),
        ([[0, 0, 0]], r"shape \(1, 3\); expected \(n, 2\) for f0, f1"),
        ([0, 0], r"shape \(2,\)"),
        ([[0.0, 1.0]], "expected integers"),
    ],
)
def test_bad_factors_are_named(factors: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Numbers((3, 5)).images(factors)


@pytest.mark.parametrize("index", [[15], [-1], [[0]], [0.5]])
def test_bad_rows_are_named(index: list[int]) -> None:
    with pytest.raises(InputError, match="row"):
        Numbers((3, 5)).images_at(index)


def test_no_rows_give_no_images() -> None:
    data = Numbers((3, 5))
    assert data.images_at([]).shape == (0, 2, 1, 1)
    assert data.images(torch.zeros(0, 2, dtype=torch.int64)).shape == (0, 2, 1, 1)


def test_unknown_factor_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="'ff1'; did you mean 'f1'"):
        Numbers((3, 5)).column("ff1")


def test_rows_draws_among_equal_factors() -> None:
    pixels = torch.arange(6, dtype=torch.uint8).view(6, 1, 1, 1)
    data = Rows(pixels, torch.tensor([[0], [1], [0], [1], [0], [2]]), ["digit"], [3], source="test")
    drawn = data.images(torch.zeros(300, 1, dtype=torch.int64), 0).flatten()
    assert set(drawn.tolist()) == {0, 2, 4}
    assert data.index_of([[1]]).tolist() == [1]
    assert torch.equal(data.images_at([5]), pixels[5:])


def test_data_without_factors() -> None:
    pixels = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1)
    data = Rows(pixels, torch.zeros(4, 0, dtype=torch.int64), [], [], source="test")
    images, factors = data.sample(100, 0)
    assert factors.shape == (100, 0)
    assert set(images.flatten().tolist()) == {0, 1, 2, 3}
    assert data.images(factors, 1).shape == images.shape


def test_data_tell_what_they_are() -> None:
    assert repr(Numbers((3, 5))) == "Numbers(15 images 1x1x2; f0 3, f1 5)"
