"""What a job adds to its study's table: scores of the models it examined, models it made, tables of its own.

A job that is not itself a run writes `results.json` into its folder:

    scores    numbers by the id of the job whose model they are about, then by name
    models    one row per model that the job made: its `run` relative to the job's folder, and any other columns
    tables    rows by the name of the table
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unbraid.errors import InputError
from unbraid.runs.folder import Folder

FILE = "results"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """The content of one `results.json`."""

    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    models: tuple[Row, ...] = ()
    tables: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)


def write_results(
    folder: Path,
    scores: Mapping[str, Mapping[str, Any]] | None = None,
    models: Iterable[Row] = (),
    **tables: Iterable[Row],
) -> None:
    """Write what a job adds. Scores may be nested (`{"accuracy": {"z0": 0.9}}` is `accuracy.z0`); NaN is unknown.

    Example:
        write_results(folder, scores={"3f0c…": {"udr.lasso": 0.4}})
    """
    content = {
        "scores": {name: flat(values) for name, values in (scores or {}).items()},
        "models": [_plain(row) for row in models],
        "tables": {name: [_plain(row) for row in rows] for name, rows in tables.items()},
    }
    Folder(folder).write_json(FILE, {name: part for name, part in content.items() if part})


def read_results(folder: Path) -> Results:
    """What a job's folder adds; nothing where it has no such file. An unreadable one is an InputError."""
    results = Folder(folder)
    if not results.path(FILE).exists():
        return Results()
    content = results.read_json(FILE)
    try:
        return Results(
            {str(name): dict(values) for name, values in content.get("scores", {}).items()},
            tuple(dict(row) for row in content.get("models", ())),
            {str(name): tuple(dict(row) for row in rows) for name, rows in content.get("tables", {}).items()},
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{results.path(FILE)} is damaged: {error}") from error


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree of named values as one level, with dots between the names."""
    names: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            names |= flat(value, f"{prefix}{name}.")
        else:
            names[f"{prefix}{name}"] = _plain(value)
    return names


def _plain(value: Any) -> Any:
    """The same in JSON's types, None for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):  # NumPy's and torch's scalars
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
