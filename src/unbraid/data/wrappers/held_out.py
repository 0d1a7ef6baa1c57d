"""Rows kept out of training, for testing: combinations of factors, or a random fraction."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData
from unbraid.data.wrappers.selection import Selection
from unbraid.data.wrappers.subset import Subset, split
from unbraid.errors import InputError


class HeldOut(Selection):
    """`data` without the rows for which `predicate` is true; those are in `held_out`, for testing.

    `predicate` gets the factors by name, one column each, and returns a boolean column:
    `HeldOut(data, lambda f: (f["shape"] == 2) & (f["x"] < 16))` never shows a heart on the left.
    """

    def __init__(self, data: FactorData, predicate: Callable[[Mapping[str, Tensor]], Tensor]) -> None:
        columns = dict(zip(data.names, data.all_factors().T, strict=True))
        try:
            out = torch.as_tensor(predicate(columns))
        except KeyError as error:
            raise InputError(f"there is no factor {error}; known are {', '.join(data.names)}") from error
        if out.shape != (len(data),) or out.dtype != torch.bool:
            returned = f"{out.dtype} of shape {tuple(out.shape)}"
            raise InputError(f"the predicate returned {returned}; expected bool ({len(data)},)")
        if not bool(out.any()):
            raise InputError("the predicate is true for no row; nothing would be held out")
        rows = (~out).nonzero().flatten()
        super().__init__(data, rows, None if data.weights is None else data.weights[rows])
        self.held_out = Subset(data, out.nonzero().flatten())


def with_held_out(data: FactorData, held_out: float = 0.0, split_seed: int = 0) -> FactorData:
    """`data` without a random fraction of its rows; those are its `held_out`, for testing."""
    if not 0 < held_out < 1:
        raise InputError(f"held_out is {held_out}; expected a fraction of the rows between 0 and 1")
    train, test = split(data, [1 - held_out, held_out], split_seed)
    train.held_out = test
    return train


DECLARED = Wrapper(
    with_held_out,
    {"held_out": "Fraction of the rows kept for testing.", "split_seed": "Seed that chooses the rows held out."},
    divides=True,
)
