"""Files of codes and factors: .npz, .csv, .parquet and .h5ad."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.data.atomic import kind_of
from unbraid.data.labels import Labels, as_labels, together
from unbraid.data.reading import read_arrays
from unbraid.data.tables import COLUMNS_LIMIT, read_table
from unbraid.errors import InputError, nearest, printable

Array = np.ndarray[Any, Any]
FORMATS = (".npz", ".csv", ".parquet", ".h5ad")


@dataclass(frozen=True)
class CodeTable:
    """Codes (n, d) and the columns of factors by name, with a test set if the file has one."""

    codes: Any
    """An array, or a sparse matrix."""
    code_names: list[str]
    factors: Mapping[str, Any] | Labels
    test: tuple[Array, Mapping[str, Any]] | None = None

    @property
    def names(self) -> list[str]:
        """Of the factors."""
        return list(self.factors.names if isinstance(self.factors, Labels) else self.factors)

    def whole(self) -> tuple[Any, Labels]:
        """Codes and labels of all rows, those of the test set last."""
        if self.test is None:
            return self.codes, as_labels(self.factors)
        return np.concatenate([self.codes, self.test[0]]), together(self.factors, self.test[1])[0]


def read_codes(
    path: Path, factors: Sequence[str] = (), codes: Sequence[str] = (), ignore: Sequence[str] = ()
) -> CodeTable:
    """Read a file of codes and factors.

    An .npz file holds `codes` (n, d) and `factors` (n, k), and may hold `names`, `code_names`, `test_codes` and
    `test_factors`. In a .csv or .parquet file each row is a sample; `factors` names the columns that are factors, and
    all others are codes, or only those that `codes` names. In an .h5ad file `factors` names columns of `obs`, and the
    codes are `X`, or the one entry of `obsm` that `codes` names. `ignore` leaves out factors and codes. In `codes` and
    `ignore` a name may have wildcards: `z*`. Factors keep their types: see `unbraid.data.labels`.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist; expected a run folder, or a file of {', '.join(FORMATS)}")
    if not path.is_file():
        raise InputError(f"{path} is {kind_of(path.stat().st_mode)}; expected a run, or a file of {', '.join(FORMATS)}")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        if factors:
            raise InputError(f"--factors is for .csv and .parquet; {path.name} has its factors in the array 'factors'")
        return _chosen(path, _from_npz(path), codes, ignore)
    if suffix == ".h5ad":
        return _from_h5ad(path, factors, codes, ignore)
    if suffix not in FORMATS:
        raise InputError(f"{path} is not a file of {', '.join(FORMATS)}")
    return _from_table(path, read_table(path), factors, codes, ignore)


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
    table = _two(path, "codes", arrays["codes"])
    code_names = _names(path, arrays, "code_names", table.shape[1], "code")
    factors = _two(path, "factors", arrays["factors"])
    names = _names(path, arrays, "names", factors.shape[1], "factor")
    columns = dict(zip(names, factors.T, strict=True))
    if "test_codes" not in arrays:
        return CodeTable(table, code_names, columns)
    unseen = _two(path, "test_factors", arrays["test_factors"])
    if unseen.shape[1] != factors.shape[1]:
        raise InputError(f"{path} holds {factors.shape[1]} factors, but {unseen.shape[1]} in test_factors")
    test = _two(path, "test_codes", arrays["test_codes"]), dict(zip(names, unseen.T, strict=True))
    return CodeTable(table, code_names, columns, test)


def _two(path: Path, name: str, array: Array) -> Array:
    table = np.atleast_1d(array)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise InputError(f"{path}: {name} have shape {array.shape}; expected (samples, columns)")
    if table.shape[1] > COLUMNS_LIMIT:
        raise InputError(f"{path}: {name} have {table.shape[1]:,} columns; expected at most {COLUMNS_LIMIT:,}")
    return table


def _names(path: Path, arrays: Mapping[str, Array], key: str, count: int, what: str) -> list[str]:
    listed = np.atleast_1d(arrays.get(key, np.arange(count)))
    if listed.shape != (count,):
        raise InputError(f"{path} holds {listed.size:,} names for {count} {what}s; expected one per {what}")
    names = [str(name) for name in listed]
    for name in names:
        if name != printable(name):
            raise InputError(f"{path} has a {what} '{name}'; expected a name that can be printed")
    if len(set(names)) < len(names):
        raise InputError(f"{path}: two of its {what}s have the same name; expected different names")
    return names


