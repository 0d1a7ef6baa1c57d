"""The two-sample test, on images of known difference."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.studies.intervention.two_samples import effective_share, two_sample_accuracy


def images(rows: torch.Tensor) -> torch.Tensor:
    """Squares in one of six rows, the column at random."""
    columns = torch.randint(6, (len(rows),), generator=torch.Generator().manual_seed(1))
    return squares().images(torch.stack([rows, columns], 1)).float() / 255


def test_two_samples_of_known_difference() -> None:
    """Rows 0 to 2 against 0 to 5: total variation 1/2, so that nobody is right more often than 3/4."""
    rng = torch.Generator().manual_seed(0)
    upper, any_row = (torch.randint(most, (1000,), generator=rng) for most in (3, 6))
    real, fake = images(upper), images(any_row)
    settings: dict[str, Any] = {"network": "tiny", "steps": 80}
    assert two_sample_accuracy(real, fake, **settings) == pytest.approx(0.75, abs=0.05)
    weights = (any_row < 3).float() * 2  # p / q
    assert two_sample_accuracy(real, fake, weights, **settings) == pytest.approx(0.5, abs=0.06)
    assert two_sample_accuracy(real, fake, 2 - weights, **settings) == pytest.approx(1.0, abs=0.03)  # the other half


def test_weights_must_be_weights() -> None:
    some = images(torch.zeros(4, dtype=torch.int64))
    for weights in (torch.ones(3), -torch.ones(4), torch.zeros(4)):
        with pytest.raises(InputError, match="weights are of shape"):
            two_sample_accuracy(some, some, weights, network="tiny")
    with pytest.raises(InputError, match="there are 1 and 4 images"):
        two_sample_accuracy(some[:1], some, network="tiny")


def test_the_effective_share_of_weights() -> None:
    assert effective_share(torch.full((7,), 3.0)) == pytest.approx(1)
    assert effective_share(torch.tensor([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
