"""Tables in files: .csv and .parquet, read within limits, with every column under the name that the file gives it."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.data.reading import opened
from unbraid.errors import InputError, printable

if TYPE_CHECKING:  # slow to import, and few need it
    import pandas as pd

COLUMNS_LIMIT = 100_000
"""Columns of a table, each of which has a name."""


def read_table(path: Path, types: Mapping[int | str, Any] | None = None) -> pd.DataFrame:
    """The table in a .csv or .parquet file. Two columns of one name are an InputError.

    `types` are those of columns, by their names or positions.
    """
    import pandas as pd

    is_csv = path.suffix.lower() == ".csv"
    try:
        header = _header(path) if is_csv else []
        wanted = dict(enumerate(header)) | {name: name for name in header}
        if len(header) > COLUMNS_LIMIT:
            raise InputError(f"{path} has {len(header):,} columns; expected at most {COLUMNS_LIMIT:,}")
        named = {wanted[key]: dtype for key, dtype in (types or {}).items() if key in wanted}
        with opened(path) as file, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # with `index_col`, the first column does not become the names of rows where these have more cells
            table = pd.read_csv(file, dtype=named or None, index_col=False) if is_csv else pd.read_parquet(file)
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{path.name} has rows of more cells than its first line has names; expected as many"
        ) from error
    except ImportError as error:
        raise InputError(f"reading {path.name} needs pyarrow: pip install pyarrow") from error
    except InputError:
        raise
    except Exception as error:  # parsers raise exceptions of many types
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    for name, count in Counter(header if is_csv else map(str, table.columns)).items():
        if count > 1 and name:
            raise InputError(f"{path.name} has {count} columns called '{name}'; expected different names")
        if name != printable(name):
            raise InputError(f"{path.name} has a column '{name}'; expected a name that can be printed")
    return table.rename(columns=str)


def _header(path: Path) -> list[str]:
    """The names in the first line as they are written; pandas renames the second of two that are equal."""
    with opened(path) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        return next((line for line in csv.reader(lines) if line), [])