def _matching(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The columns that names or wildcards stand for; "a, b" means "a,b"."""
    chosen: list[str] = []
    for name in wanted:
        name = name if name in columns else name.strip()
        matches = [name] if name in columns else [column for column in columns if fnmatchcase(column, name)]
        if not matches:
            raise InputError(f"{path.name} has no column '{name}'{nearest(name, columns)}")
        chosen += [match for match in matches if match not in chosen]
    return chosen


def _chosen(path: Path, table: CodeTable, codes: Sequence[str], ignore: Sequence[str]) -> CodeTable:
    """Some of the codes and factors of an .npz file."""
    assert isinstance(table.factors, Mapping)
    known = [*table.code_names, *table.factors]
    ignored = _matching(path, [*table.factors, *(name for name in known if name not in table.factors)], ignore)
    wanted = _matching(path, table.code_names, codes) if codes else table.code_names
    # a number may name a factor and a code that have no names of their own: then it is the factor
    kept = [code for code in wanted if code not in ignored or code in table.factors]
    factors = {name: column for name, column in table.factors.items() if name not in ignored}
    if not kept or not factors:
        raise InputError(f"nothing remains of {path.name}; expected at least one code and one factor")
    index = [table.code_names.index(code) for code in kept]
    test = table.test and (table.test[0][:, index], {name: table.test[1][name] for name in factors})
    return CodeTable(table.codes[:, index], kept, factors, test)


def _from_h5ad(path: Path, factors: Sequence[str], codes: Sequence[str], ignore: Sequence[str]) -> CodeTable:
    try:
        import anndata
    except ImportError as error:
        raise InputError("an .h5ad file needs anndata; pip install 'unbraid[anndata]' brings it") from error
    try:
        cells = anndata.read_h5ad(path)
    except Exception as error:  # it raises exceptions of many types
        raise InputError(f"{path} cannot be read as AnnData: {' '.join(str(error).split())}") from error
    return from_anndata(cells, path, factors, codes, ignore)


def from_anndata(
    cells: Any, path: Path, factors: Sequence[str], codes: Sequence[str] = (), ignore: Sequence[str] = ()
) -> CodeTable:
    """The codes and factors of AnnData; `path` names it in errors."""
    observed = [str(name) for name in cells.obs.columns]
    if not factors:
        raise InputError(f"say which columns of obs are factors with --factors; it has {', '.join(observed)}")
    chosen = _matching(path, observed, factors)
    columns = {name: cells.obs[name] for name in chosen}
    if codes:
        if len(codes) > 1 or codes[0] not in cells.obsm:
            raise InputError(f"--codes is '{','.join(codes)}'; expected one of obsm: {', '.join(cells.obsm)}")
        table = cells.obsm[codes[0]]
        names = [f"{codes[0]}_{column}" for column in range(table.shape[1])]
    else:
        table, names = cells.X, [str(name) for name in cells.var_names]
    ignored = set(_matching(path, names, ignore))
    kept = [index for index, name in enumerate(names) if name not in ignored]
    return CodeTable(table[:, kept] if ignored else table, [names[index] for index in kept], columns)


def _from_table(
    path: Path, table: pd.DataFrame, factors: Sequence[str], codes: Sequence[str], ignore: Sequence[str]
) -> CodeTable:
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
    ignored = _matching(path, columns, ignore)
    kept = [column for column in columns if column not in factors and column not in ignored]
    if codes:
        wanted = _matching(path, columns, codes)
        both = [name for name in wanted if name in factors]
        if both:
            raise InputError(f"'{both[0]}' is in --codes and in --factors; expected one of them")
        kept = [column for column in kept if column in wanted]
    factors = [name for name in factors if name not in ignored]
    if not kept:
        raise InputError(f"no column of {path.name} remains for codes; expected at least one")
    if not factors:
        raise InputError(f"no column of {path.name} remains for factors; expected at least one")
    if table.empty:
        raise InputError(f"{path.name} has column names but no rows")
    for column in kept:
        _check_codes(path, column, table[column])
    names = {name: table[name] for name in factors}
    return CodeTable(table[kept].to_numpy(np.float64), kept, names)


def _check_codes(path: Path, column: str, cells: Any) -> None:
    if not pd.api.types.is_numeric_dtype(cells):
        remedy = "name it with --factors or --ignore"
        raise InputError(f"column '{column}' of {path.name} is not numeric; {remedy}")
    bad = ~np.isfinite(cells.to_numpy(np.float64, na_value=np.nan))
    if bad.any():
        row = int(bad.argmax())
        cell = "empty or not a number" if pd.isna(cells.iloc[row]) else str(cells.iloc[row])
        where = f"line {row + 2}" if path.suffix.lower() == ".csv" else f"row {row}"  # the first line has the names
        raise InputError(f"column '{column}' of {path.name} is {cell} in {where}; expected a value in every row")
