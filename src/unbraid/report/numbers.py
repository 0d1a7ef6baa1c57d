"""How values are written: one rule for every column of every table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

MISSING = "–"


def plain(value: Any) -> float | int | str | None:
    """A cell as a number, words or None: NaN and NaT are None, yes and no are words, lists are their text."""
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else float(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return int(value)
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return str(value)


def numeric(values: Iterable[float | int | str | None]) -> bool:
    """Whether there are values, and all of them are numbers; None is a missing value."""
    known = [value for value in values if value is not None]
    return bool(known) and not any(isinstance(value, str) for value in known)


def digits(values: Iterable[float | int | str | None], smallest: float = 0.0005) -> int | None:
    """How many digits after the point the numbers of a column get; None: as many as each of them needs.

    That is so for small numbers: where the largest is below 0.01, or one is below `smallest`.
    """
    sizes = [abs(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    if all(size == int(size) for size in sizes):
        return 0
    largest = max(sizes)
    if largest < 10:
        return None if largest < 0.01 or min(size for size in sizes if size) < smallest else 3
    return 2 if largest < 100 else 1 if largest < 1000 else 0


def written(value: float | int | str | None, places: int | None) -> str:
    """A cell's text."""
    if value is None or value == "":
        return MISSING
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.4g}" if places is None else f"{value:,.{places}f}"
