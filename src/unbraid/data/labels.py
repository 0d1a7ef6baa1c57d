"""Typed factors: which columns are classes, which are ordered values and which are continuous.

One set of rules for arrays, data frames and files:

- words, booleans and categories are **classes**: their numbering has no meaning, so nothing is regressed on it;
- whole numbers are **ordered** values: they can be counted and regressed;
- other numbers are **continuous**, unless they have few values (0.5, 0.6, … 1.0), which are then ordered, with a note;
- NaN, None and empty text are missing labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from unbraid.arguments import need_array
from unbraid.errors import InputError, nearest

Array = np.ndarray[Any, Any]
TYPES = ("classes", "ordered", "continuous")
FEW = 64  # values that a grid may have, and at most a tenth of the rows
EXACT = 2**53  # larger whole numbers are not exact as floats


@dataclass(frozen=True)
class Labels:
    """Factors (n, k) with their names and types."""

    values: Array
    """float64 (n, k), NaN where a label is missing."""
    names: tuple[str, ...]
    types: tuple[str, ...]
    """Each `classes`, `ordered` or `continuous`."""
    levels: tuple[tuple[Any, ...], ...]
    """What the numbers 0, 1, … of a factor stand for; empty where a factor's numbers are its values."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def complete(self) -> Array:
        """Which rows (n,) have every label."""
        return np.asarray(~np.isnan(self.values).any(1))

    @property
    def classes(self) -> list[int]:
        """The columns that are classes."""
        return [column for column, factor_type in enumerate(self.types) if factor_type == "classes"]

    def rows(self, index: Array) -> Labels:
        """These rows, by number or by mask."""
        return Labels(self.values[index], self.names, self.types, self.levels, self.notes)

    def select(self, names: Sequence[str]) -> Labels:
        """These factors, in this order."""
        for name in names:
            if name not in self.names:
                raise InputError(f"there is no factor '{name}'{nearest(name, self.names)}")
        columns = [self.names.index(name) for name in names]
        types, levels = tuple(self.types[c] for c in columns), tuple(self.levels[c] for c in columns)
        return Labels(self.values[:, columns], tuple(names), types, levels, self.notes)

    def retyped(self, types: Mapping[str, str]) -> Labels:
        """The same factors with other types. Numbers that stand for classes or for the values of a grid stay so."""
        if not types:
            return self
        for name, factor_type in types.items():
            column = self.names.index(name) if name in self.names else -1
            if column >= 0 and self.types[column] == "classes" and self.levels[column] and factor_type != "classes":
                raise InputError(f"factor '{name}' has classes, which have no order; expected type classes")
        other = as_labels(self.values, self.names, {**dict(zip(self.names, self.types, strict=True)), **types})
        levels = tuple(old or new for old, new in zip(self.levels, other.levels, strict=True))
        return Labels(other.values, self.names, other.types, levels, self.notes)

    def table(self) -> Array:
        """The factors as metrics read them: int64, or float64 if one is continuous. No label may be missing.

        Metrics take whole numbers for values to count, so a continuous factor of whole numbers is shifted by a half.
        """
        kept = self.values.copy()
        for column, factor_type in enumerate(self.types):
            if factor_type == "continuous" and not (kept[:, column] % 1).any():
                kept[:, column] += 0.5
        return kept if "continuous" in self.types else kept.astype(np.int64)


