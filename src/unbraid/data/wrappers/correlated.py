"""Rows drawn by weight, so that factors are correlated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData
from unbraid.data.user_files import read_array
from unbraid.data.wrappers.selection import Selection
from unbraid.errors import InputError, shown


class Correlated(Selection):
    """`data` with rows drawn by weight, so that pairs of factors are correlated. No row is added or removed.

    `pairs` names the factors: a sequence of `(a, b)`, for each of which p(a, b) ∝ exp(-(a - b)² / 2σ²) with both
    factors scaled to [0, 1] and σ = `strength` (0.1 is strong, 1 is weak); or a mapping from `(a, b)` to its joint
    table, nonnegative, of shape (size of a, size of b). The weights of several pairs multiply.
    """

    def __init__(
        self,
        data: FactorData,
        pairs: Sequence[tuple[str, str]] | Mapping[tuple[str, str], Tensor | np.ndarray[Any, Any]],
        strength: float = 0.2,
    ) -> None:
        data.need_labels("correlated factors")
        factors = data.all_factors()
        weights = torch.ones(len(data), dtype=torch.float64) if data.weights is None else data.weights.clone()
        self.tables: dict[tuple[str, str], Tensor] = {}
        for pair in pairs:
            a, b = data.column(pair[0]), data.column(pair[1])
            if a == b:
                raise InputError(f"factor '{pair[0]}' cannot be correlated with itself")
            sizes = (data.sizes[a], data.sizes[b])
            table = _joint(pair, pairs[pair], sizes) if isinstance(pairs, Mapping) else _bell(sizes, strength)
            weights *= table[factors[:, a], factors[:, b]]
            self.tables[pair] = table / table.sum()
        super().__init__(data, torch.arange(len(data)), weights)


def _bell(sizes: tuple[int, int], strength: float) -> Tensor:
    """exp(-(a - b)² / 2σ²) on factors scaled to [0, 1]."""
    if not strength > 0:
        raise InputError(f"strength is {strength}; expected the width of the joint distribution, a number above 0")
    a, b = (torch.linspace(0, 1, size, dtype=torch.float64) for size in sizes)
    return torch.exp(-((a[:, None] - b) ** 2) / (2 * strength**2))


def _joint(pair: tuple[str, str], table: Tensor | np.ndarray[Any, Any], sizes: tuple[int, int]) -> Tensor:
    try:
        joint = torch.as_tensor(table, dtype=torch.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the joint table of {pair} is {shown(table)}; expected numbers") from error
    if tuple(joint.shape) != sizes:
        raise InputError(f"the joint table of {pair} has shape {tuple(joint.shape)}; expected {sizes}")
    if not bool((joint >= 0).all() and joint.isfinite().all() and joint.sum() > 0):
        raise InputError(f"the joint table of {pair} must be finite and nonnegative with a positive sum")
    return joint


def with_correlated(
    data: FactorData, correlated: str = "", correlation_width: float = 0.2, joint_file: str = ""
) -> Correlated:
    """`data` drawn so that factors are correlated, `a,b` or several pairs `a,b;c,d`; rows held out stay as they are.

    p(a, b) is a band of this width, or for one pair the table in an .npy file (values of a, values of b).
    """
    pairs = [tuple(part.strip() for part in pair.split(",")) for pair in correlated.split(";")]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise InputError(f"correlated is '{correlated}'; expected two factors as a,b, or several pairs as a,b;c,d")
    if not correlation_width > 0:
        raise InputError(f"correlation_width is {correlation_width}; expected a number above 0")
    named = [(pair[0], pair[1]) for pair in pairs]
    if joint_file and len(named) > 1:
        raise InputError(f"joint_file is a table of two factors and correlated names {len(named)} pairs; expected one")
    if joint_file:
        drawn = Correlated(data, {named[0]: read_array(joint_file, "probabilities")})
    else:
        drawn = Correlated(data, named, correlation_width)
    drawn.held_out = data.held_out
    return drawn


DECLARED = Wrapper(
    with_correlated,
    {
        "correlated": "Two factors that go together, as x,scale, or several pairs, as x,scale;shape,y.",
        "correlation_width": "How far apart they stray: the width of p(a, b), both from 0 to 1; 0.1 is strong.",
        "joint_file": "An .npy of p(a, b) instead, one row per value of the first.",
    },
    divides=True,
    user_files={"joint_file": ()},
)
