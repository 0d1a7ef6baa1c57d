"""The arguments and results that all metrics share: arrays, clear errors, scores with their matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unbraid.arguments import LARGEST as LARGEST_WHOLE
from unbraid.arguments import need_array, need_whole
from unbraid.errors import InputError, shown

Array = np.ndarray[Any, Any]
Rng = np.random.Generator | int | None
Pair = tuple[Any, Any]  # codes and factors
LARGEST = 1e40  # that a code may be: more than any float32
SMALLEST = 1e-100  # a smaller code is 0
EXACT = 2**53  # larger whole numbers are not exact as floats
DENSE = 4 << 30  # bytes that a sparse matrix may take when it is written out


class Scores(dict[str, float]):
    """Scores by name. `arrays` holds what they are computed from, such as importances and scores per code or factor."""

    def __init__(self, scores: dict[str, float], **arrays: Array) -> None:
        super().__init__({name: float(value) for name, value in scores.items()})
        self.arrays = arrays


def generator(rng: Rng) -> np.random.Generator:
    """A NumPy generator. None means seed 0, so that the same call returns the same score."""
    if not isinstance(rng, np.random.Generator | int | np.integer | None):
        raise InputError(f"rng is {rng!r}; expected a seed or a NumPy generator")
    if not isinstance(rng, np.random.Generator | None) and rng < 0:
        raise InputError(f"the seed is {rng}; expected at least 0")
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(0 if rng is None else rng)


class ContinuousFactorError(InputError):
    """A metric that needs classes received a continuous factor; `remedy` says what to do instead.

    `rows` are the numbers of the rows as they were given, where these are a selection.
    """

    def __init__(self, factors: Array, column: int, remedy: str, name: str = "", rows: Array | None = None) -> None:
        values = factors[:, column]
        row, count = int(_fractions(values).argmax()), len(np.unique(values))
        self.column, self.remedy = column, remedy
        given = row if rows is None else rows[row]
        self.problem = f"{name or f'factors column {column}'} is continuous ({values[row]:g} at row {given})"
        self.hint = ""
        if count <= min(64, len(values) / 10):  # probably the values of a grid: 0.5, 0.6, … 1.0
            self.hint = f"; or number its {count} values: numpy.unique(column, return_inverse=True)[1]"
        super().__init__(f"{self.problem}; {remedy}{self.hint}")


def as_codes(codes: Any, name: str = "codes") -> Array:
    """Codes as float64 (n, d). An InputError names the column that is wrong.

    Numbers beyond 1e40 are refused, because solvers do not end or overflow, and those below 1e-100 are 0, because
    their squares are.
    """
    return _in_range(_finite(_as_table(codes, name).astype(np.float64), name), name)


def _in_range(table: Array, name: str) -> Array:
    """The table without numbers that would overflow or vanish when squared."""
    size = np.abs(table)
    if size.max() > LARGEST:
        row, column = np.argwhere(size > LARGEST)[0]
        raise InputError(
            f"{name} column {column} is {table[row, column]:g} at row {row}; expected at most {LARGEST:g}: rescale them"
        )
    table[size < SMALLEST] = 0.0
    return table


def as_factors(factors: Any, name: str = "factors") -> Array:
    """Factors (n, k): int64 if all values are whole numbers, else float64."""
    table = _as_table(factors, name)
    if table.dtype.kind != "f":
        return _exact(table)
    table = _in_range(_finite(table.astype(np.float64), name), name)
    return table if continuous(table).any() else table.astype(np.int64)


def _exact(table: Array) -> Array:
    """Whole numbers as int64 that floats hold exactly: a column with larger ones is numbered in increasing order."""
    columns = []
    for column in table.T:
        exact = table.dtype.kind == "b" or max(abs(int(column.min())), abs(int(column.max()))) < EXACT
        columns.append(column.astype(np.int64) if exact else np.unique(column, return_inverse=True)[1])
    return np.stack(columns, 1)


def continuous(factors: Array) -> Array:
    """Which factors are continuous, (k,): those with a value that is not a whole number."""
    if factors.dtype.kind != "f":
        return np.zeros(factors.shape[1], bool)
    return np.asarray(_fractions(factors).any(0))


def _fractions(values: Array) -> Array:
    """Which numbers are not whole, or too large to tell."""
    return np.asarray((values != np.round(values)) | (np.abs(values) >= EXACT))


def need_classes(factors: Array, remedy: str, name: str = "factors", among: Sequence[int] | None = None) -> None:
    """Refuse continuous factors (only those `among` some columns); `remedy` says what to do instead."""
    for column in np.flatnonzero(continuous(factors)):
        if among is None or column in among:
            raise ContinuousFactorError(factors, int(column), remedy, f"{name} column {column}")


def _finite(table: Array, name: str) -> Array:
    bad = ~np.isfinite(table)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(f"{name} column {column} is {table[row, column]} at row {row}; expected finite numbers")
    return table


def _as_table(values: Any, name: str) -> Array:
    if values is None or isinstance(values, str):
        raise InputError(f"{name} are {values!r}; expected an array (samples, columns)")
    if hasattr(values, "toarray") and hasattr(values, "shape"):  # a sparse matrix
        size = 8 * int(np.prod(values.shape, dtype=np.int64))
        if size > DENSE:
            raise InputError(
                f"{name} are sparse {tuple(values.shape)}, which take {size / 2**30:.0f} GB when written out; expected "
                f"at most {DENSE / 2**30:.0f} GB: choose columns or rows"
            )
        values = values.toarray()
    table: Array = need_array(name, values)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.shape[0] or not table.shape[1]:
        raise InputError(f"{name} have shape {table.shape}; expected (samples, columns)")
    if table.dtype.kind == "O":
        table = _numbers(table, name)
    if table.dtype.kind in "US":
        numbered = ", such as numpy.unique(column, return_inverse=True)[1]" if name.endswith("factors") else ""
        raise InputError(f"{name} are text; expected numbers{numbered}")
    if table.dtype.kind not in "iubf":
        raise InputError(f"{name} are {table.dtype}; expected numbers")
    return table


def _numbers(table: Array, name: str) -> Array:
    """A table of objects, such as columns of different types, as numbers."""
    for (row, column), cell in np.ndenumerate(table):
        if not isinstance(cell, int | float | np.number | np.bool_):
            raise InputError(f"{name} column {column} is {cell!r} at row {row}; expected numbers")
    try:
        return np.asarray(table, np.float64)
    except OverflowError:
        raise InputError(f"{name} hold a number that no float holds; expected smaller ones") from None


def paired(codes: Any, factors: Any, classes: str = "", which: str = "") -> tuple[Array, Array]:
    """Codes (n, d) and factors (n, k) of the same samples.

    If `classes` is given, continuous factors are refused, and it says what to do instead. `which` names the set.
    """
    table, labels = as_codes(codes, f"{which}codes"), as_factors(factors, f"{which}factors")
    if len(table) != len(labels):
        raise InputError(f"there are {len(table)} rows of {which}codes but {len(labels)} of {which}factors")
    if classes:
        need_classes(labels, classes, f"{which}factors")
    return table, labels


def split(
    codes: Any, factors: Any, test: Pair | None, rng: Rng, classes: str = ""
) -> tuple[Array, Array, Array, Array]:
    """Training codes and factors, test codes and factors: as given, or a random split of the rows, two to one."""
    table, labels = paired(codes, factors, classes)
    if test is not None:
        test_table, test_labels = paired(*as_pair(test), classes, "test ")
        for name, train, other in (("codes", table, test_table), ("factors", labels, test_labels)):
            if train.shape[1] != other.shape[1]:
                raise InputError(f"{name} have {train.shape[1]} columns but {other.shape[1]} in the test set")
        return table, labels, test_table, test_labels
    need_rows(len(table))
    order = generator(rng).permutation(len(table))
    cut = round(len(table) * 2 / 3)
    return table[order[:cut]], labels[order[:cut]], table[order[cut:]], labels[order[cut:]]


def as_pair(test: Any) -> Pair:
    """The codes and the factors of a test set."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InputError("the test set is not a pair; expected test=(codes, factors)")
    return test[0], test[1]


