"""Many runs as one table."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from unbraid.arguments import checked
from unbraid.data.schema import TERMS, check
from unbraid.errors import InputError, MissingError, printable
from unbraid.runs.folder import left_over
from unbraid.runs.record import RunRecord
from unbraid.runs.remote import REFERENCE, is_remote, reference_folder

if TYPE_CHECKING:
    from unbraid.runs.run import Run


def find_runs(folder: Path | str) -> list[Run]:
    """The runs at or below a folder, by name; not those that a study has set aside, or had before."""
    from unbraid.runs.run import Run  # PyTorch is slow to import, and a table needs none of it

    return [Run(path) for path in _folders(folder)]


def _folders(folder: Path | str) -> list[Path]:
    """The folders of `find_runs`.

    A folder that cannot be listed counts as a run, of which `run_row` says that it is damaged: it may hold some.
    """
    if str(folder) == REFERENCE and is_remote(folder):
        folder = reference_folder()
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder")
    paths: list[str] = []
    for path, folders, files in os.walk(folder, onerror=lambda error: paths.append(str(error.filename))):
        if "config.json" in files:
            paths.append(path)
        if "damaged" in folders and ("study.json" in files or "population.json" in files):
            folders.remove("damaged")
        if path.endswith("jobs") and Path(path).name == "jobs" and (left := left_over(Path(path))):
            folders[:] = [name for name in folders if name not in left]
    return sorted(map(Path, paths))


@checked
def load_runs(folder: Path | str) -> pd.DataFrame:
    """Every run below a folder as one row: what it is, where it stands, its settings, last terms and scores.

    Columns of settings start with `settings.`, of terms with `terms.`, of scores with `scores.`. A run that cannot be
    read has the state `damaged` and its `reason`.
    """
    return by_column([run_row(RunRecord(path)) for path in _folders(folder)])


def by_column(rows: Sequence[Mapping[str, Any]], kept: Callable[[str], bool] = lambda name: True) -> pd.DataFrame:
    """A table of rows that need not have the same columns: half the time and memory that pandas takes for 20,000."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame({name: [row.get(name, math.nan) for row in rows] for name in names if kept(name)})


def run_row(run: RunRecord) -> dict[str, Any]:
    """One run as a row of `load_runs`. Whatever is wrong with one run, the table of all can be made."""
    name = str(run.folder)
    row: dict[str, Any] = {"run": name}
    try:
        if not name.isprintable():
            row["run"] = printable(name)
            raise InputError("the folder's name holds characters that cannot be printed; rename it")
        for part in _content(run):
            row |= part
    except Exception as error:  # the files may be anybody's
        row |= {"state": "damaged", "reason": printable(str(error))}
    return row


def _content(run: RunRecord) -> Iterator[dict[str, Any]]:
    """The columns of a run, part by part: those before a fault are known."""
    config, state = run.config, run.state
    yield {
        "id": config.id,
        "state": state["state"] if state["state"] != "running" else run.status,
        "method": config.method,
        "data": config.data["data"],
        "steps": config.steps,
        "seed": config.seed,
        "precision": config.precision,
        "reason": None if state.get("reason") is None else printable(state["reason"]),
        "seconds": state.get("seconds"),
    }
    yield _named("settings", config.settings) | _named("terms", state.get("terms", {}))
    if faults := run.faults(names=("config.json", "scores.json"), state=state):
        raise InputError(faults[0])
    try:
        scores = run.read_json("scores")
    except MissingError:
        return
    check(run.path("scores"), scores, {"scores": TERMS})
    yield _named("scores", scores["scores"])


def _named(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of a group; the rows of a table share the text of their names."""
    return {sys.intern(f"{group}.{name}"): value for name, value in values.items()}
