"""Correlated and fixed draws as settings of `load`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import Correlated, load
from unbraid.data.catalogue import load_plain
from unbraid.data.wrappers.sampling import with_correlated, with_draws, with_held_out
from unbraid.errors import InputError


def correlation(factors: torch.Tensor, a: int, b: int) -> float:
    return float(torch.corrcoef(factors[:, [a, b]].double().T)[0, 1])


def test_correlated_names_two_factors() -> None:
    data = load("dsprites", 16, correlated="x,scale", correlation_width=0.1)
    expected = Correlated(load("dsprites", 16), [("x", "scale")], 0.1)
    assert data.describe() == {**expected.describe(), "data": "dsprites"}
    factors = data.factors_at(data.sample_index(5000, 0))
    assert correlation(factors, 3, 1) > 0.9
    assert abs(correlation(factors, 4, 1)) < 0.05
    assert data.describe() != load("dsprites", 16, correlated="x,scale").describe()


def test_several_pairs_and_a_table_of_ones_own(tmp_path: Path) -> None:
    grid = Numbers((3, 4, 5))
    both = with_correlated(grid, "f0,f1; f1,f2", 0.1)
    assert set(both.tables) == {("f0", "f1"), ("f1", "f2")}
    joint = np.zeros((3, 4))
    joint[0, 3] = joint[2, 0] = 1
    np.save(tmp_path / "joint.npy", joint)
    data = with_correlated(grid, "f0,f1", joint_file=str(tmp_path / "joint.npy"))
    drawn = data.factors_at(data.sample_index(200, 0))
    assert set(map(tuple, drawn[:, :2].tolist())) == {(0, 3), (2, 0)}


def test_rows_held_out_stay_independent() -> None:
    data = load("dsprites", 16, held_out=0.2, correlated="x,scale", correlation_width=0.1, draws=3000)
    assert len(data) == 3000
    assert data.weights is None
    assert correlation(data.all_factors(), 3, 1) > 0.9
    assert data.held_out is not None
    assert data.held_out.weights is None
    assert abs(correlation(data.held_out.factors_at(range(5000)), 3, 1)) < 0.05


def test_draws_are_a_fixed_set_by_weight_and_with_repetition() -> None:
    data = with_correlated(with_held_out(Numbers((3, 3)), 0.3, 0), "f0,f1", 0.1)
    found = with_draws(data, 50, 1)
    assert len(found) == 50
    assert torch.equal(found.all_factors(), data.factors_at(data.sample_index(50, 1)))
    assert not torch.equal(found.all_factors(), with_draws(data, 50, 2).all_factors())
    assert found.held_out is data.held_out is not None
    assert len(load("dsprites", 16, draws=100)) == 100  # independent sets of the same size


def test_what_it_opened_opens_it_again() -> None:
    data = load("dsprites", 16, held_out=0.5, correlated="x,scale", draws=200)
    assert data.opened is not None
    again = load(data.opened["name"], data.opened["resolution"], **data.opened["settings"])
    assert again.describe() == data.describe()
    whole = load_plain(data.opened)
    assert len(whole) == 737_280
    assert whole.weights is None
    assert torch.equal(load_plain(data.opened, held_out=True).all_factors(), data.all_factors())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"correlated": "x"}, "correlated is 'x'; expected two factors as a,b"),
        ({"correlated": "x,scale,y"}, "expected two factors as a,b"),
        ({"correlated": "x,scael"}, "there is no factor 'scael'; did you mean 'scale'"),
        ({"correlated": "x,x"}, "factor 'x' cannot be correlated with itself"),
        ({"correlated": "x,scale", "correlation_width": 0.0}, "correlation_width is 0.0; expected a number above 0"),
        ({"correlated": "x,y;x,scale", "joint_file": "a.npy"}, "correlated names 2 pairs; expected one"),
        ({"correlated": "x,y", "joint_file": "nowhere.npy"}, "nowhere.npy does not exist"),
        ({"draws": 0}, "draws is 0; expected at least 1"),
    ],
)
def test_mistakes_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("dsprites", 16, **settings)