def need_rows(count: int) -> None:
    """Refuse too few rows to split."""
    if count < 3:
        raise InputError(f"the number of samples is {count}; expected at least 3, for a training and a test set")


def r2(truth: Array, predicted: Array) -> float:
    """The share of the variance of the truth, (n,) or (n, t), that is explained; 0 if the truth is constant."""
    spread = ((truth - truth.mean(0)) ** 2).sum()
    return float(1 - ((truth - predicted) ** 2).sum() / spread) if spread > 0 else 0.0


def standardise(codes: Array, *others: Array) -> list[Array]:
    """Codes with mean 0 and standard deviation 1, and others shifted and scaled the same way. Constant codes are 0."""
    moving = np.ptp(codes, axis=0) > 0  # the deviation of a constant column may be a rounding error
    mean, deviation = np.where(moving, codes.mean(0), codes[0]), np.where(moving, codes.std(0), 1)
    return [(table - mean) / deviation for table in (codes, *others)]


def gap(values: Array) -> Array:
    """The largest minus the second largest entry along the first axis; a single entry minus 0."""
    if len(values) == 1:
        return np.asarray(values[0])
    top = np.sort(values, axis=0)
    return np.asarray(top[-1] - top[-2])


def checked_groups(width: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The groups of code columns, checked: none empty, no column out of range."""
    if not groups:
        raise InputError("groups are empty; expected at least one group of columns")
    for index, group in enumerate(groups):
        if not isinstance(group, Iterable) or isinstance(group, str):
            raise InputError(f"group {index} is {shown(group)}; expected columns of the codes")
    columns = [
        [need_whole(f"a column of group {index}", column, -LARGEST_WHOLE) for column in group]
        for index, group in enumerate(groups)
    ]
    for index, group in enumerate(columns):
        wrong = [column for column in group if not 0 <= column < width]
        if wrong:
            raise InputError(f"group {index} names column {wrong[0]}; codes have columns 0 to {width - 1}")
        if not group:
            raise InputError(f"group {index} is empty; expected columns of the codes")
    return columns


def names_of(count: int, names: Sequence[str] | None) -> list[str]:
    """The given names, or 0, 1, … as text."""
    return list(names) if names is not None else [str(column) for column in range(count)]
