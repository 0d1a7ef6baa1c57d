"""What every metric does with its arguments: arrays in, clear errors, and scores that carry their matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError

Array = np.ndarray[Any, Any]
Rng = np.random.Generator | int | None
Pair = tuple[Any, Any]  # codes and factors


class Scores(dict[str, float]):
    """Scores by name. `arrays` holds what they were made from: importance matrices, scores by code and by factor."""

    def __init__(self, scores: dict[str, float], **arrays: Array) -> None:
        super().__init__({name: float(value) for name, value in scores.items()})
        self.arrays = arrays


def generator(rng: Rng) -> np.random.Generator:
    """A NumPy generator; None is seed 0, so that the same call gives the same score."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(0 if rng is None else rng)


def as_codes(codes: Any, name: str = "codes") -> Array:
    """Codes as float64 (n, d), or an InputError that says which column is wrong."""
    table = _as_table(codes, name).astype(np.float64)
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(f"{name} column {column} is {table[row, column]} at row {row}; expected finite numbers")
    return table


def as_factors(factors: Any, name: str = "factors") -> Array:
    """Factors as int64 (n, k): integers, or floats that are whole numbers."""
    table = _as_table(factors, name)
    if table.dtype.kind == "f":
        bad = ~np.isfinite(table) | (table != np.round(table))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InputError(
                f"{name} column {column} is {table[row, column]} at row {row}; expected whole numbers"
            )
    elif table.dtype.kind not in "iub":
        raise InputError(f"{name} are {table.dtype}; expected integers")
    return table.astype(np.int64)


def _as_table(values: Any, name: str) -> Array:
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        table = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise InputError(f"{name} have rows of different lengths; expected (samples, columns)") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.shape[0] or not table.shape[1]:
        raise InputError(f"{name} have shape {table.shape}; expected (samples, columns)")
    if table.dtype.kind not in "iubf":
        raise InputError(f"{name} are {table.dtype}; expected numbers")
    return table


def paired(codes: Any, factors: Any) -> tuple[Array, Array]:
    """Codes (n, d) and factors (n, k) of the same samples, each factor's values numbered 0, 1, …"""
    table, labels = as_codes(codes), as_factors(factors)
    if len(table) != len(labels):
        raise InputError(f"there are {len(table)} rows of codes but {len(labels)} of factors")
    return table, labels


def split(codes: Any, factors: Any, test: Pair | None, rng: Rng) -> tuple[Array, Array, Array, Array]:
    """Training codes and factors, test codes and factors: as given, or two thirds and one third of the rows."""
    table, labels = paired(codes, factors)
    if test is not None:
        test_table, test_labels = paired(*test)
        for name, here, there in (("codes", table, test_table), ("factors", labels, test_labels)):
            if here.shape[1] != there.shape[1]:
                raise InputError(f"{name} have {here.shape[1]} columns but {there.shape[1]} in the test set")
        return table, labels, test_table, test_labels
    if len(table) < 3:
        raise InputError(f"there are {len(table)} samples; at least 3 are needed for a training and a test set")
    order = generator(rng).permutation(len(table))
    cut = round(len(table) * 2 / 3)
    return table[order[:cut]], labels[order[:cut]], table[order[cut:]], labels[order[cut:]]


def standardise(codes: Array, *others: Array) -> list[Array]:
    """Codes, and others by the same shift and scale, with mean 0 and standard deviation 1; constant ones stay 0."""
    moving = np.ptp(codes, axis=0) > 0  # the deviation of a constant may be a rounding error
    mean, deviation = np.where(moving, codes.mean(0), codes[0]), np.where(moving, codes.std(0), 1)
    return [(table - mean) / deviation for table in (codes, *others)]


def gap(values: Array) -> Array:
    """The largest minus the second largest along the first axis; the largest where there is only one."""
    if len(values) == 1:
        return np.asarray(values[0])
    top = np.sort(values, axis=0)
    return np.asarray(top[-1] - top[-2])


def names_of(count: int, names: Sequence[str] | None) -> list[str]:
    return list(names) if names is not None else [str(column) for column in range(count)]
