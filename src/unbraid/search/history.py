"""The history of a population: one row per member and generation, and the best model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from unbraid.errors import InputError
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
        return pd.read_csv(path, dtype={"parent": "Int64", "model": "Int64"})
    except FileNotFoundError as error:
        raise InputError(f"{out} is not a population: it has no {path.name}") from error
    except ValueError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


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
