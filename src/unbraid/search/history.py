"""What became of a population: a row for each member of each generation, and the best model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from unbraid.errors import InputError
from unbraid.runs.run import Run


@dataclass(frozen=True)
class History:
    """What became of a population."""

    out: Path
    table: pd.DataFrame
    """A row for each member of each generation, as in `population.csv`."""
    best: Run
    """The best model of the best member of all generations (or of the last), encoded and scored like any run."""
    converged: bool
    """Whether it ended because the best score no longer moved."""

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
        raise InputError(f"{out} holds no population: it has no {path.name}") from error
    except ValueError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def lineage(table: pd.DataFrame) -> list[tuple[int, int]]:
    """The best member of all generations and those it descends from, the first of them first: (generation, member)."""
    parents = table.set_index(["generation", "member"])["parent"]
    best = table.loc[table["score"].idxmax()]
    generation, member = int(best["generation"]), int(best["member"])
    found = [(generation, member)]
    while generation:
        generation, member = generation - 1, int(parents[generation, member])
        found.insert(0, (generation, member))
    return found
