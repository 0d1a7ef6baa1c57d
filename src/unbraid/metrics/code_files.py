"""Codes and factors from .npz, .csv and .parquet files."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.data.reading import opened, read_arrays
from unbraid.errors import InputError, nearest

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CodeTable:
    """Codes (n, d), factors (n, k) and the factors' names, with a test set if the file has one."""

    codes: Array
    factors: Array
    names: list[str]
    test: tuple[Array, Array] | None = None


def read_codes(path: Path, factors: Sequence[str] = ()) -> CodeTable:
    """Read a file of codes and factors.

    An .npz file holds `codes` (n, d) and `factors` (n, k), and may hold `names`, `test_codes` and `test_factors`. In a
    .csv or .parquet file each row is a sample; `factors` names the columns that are factors, and all others are codes.
    Numbers stay as they are, so a factor may be continuous. Words are numbered alphabetically; metrics that read
    factors as numbers should not be used on them.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a run folder, or an .npz, .csv or .parquet file")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        if factors:
            raise InputError(f"--factors is for .csv and .parquet; {path.name} has its factors in the array 'factors'")
        return _from_npz(path)
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} is not an .npz, .csv or .parquet file")
    try:
        with opened(path) as file:
            table = pd.read_csv(file) if suffix == ".csv" else pd.read_parquet(file)
    except ImportError as error:
        raise InputError(f"reading {path.name} needs pyarrow: pip install pyarrow") from error
    except Exception as error:  # parsers raise exceptions of many types
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    return _from_table(path, table, factors)


def _from_npz(path: Path) -> CodeTable:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz file despite its name; numpy.savez writes them")
    arrays = read_arrays(path, "codes and factors")
    for name in ("codes", "factors"):
        if name not in arrays:
            raise InputError(f"{path} holds {', '.join(arrays) or 'nothing'}; expected arrays 'codes' and 'factors'")
    for name, other in (("test_codes", "test_factors"), ("test_factors", "test_codes")):
        if name in arrays and other not in arrays:
            raise InputError(f"{path} holds {name} but no {other}; a test set needs both")
    factors = np.atleast_1d(arrays["factors"])
    factors = factors if factors.ndim > 1 else factors[:, None]
    names = [str(name) for name in np.atleast_1d(arrays.get("names", np.arange(factors.shape[1])))]
    if len(names) != factors.shape[1]:
        raise InputError(f"{path} holds {len(names)} names for {factors.shape[1]} factors; expected one per factor")
    if "test_codes" not in arrays:
        return CodeTable(arrays["codes"], _numbered(factors), names)
    unseen = arrays["test_factors"].reshape(-1, 1) if arrays["test_factors"].ndim < 2 else arrays["test_factors"]
    if unseen.shape[1] != factors.shape[1]:
        raise InputError(f"{path} holds {factors.shape[1]} factors, but {unseen.shape[1]} in test_factors")
    both = _numbered(np.concatenate([factors, unseen]))
    return CodeTable(arrays["codes"], both[: len(factors)], names, (arrays["test_codes"], both[len(factors) :]))


def _numbered(factors: Array) -> Array:
    """Numbers as they are, words numbered alphabetically."""
    if factors.dtype.kind not in "US":
        return factors
    return np.stack([np.unique(column, return_inverse=True)[1] for column in factors.T], 1)


def _from_table(path: Path, table: pd.DataFrame, factors: Sequence[str]) -> CodeTable:
    table = table.rename(columns=str)
    numbered = table.columns[0] if len(table.columns) else ""
    if numbered.startswith("Unnamed: ") and np.array_equal(table[numbered], np.arange(len(table))):
        warnings.warn(f"the first column of {path.name} has no name and numbers the rows; it is left out", stacklevel=3)
        table = table.drop(columns=numbered)
    columns = list(table.columns)
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t"):
        raise InputError(f"{path.name} has one column, '{columns[0]}'; expected columns separated by commas")
    if not factors:
        some = ", ".join(columns) if len(columns) <= 20 else f"{', '.join(columns[:20])}, … ({len(columns)} columns)"
        raise InputError(f"say which columns of {path.name} are factors with --factors; it has {some}")
    factors = [name if name in columns else name.strip() for name in factors]  # "a, b" means "a,b"
    for name in factors:
        if name not in columns:
            raise InputError(f"{path.name} has no column '{name}'{nearest(name, columns)}")
        if factors.count(name) > 1:
            raise InputError(f"--factors names '{name}' twice")
    codes = [column for column in columns if column not in factors]
    if not codes:
        raise InputError(f"every column of {path.name} is a factor; expected at least one column of codes")
    if table.empty:
        raise InputError(f"{path.name} has column names but no rows")
    for column in codes:
        if not pd.api.types.is_numeric_dtype(table[column]):
            raise InputError(f"column '{column}' of {path.name} is not numeric; name it with --factors or remove it")
    for column in columns:
        cells = table[column]
        bad = cells.isna().to_numpy()
        if pd.api.types.is_numeric_dtype(cells):
            bad = bad | np.isinf(cells.to_numpy(np.float64, na_value=np.nan))
        if bad.any():
            row = int(bad.argmax())
            cell = "empty or not a number" if pd.isna(cells.iloc[row]) else str(cells.iloc[row])
            where = f"line {row + 2}" if path.suffix.lower() == ".csv" else f"row {row}"  # the first line has the names
            raise InputError(f"column '{column}' of {path.name} is {cell} in {where}; expected a value in every row")
    labels = np.stack([_labels(table[column]) for column in factors], 1)
    return CodeTable(table[codes].to_numpy(np.float64), labels, list(factors))


def _labels(column: Any) -> Array:
    """A factor's values: numbers as they are, words numbered alphabetically."""
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_integer_dtype(column):
        return np.asarray(column.to_numpy(np.int64))
    if pd.api.types.is_numeric_dtype(column):
        return np.asarray(column.to_numpy(np.float64))
    return np.asarray(pd.factorize(column, sort=True)[0])