def as_labels(factors: Any, names: Iterable[str] | None = None, types: Mapping[str, str] | None = None) -> Labels:
    """Factors as typed columns: an array (n,) or (n, k), a tensor, a data frame, or a mapping from names to columns.

    `names` are those of the columns, by default the data frame's or 0, 1, …. `types` overrides the rules for some.

    >>> as_labels({"shape": ["heart", "square"], "x": [0, 3]}).types
    ('classes', 'ordered')
    """
    if isinstance(factors, Labels):
        return factors.retyped(types or {})
    columns = _columns(factors)
    labels = list(columns) if names is None else [str(name) for name in names]
    if len(labels) != len(columns):
        raise InputError(f"there are {len(labels)} names for {len(columns)} factors; expected one per factor")
    for name in labels:
        if labels.count(name) > 1:
            raise InputError(f"two factors are called '{name}'; expected different names")
    for name, factor_type in (types or {}).items():
        if name not in labels:
            raise InputError(f"there is no factor '{name}'{nearest(name, labels)}")
        if factor_type not in TYPES:
            raise InputError(f"the type of factor '{name}' is '{factor_type}'; expected {', '.join(TYPES)}")
    typed = [
        _typed(name, column, (types or {}).get(name)) for name, column in zip(labels, columns.values(), strict=True)
    ]
    values = np.stack([one[0] for one in typed], 1)
    notes = tuple(one[3] for one in typed if one[3])
    return Labels(values, tuple(labels), tuple(one[1] for one in typed), tuple(one[2] for one in typed), notes)


def together(
    first: Any, second: Any, names: Iterable[str] | None = None, types: Mapping[str, str] | None = None
) -> tuple[Labels, int]:
    """Two tables of the same factors as one, with the same numbers for words in both, and the length of the first."""
    one, other = _columns(first), _columns(second)
    if len(one) != len(other):
        raise InputError(f"factors have {len(one)} columns but {len(other)} in the test set")
    columns = {}
    for (name, column), other_column in zip(one.items(), other.values(), strict=True):
        parts = [_plain(part) for part in (column, other_column)]
        kinds = {part.dtype.kind for part in parts}
        if len(kinds) > 1 and kinds & set("OUSb"):
            parts = [part.astype(object) for part in parts]
        columns[name] = np.concatenate(parts)
    labels = as_labels(columns, list(one) if names is None else names, types)
    return labels, len(next(iter(one.values())))


def read_types(text: str) -> dict[str, str]:
    """`"shape=classes,angle=continuous"` as a mapping."""
    types = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, factor_type = part.rpartition("=")
        if not equals:
            raise InputError(f"types has '{part}'; expected NAME=TYPE, with a type of {', '.join(TYPES)}")
        types[name] = factor_type
    return types


def _columns(factors: Any) -> dict[str, Any]:
    """The columns of a table by name."""
    if factors is None or isinstance(factors, str):
        raise InputError(f"factors are {factors!r}; expected an array (samples, columns)")
    if hasattr(factors, "iloc"):  # pandas
        if not hasattr(factors, "columns"):
            return {str(factors.name if factors.name is not None else 0): factors}
        columns = {str(name): factors.iloc[:, index] for index, name in enumerate(factors.columns)}
        if len(columns) != factors.shape[1]:
            raise InputError("two columns of factors have the same name; expected different names")
        _need_cells(factors.shape)
        return columns
    if isinstance(factors, Mapping):
        table = {str(name): col if hasattr(col, "iloc") else _array(col) for name, col in factors.items()}
        lengths = {len(column) for column in table.values()}
        if any(column.ndim != 1 for column in table.values()) or len(lengths) != 1:
            raise InputError("factors are a mapping of columns of different lengths; expected one value per sample")
        return table
    array = _array(factors)
    array = array[:, None] if array.ndim == 1 else array
    _need_cells(array.shape)
    return {str(index): array[:, index] for index in range(array.shape[1])}


def _plain(column: Any) -> Array:
    """A column as an array, categories as words."""
    if str(getattr(column, "dtype", "")) == "category":
        return np.array([None if _missing(cell) else str(cell) for cell in column], dtype=object)
    return np.asarray(column)


def _need_cells(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"factors have shape {tuple(shape)}; expected (samples, columns)")


def _array(values: Any) -> Array:
    if isinstance(values, list | tuple) and any(isinstance(cell, str) for cell in _cells(values)):
        try:
            return np.asarray(values, dtype=object)  # NumPy would make words of the numbers beside words
        except ValueError:
            raise InputError("factors have rows of different lengths; expected (samples, columns)") from None
    return cast(Array, need_array("factors", values))


def _cells(rows: Any) -> Iterable[Any]:
    for row in rows:
        yield from row if isinstance(row, list | tuple) else (row,)


