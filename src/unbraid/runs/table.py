"""Many runs as one table."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid.errors import InputError
from unbraid.runs.folder import left_over
from unbraid.runs.run import Run


def find_runs(folder: Path | str) -> list[Run]:
    """The run folders at or below a folder, by name; not those that a study has set aside, or had before."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder")
    found = []
    for path, folders, files in os.walk(folder):
        if "config.json" in files:
            found.append(path)
        if "damaged" in folders and ("study.json" in files or "population.json" in files):
            folders.remove("damaged")
        if Path(path).name == "jobs" and (left := left_over(Path(path))):
            folders[:] = [name for name in folders if name not in left]
    return [Run(path) for path in sorted(map(Path, found))]


def load_runs(folder: Path | str) -> pd.DataFrame:
    """Every run below a folder as one row: what it is, where it stands, its settings, last terms and scores.

    Columns of settings start with `settings.`, of terms with `terms.`, of scores with `scores.`. A run that cannot be
    read has the state `damaged` and its `reason`.
    """
    return pd.DataFrame([run_row(run) for run in find_runs(folder)])


def run_row(run: Run) -> dict[str, Any]:
    """One run as a row of `load_runs`."""
    row: dict[str, Any] = {"run": str(run.folder)}
    try:
        config, state = run.config, run.state
        row |= {
            "id": config.id,
            "state": state["state"],
            "method": config.method,
            "data": config.data["data"],
            "steps": config.steps,
            "seed": config.seed,
            "precision": config.precision,
            "reason": state.get("reason"),
            "seconds": state.get("seconds"),
        }
        row |= _named("settings", config.settings) | _named("terms", state.get("terms", {}))
        if faults := run.faults(names=("config.json", "scores.json"), state=state):
            raise InputError(faults[0])
        if run.path("scores").exists():
            row |= _named("scores", run.read_json("scores").get("scores", {}))
    except (InputError, KeyError, TypeError, AttributeError) as error:
        row |= {"state": "damaged", "reason": str(error)}
    return row


def _named(group: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of a group; the rows of a table share the text of their names."""
    return {sys.intern(f"{group}.{name}"): value for name, value in values.items()}
