"""Tables in files: .csv and .parquet, read within limits, with every column under the name that the file gives it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.data.reading import opened
from unbraid.errors import InputError

if TYPE_CHECKING:  # slow to import, and few need it
    import pandas as pd


def read_table(path: Path, types: Mapping[int, Any] | None = None) -> pd.DataFrame:
    """The table in a .csv or .parquet file. Two columns of one name are an InputError; `types` are those of columns."""
    import pandas as pd

    is_csv = path.suffix.lower() == ".csv"
    try:
        header = _header(path) if is_csv else []
        named = {header[index]: dtype for index, dtype in (types or {}).items() if index < len(header)}
        with opened(path) as file:
            table = pd.read_csv(file, dtype=named or None) if is_csv else pd.read_parquet(file)
    except ImportError as error:
        raise InputError(f"reading {path.name} needs pyarrow: pip install pyarrow") from error
    except InputError:
        raise
    except Exception as error:  # parsers raise exceptions of many types
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    for name, count in Counter(header if is_csv else map(str, table.columns)).items():
        if count > 1 and name:
            raise InputError(f"{path.name} has {count} columns called '{name}'; expected different names")
    return table.rename(columns=str)


def _header(path: Path) -> list[str]:
    """The names in the first line as they are written; pandas renames the second of two that are equal."""
    with opened(path) as file:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        return next((line for line in csv.reader(lines) if line), [])
