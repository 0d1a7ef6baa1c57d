"""From the dots of a figure to the rows of the table of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, Any]

DIGITS = 6
"""Digits that a score must have to tell its run: one that is short, such as 0.5, may be another run's by chance."""


@dataclass(frozen=True)
class Dots:
    """The runs that dots stand for, without their table: it goes to every process that draws."""

    folders: Mapping[str, int]
    """The row of each run by its folder."""
    scores: Array
    """All scores of all runs, ascending."""
    owners: Array
    """The row that each score is of."""

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Dots:
        """The dots of a table of runs."""
        names = [name for name in runs.columns if str(name).startswith("scores.")]
        columns = [pd.to_numeric(runs[name], errors="coerce").to_numpy(float, na_value=np.nan) for name in names]
        table = np.stack(columns) if columns else np.zeros((0, len(runs)))
        _, rows = np.nonzero(np.isfinite(table))
        scores = table[np.isfinite(table)]
        order = np.argsort(scores)
        folders = {str(folder): row for row, folder in enumerate(runs.get("run", []))}
        return cls(folders, scores[order], rows[order].astype(np.int32))

    def rows(self, labels: Sequence[str], x: Sequence[float], y: Sequence[float]) -> list[int | None]:
        """The row of each point: of the run that it is labelled with, else of the one run that has its score."""
        if len(labels) == len(y):
            return [self.folders.get(label) for label in labels]
        return [self._scored(*point) for point in zip(x, y, strict=True)]

    def _with_score(self, value: float) -> set[int]:
        """The rows of the runs that have this score."""
        first, last = np.searchsorted(self.scores, value, "left"), np.searchsorted(self.scores, value, "right")
        return set(self.owners[first:last].tolist())

    def _scored(self, x: float, y: float) -> int | None:
        """The row of the only run with both scores; a coordinate that is not a score is ignored."""
        candidates = [rows for value in (x, y) if _long(value) and (rows := self._with_score(value))]
        rows = set.intersection(*candidates) if candidates else set()
        return rows.pop() if len(rows) == 1 else None


def _long(value: float) -> bool:
    return len(f"{value:.12g}".lstrip("-0.").replace(".", "").split("e")[0]) >= DIGITS
