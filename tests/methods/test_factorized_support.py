from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from unbraid.methods.factorized_support import shortfall, support_distance


def by_loops(codes: Tensor) -> Tensor:
    """The definition, one combination after the other."""
    n, d = codes.shape
    total = torch.zeros((), dtype=codes.dtype)
    for i in range(d):
        for j in range(i + 1, d):
            farthest = torch.zeros((), dtype=codes.dtype)
            for a in range(n):
                for b in range(n):
                    distances = [(codes[a, i] - row[i]) ** 2 + (codes[b, j] - row[j]) ** 2 for row in codes]
                    farthest = torch.maximum(farthest, torch.stack(distances).min())
            total = total + farthest
    return total


def test_the_distance_and_its_gradient_are_those_of_the_definition() -> None:
    torch.manual_seed(0)
    codes = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    found, expected = support_distance(codes), by_loops(codes)
    assert found.item() == pytest.approx(expected.item())
    (ours,), (theirs,) = (torch.autograd.grad(value, codes) for value in (found, expected))
    assert torch.allclose(ours, theirs)


def test_correlation_costs_nothing_where_every_combination_occurs() -> None:
    grid = torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0))
    often = torch.cat([grid, *[grid[[0, 4, 8]]] * 20])  # mostly on the diagonal
    assert float(support_distance(often)) == 0
    assert float(support_distance(grid[[0, 4, 8]])) == 2  # (0, 2) does not occur; the nearest that does is (1, 1)


def test_scale_is_what_lacks_to_a_deviation_of_one() -> None:
    codes = torch.tensor([[0.0, -3.0, 5.0], [1.0, 3.0, 5.0]])
    assert float(shortfall(codes)) == pytest.approx((1 - math.sqrt(0.25 + 1e-6)) + 0 + (1 - 1e-3))
