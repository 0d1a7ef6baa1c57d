from __future__ import annotations

import math

import pytest
import torch

from tests.examples.squares import squares
from unbraid.data import HeldOut, PairData, Subset, load, split
from unbraid.data.sets.mnist_stl10 import VARIANTS
from unbraid.errors import InputError

DRAWS = 10_000


@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_share_exactly_what_their_variant_says(variant: str) -> None:
    data = load("mnist_stl10", 32, variant=variant, digits="sklearn", backgrounds="scenes")
    assert isinstance(data, PairData)
    batch = data.batch(DRAWS, 0)
    mine, other = batch["factors"], batch["partner_factors"]
    for column, (name, size) in enumerate(zip(data.names, data.sizes, strict=True)):
        same = (mine[:, column] == other[:, column]).double().mean()
        if name in VARIANTS[variant]:
            assert same == 1
        else:  # drawn again uniformly, whatever it was
            assert abs(same - 1 / size) < 4 * math.sqrt((size - 1) / size**2 / DRAWS)
            counts = torch.bincount(mine[:, column] * size + other[:, column], minlength=size * size)
            expected = DRAWS / size**2
            assert ((counts - expected) ** 2 / expected).sum() < size**2 + 5 * math.sqrt(2) * size
    columns = [data.names.index(name) for name in VARIANTS[variant]]
    assert torch.equal(batch["shared"], mine[:, columns])
    assert set(batch) == {"images", "factors", "partners", "partner_factors", "shared"}


def test_partners_are_images_with_their_factors() -> None:
    data = PairData(squares(), ["row"])
    batch = data.batch(200, 3)
    assert torch.equal(batch["partners"], squares().images(batch["partner_factors"]))
    assert torch.equal(batch["images"], squares().images(batch["factors"]))
    assert not torch.equal(batch["partners"], batch["images"])


def test_pairs_that_differ_share_nothing_else() -> None:
    data = PairData(squares(), ["row"], differ=True)
    batch = data.batch(300, 0)
    assert torch.equal(batch["factors"][:, 0], batch["partner_factors"][:, 0])
    assert not bool((batch["factors"][:, 1] == batch["partner_factors"][:, 1]).any())
    assert data.describe()["differ"] is True
    assert "differ" not in PairData(squares(), ["row"]).describe()
    alone = PairData(Subset(squares(), [0, 7]), ["row"], differ=True)
    with pytest.raises(InputError, match="no partner was found that differs in column"):
        alone.batch_at([0])


def test_the_same_seed_gives_the_same_pairs() -> None:
    data = PairData(squares(), ["column"])
    first, second, third = data.batch(50, 1), data.batch(50, 1), data.batch(50, 2)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["partner_factors"], third["partner_factors"])


def test_a_partner_is_one_of_the_rows_there_are() -> None:
    data = PairData(Subset(squares(), [0, 1, 2, 7, 14]), ["row"])
    for _ in range(3):
        batch = data.batch_at(range(5))
        assert batch["partner_factors"][3:].tolist() == [[1, 1], [2, 2]]  # alone in their row
        assert batch["partner_factors"][:3, 0].eq(0).all()


def test_rows_held_out_have_partners_among_themselves() -> None:
    data = PairData(HeldOut(squares(), lambda f: f["column"] > 3), ["row"])
    assert isinstance(data.held_out, PairData)
    assert data.batch(300, 0)["partner_factors"][:, 1].max() == 3
    assert data.held_out.batch(300, 0)["partner_factors"][:, 1].min() == 4


def test_a_row_and_itself() -> None:
    data = PairData(squares(), None)
    batch = data.batch(20, 0)
    assert torch.equal(batch["images"], batch["partners"])
    assert batch["shared"].shape == (20, 0)


def test_by_name_around_any_data() -> None:
    data = load("dsprites", 16, pairs="shape,y", rows=500)
    assert isinstance(data, PairData)
    batch = data.batch(100, 0)
    assert torch.equal(batch["factors"][:, [0, 4]], batch["partner_factors"][:, [0, 4]])
    assert data.describe()["pairs"] == ["shape", "y"]
    assert data.describe()["data"] == "dsprites"
    assert load("dsprites", 16, pairs="same").describe()["pairs"] == "same"


def test_images_and_rows_stay_those_of_the_data() -> None:
    plain, data = squares(), PairData(squares(), ["row", "column"])
    assert len(data) == len(plain)
    assert torch.equal(data.images_at([5, 9]), plain.images_at([5, 9]))
    assert torch.equal(data.index_of([[2, 3]]), plain.index_of([[2, 3]]))


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        (["rwo"], "there is no factor 'rwo'; did you mean 'row'"),
        ([], "pairs share no factor; expected names of factors, or same for a row and itself"),
        (["row", "row"], "pairs is 'row,row', which names a factor twice"),
    ],
)
def test_errors(shared: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairData(squares(), shared)


def test_splits_of_pairs_are_pairs() -> None:
    train, test = split(PairData(squares(), ["row"]), [0.5, 0.5], 0)
    assert "partners" in train.batch(4, 0)
    assert len(train) + len(test) == 36
