"""Codes and factors from files that people have: .npz, .csv, .parquet."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError, nearest

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CodeTable:
    """Codes (n, d) and factors (n, k) with the factors' names, and a test set where the file has one."""

    codes: Array
    factors: Array
    names: list[str]
    test: tuple[Array, Array] | None = None


def read_codes(path: Path, factors: Sequence[str] = ()) -> CodeTable:
    """Read a file of codes and factors.

    An .npz holds `codes` (n, d) and `factors` (n, k), and may hold `names`, `test_codes` and `test_factors`. In a .csv
    or .parquet every row is a sample; `factors` names the columns that are factors, all others are codes. Words as
    values of a factor are numbered.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a run folder, or an .npz, .csv or .parquet file")
    if path.suffix == ".npz":
        return _from_npz(path)
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} is no .npz, .csv or .parquet file")
    try:
        table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    except ImportError as error:
        raise InputError(f"reading {path.name} needs pyarrow: pip install pyarrow") from error
    except Exception as error:  # parsers raise whatever they stumble over
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    return _from_table(path, table, factors)


def _from_npz(path: Path) -> CodeTable:
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read as an .npz of numbers: {error}") from error
    for name in ("codes", "factors"):
        if name not in found:
            raise InputError(f"{path} holds {', '.join(found) or 'nothing'}; expected arrays 'codes' and 'factors'")
    factors = found["factors"] if found["factors"].ndim > 1 else found["factors"][:, None]
    names = [str(name) for name in found.get("names", range(factors.shape[1]))]
    test = (found["test_codes"], found["test_factors"]) if {"test_codes", "test_factors"} <= set(found) else None
    return CodeTable(found["codes"], factors, names, test)


def _from_table(path: Path, table: pd.DataFrame, factors: Sequence[str]) -> CodeTable:
    columns = [str(column) for column in table.columns]
    if not factors:
        raise InputError(f"say which columns of {path.name} are factors with --factors; it has {', '.join(columns)}")
    for name in factors:
        if name not in columns:
            raise InputError(f"{path.name} has no column '{name}'{nearest(name, columns)}")
    codes = [column for column in columns if column not in factors]
    if not codes:
        raise InputError(f"every column of {path.name} is a factor; no codes are left")
    for column in codes:
        if not pd.api.types.is_numeric_dtype(table[column]):
            raise InputError(f"column '{column}' of {path.name} is not numeric; name it with --factors or remove it")
    for column in factors:
        if table[column].isna().any():
            raise InputError(f"factor '{column}' of {path.name} has empty cells")
    labels = [
        table[column].to_numpy() if pd.api.types.is_integer_dtype(table[column]) else pd.factorize(table[column])[0]
        for column in factors
    ]
    return CodeTable(table[codes].to_numpy(np.float64), np.stack(labels, 1), list(factors))
