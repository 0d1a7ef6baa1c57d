"""Codes beside the images: those of a frozen encoder, or the true factors instead (multitask, section 4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, digest
from unbraid.data.user_files import read_array
from unbraid.data.wrappers.annotated import Annotated, Array, finite_numbers, one_row_each
from unbraid.errors import InputError, nearest

SCALES = ("as_is", "standard")


class CodeData(Annotated):
    """`data` with one code per row: a batch also holds `codes`, float32 (n, d)."""

    def __init__(self, data: FactorData, codes: Tensor | Array) -> None:
        super().__init__(data)
        self._table = torch.from_numpy(_checked(np.asarray(codes), data))
        self.codes = self._table.shape[1]

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {"codes": self._table[rows]}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "codes": digest(self._table)}


def _checked(codes: Array, data: FactorData) -> Array:
    table = one_row_each(codes, data, "codes")
    return np.stack([finite_numbers(column, f"codes column {number}") for number, column in enumerate(table.T)], 1)


def scaled_factors(data: FactorData) -> Tensor:
    """The factors of every row as numbers from 0 to 1: float32 (len, k)."""
    data.need_labels("codes from factors")
    if not data.names:
        raise InputError("this data has no factors to use as codes; expected codes=FILE.npy")
    last = torch.tensor([max(size - 1, 1) for size in data.sizes])
    return data.all_factors().float() / last


def with_codes(data: FactorData, codes: str = "", code_scale: str = "as_is") -> CodeData:
    """Codes from an .npy file with one row per row of the data, or `factors` for the true factors from 0 to 1."""
    if not codes:
        raise InputError("code_scale needs the setting codes: an .npy file, or factors")
    if code_scale not in SCALES:
        raise InputError(f"code_scale is '{code_scale}'{nearest(code_scale, SCALES)}")
    table = _checked(scaled_factors(data).numpy() if codes == "factors" else read_array(codes, "codes"), data)
    if code_scale == "standard":
        mean, spread = table.mean(0, np.float64), table.std(0, np.float64)
        table = ((table - mean) / np.where(spread > 0, spread, 1)).astype(np.float32)
    return CodeData(data, table)


DECLARED = Wrapper(
    with_codes,
    {
        "codes": "An .npy of codes, one for each row (`unbraid encode` writes it); or factors, for the true ones.",
        "code_scale": "as_is, or standard for mean 0 and variance 1.",
    },
    gives="codes",
    user_files={"codes": ("factors",)},
)
