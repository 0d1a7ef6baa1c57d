from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.examples.numbers import Numbers
from unbraid.data import Correlated, FactorData, load
from unbraid.data.wrappers.correlated import with_correlated
from unbraid.errors import InputError


@pytest.fixture
def grid() -> FactorData:
    return Numbers((4, 5, 6))


def counts(data: FactorData, a: int, b: int, n: int = 60_000) -> torch.Tensor:
    """How often each pair of values of factors a and b is drawn, as a frequency table."""
    factors = data.factors_at(data.sample_index(n, 0))
    joint = torch.bincount(factors[:, a] * data.sizes[b] + factors[:, b], minlength=data.sizes[a] * data.sizes[b])
    return joint.view(data.sizes[a], data.sizes[b]).double() / n


def correlation(factors: torch.Tensor, a: int, b: int) -> float:
    return float(torch.corrcoef(factors[:, [a, b]].double().T)[0, 1])


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


def test_bad_pairs(grid: FactorData) -> None:
    cases = {
        "no factor 'g0'; known are f0, f1, f2": lambda: Correlated(grid, [("g0", "f1")]),
        "strength is 0": lambda: Correlated(grid, [("f0", "f1")], 0),
        "with itself": lambda: Correlated(grid, [("f0", "f0")]),
        r"shape \(4, 4\); expected \(4, 5\)": lambda: Correlated(grid, {("f0", "f1"): torch.ones(4, 4)}),
        "finite and nonnegative": lambda: Correlated(grid, {("f0", "f1"): -torch.ones(4, 5)}),
    }
    for message, make in cases.items():
        with pytest.raises(InputError, match=message):
            make()


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
    ],
)
def test_mistakes_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("dsprites", 16, **settings)