Typed = tuple[Array, str, tuple[Any, ...], str]  # values, type, levels, note


def _typed(name: str, column: Any, asked: str | None) -> Typed:
    categories = getattr(column, "cat", None) if str(getattr(column, "dtype", "")) == "category" else None
    if categories is not None:
        codes = np.asarray(categories.codes, np.float64)
        factor_type = asked or ("ordered" if categories.ordered else "classes")
        if factor_type == "continuous":
            raise InputError(f"factor '{name}' has categories; expected type classes or ordered")
        return np.where(codes < 0, np.nan, codes), factor_type, tuple(categories.categories), ""
    cells = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if cells.dtype.kind == "O":
        try:
            cells = _from_objects(cells)
        except OverflowError:
            raise InputError(f"factor '{name}' has a number that no float holds; expected smaller ones") from None
    if cells.dtype.kind in "OUSb":
        if asked not in (None, "classes"):
            raise InputError(f"factor '{name}' has words or booleans, which have no order; expected type classes")
        return _named(cells)
    if cells.dtype == np.float16:
        cells = cells.astype(np.float32)  # which holds 2**53
    if cells.dtype.kind not in "iuf":
        raise InputError(f"factor '{name}' is {cells.dtype}; expected numbers or words")
    return _numbers(name, cells, asked)


def _from_objects(cells: Array) -> Array:
    """Objects as floats or integers if all that are not missing are numbers, else as words with None for missing."""
    missing = np.array([_missing(cell) for cell in cells], bool)
    known = cells[~missing]
    numbers = all(isinstance(c, int | float | np.number) and not isinstance(c, bool | np.bool_) for c in known)
    if numbers and len(known):
        if missing.any() or not all(isinstance(cell, int | np.integer) for cell in known):
            return np.array([np.nan if gone else float(c) for c, gone in zip(cells, missing, strict=True)])
        return np.array([int(cell) for cell in cells])
    return np.array([None if gone else str(c) for c, gone in zip(cells, missing, strict=True)], dtype=object)


def _missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return bool(cell == "") if isinstance(cell, str) else isinstance(cell, float | np.floating) and bool(cell != cell)


def _named(cells: Array) -> Typed:
    """Classes, numbered in the order of their names, which means nothing."""
    missing = np.array([cell is None or (isinstance(cell, str | bytes) and not cell) for cell in cells.tolist()], bool)
    words = cells[~missing]
    levels, numbered = np.unique(words.astype(str) if words.dtype.kind != "b" else words, return_inverse=True)
    values = np.full(len(cells), np.nan)
    values[~missing] = numbered
    return values, "classes", tuple(levels.tolist()), ""


def _numbers(name: str, cells: Array, asked: str | None) -> Typed:
    if cells.dtype.kind == "f":
        infinite = np.isinf(cells)
        if infinite.any():
            row = int(infinite.argmax())
            raise InputError(f"factor '{name}' is {cells[row]} at row {row}; expected finite numbers")
        known = cells[~np.isnan(cells)]
        fractions = bool((known % 1).any()) or bool((np.abs(known) >= EXACT).any())
    else:
        known, fractions = cells, False
    huge = cells.dtype.kind != "f" and len(cells) > 0 and max(abs(int(cells.min())), abs(int(cells.max()))) >= EXACT
    values = cells.astype(np.float64)
    if asked == "continuous":
        return values, asked, (), ""
    distinct = np.unique(known)
    numbered = asked == "classes" or huge or (asked == "ordered" and fractions)
    note = ""
    if asked is None and fractions and len(distinct) <= min(FEW, len(known) / 10):
        numbered = True
        note = (
            f"factor '{name}' has {len(distinct)} values from {distinct[0]:g} to {distinct[-1]:g}, which are taken as "
            f"ordered values; its type may also be continuous"
        )
    if not numbered:
        return values, "continuous" if fractions else "ordered", (), ""
    present = ~np.isnan(values)
    values[present] = np.searchsorted(distinct, known)
    return values, asked or "ordered", tuple(distinct.tolist()), note
