"""The papers' studies by name. Each is a folder: its settings at each scale, its report, its measured answer.

A study is a module with `TITLE`, `SCALES`, `jobs(scale)`, and in its report `table(folder)` and `report(runs, folder)`.
A user's own is a Python file with `jobs(scale)`; the rest is optional.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from unbraid.errors import InputError, nearest
from unbraid.jobs.engines.modules import import_file
from unbraid.jobs.job import Job
from unbraid.runs.folder import Folder
from unbraid.runs.table import load_runs

if TYPE_CHECKING:  # drawing is slow to import, and only reports need it
    from unbraid.report import Section

STUDIES = ("assumptions", "contrastive", "intervention", "multitask", "population")


@dataclass(frozen=True)
class Study:
    """What a study's files give."""

    name: str
    title: str
    scales: Sequence[str]
    jobs: Callable[[str], list[Job]]
    table: Callable[[Path], pd.DataFrame]
    report: Callable[[pd.DataFrame, Path], list[Section] | None]
    """None where it has no report of its own."""
    modules: tuple[Path, ...] = ()
    """Files that a worker must import to know the jobs."""


def open_study(name: str) -> Study:
    """A study by its name, or from a Python file."""
    path = Path(name)
    if path.suffix == ".py" or path.is_file():
        if not path.is_file():
            raise InputError(f"there is no file {name}")
        module = import_file(path)
        return _study(str(path.resolve()), module, module.__name__, (path.resolve(),))
    if name not in STUDIES:
        raise InputError(f"there is no study '{name}'{nearest(name, STUDIES)}; a path to a Python file works too")
    return _study(name, importlib.import_module(f"unbraid.studies.{name}.study"), f"unbraid.studies.{name}.report", ())


def _study(name: str, module: ModuleType, report: str, modules: tuple[Path, ...]) -> Study:
    """`report` is the name of the module with `table` and `report`, which is imported when one of them is called."""

    def of_report(function: str) -> Callable[..., Any]:
        return getattr(importlib.import_module(report), function, _DEFAULTS[function])

    if not hasattr(module, "jobs"):
        raise InputError(f"{name} has no function jobs(scale)")
    scales = tuple(getattr(module, "SCALES", ("smoke", "desk", "paper")))

    def jobs(scale: str) -> list[Job]:
        if scale not in scales:
            raise InputError(f"there is no scale '{scale}'{nearest(scale, scales)}")
        return list(module.jobs(scale))

    return Study(
        name=name,
        title=getattr(module, "TITLE", Path(name).stem),
        scales=scales,
        jobs=jobs,
        table=lambda folder: of_report("table")(folder),
        report=lambda runs, folder: of_report("report")(runs, folder),
        modules=modules,
    )


_DEFAULTS: dict[str, Callable[..., Any]] = {
    "table": lambda folder: load_runs(folder / "jobs"),
    "report": lambda runs, folder: None,
}


def write_report(folder: Path, out: Path, readme: Path | None = None, draw: int = 12) -> Path:
    """The page of the study that a folder holds, or of whatever runs it holds; the verdicts also into a README.

    Up to `draw` runs without pictures get them.
    """
    from unbraid.report import overview, put_into, verdicts, write

    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    if draw < 0:
        raise InputError(f"draw is {draw}; expected at least 0")
    sections = None
    if (folder / "study.json").exists():
        held = Folder(folder).read_json("study")
        study = open_study(str(held.get("name")))
        title, runs = f"{study.title} ({held.get('scale')})", study.table(folder)
        sections = study.report(runs, folder)
    else:
        title, runs = folder.resolve().name, load_runs(folder)
    if sections is None:
        sections, draw = overview(runs, draw), 0
    if readme is not None:
        put_into(readme, verdicts(sections))
    return write(title, sections, runs, out, draw)
