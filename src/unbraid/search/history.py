"""The history of a population: one row per member and generation, and the best model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.data.tables import read_table
from unbraid.errors import InputError, MissingError
from unbraid.runs.run import Run


@dataclass(frozen=True)
class History:
    """The outcome of a population."""

    out: Path
    table: pd.DataFrame
    """One row per member and generation, as in `population.csv`."""
    best: Run
    """The best model of the best member of all generations (or of the last), encoded and scored like any run."""
    converged: bool
    """Whether it ended because the best score no longer moved."""
    stopped: str = ""
    """Why it ended before its last generation otherwise: by hand, or for want of time."""

    @property
    def score(self) -> float:
        """The best member's."""
        return float(self.table["score"].max())


def read_history(out: Path | str) -> pd.DataFrame:
    """The history in a population's folder."""
    path = Path(out) / "population.csv"
    try:
        table = read_table(path)
    except MissingError as error:
        raise InputError(f"{out} is not a population: it has no {path.name}") from error
    _check(path, table)
    return table.astype({"parent": "Int64", "model": "Int64"})


def hyperparameter_names(table: pd.DataFrame) -> list[str]:
    """The columns of a history that are hyperparameters."""
    columns = list(table.columns)
    return columns[columns.index("score") + 1 : columns.index("steps")]


def _check(path: Path, table: pd.DataFrame) -> None:
    """An InputError where a table is not a history that can be drawn: the folder may be anybody's."""
    for name in (*_WHOLE, "score", "steps"):
        if name not in table:
            raise InputError(f"{path} has no column '{name}'; it is not the history of a population")
    if table.empty or len(hyperparameter_names(table)) > _MOST:
        raise InputError(f"{path} has no rows, or more than {_MOST} hyperparameters")
    for name in (*_WHOLE, "score", *hyperparameter_names(table)):
        column = table[name]
        values = column.to_numpy(float, na_value=math.nan) if pd.api.types.is_numeric_dtype(column) else None
        if values is None or np.isinf(values).any() or np.nanmax(np.abs(values), initial=0) > _LARGEST:
            raise InputError(f"{path}: '{name}' is not a column of finite numbers")
        whole = np.nan_to_num(values)
        if name in _WHOLE and ((whole < 0).any() or (whole % 1).any()):
            raise InputError(f"{path}: '{name}' is not a column of whole numbers, at least 0")
    if table["score"].isna().all():
        raise InputError(f"{path} has no score; expected one per member and generation")
    if table[["generation", "member"]].isna().any(axis=None) or table.duplicated(["generation", "member"]).any():
        raise InputError(f"{path} has two rows of one member, or rows of none; expected one per generation")
    known = set(zip(table["generation"], table["member"], strict=True))
    for generation, member, parent in zip(*(table[name] for name in _WHOLE[:3]), strict=True):
        if generation and (generation - 1, parent) not in known:
            raise InputError(f"{path}: generation {generation - 1} lacks the parent of member {member} of the next")


_WHOLE = ("generation", "member", "parent", "model")  # columns of whole numbers
_MOST = 100  # hyperparameters, each of which has a panel
_LARGEST = 1e100  # of a score or a hyperparameter: what a figure can show


def lineage(table: pd.DataFrame) -> list[tuple[int, int]]:
    """The best member of all generations and its ancestors, from the first generation on: (generation, member)."""
    parents = table.set_index(["generation", "member"])["parent"]
    best = table.loc[table["score"].idxmax()]
    generation, member = int(best["generation"]), int(best["member"])
    members = [(generation, member)]
    while generation:
        generation, member = generation - 1, int(parents[generation, member])
        members.insert(0, (generation, member))
    return members
