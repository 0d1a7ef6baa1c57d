"""The table of runs: which columns it has, which of them show at first, and its data in a form that a page can hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid.errors import InputError, printable
from unbraid.pictures.names import better
from unbraid.report.numbers import digits, numeric, plain
from unbraid.runs.names import read_names
from unbraid.runs.record import RunRecord

Values = list[float | int | str | None]

PRINCIPAL = ("mig", "dci.disentanglement", "sap", "modularity", "beta_vae_score", "factor_vae_score", "irs")
PICTURES = ("traversals", "unit_traversals", "reconstructions", "umap")
_ERRORS = ("scores.test.squared_error", "scores.test.accuracy")  # on rows held out
_FIRST = ("run", "state", "method", "data", "seed", "steps")
_LAST = ("reason", "seconds", "precision", "id")
_GROUPS = ("settings", "scores", "terms")


def main_scores(runs: pd.DataFrame) -> list[str]:
    """The columns of the scores that people look at first."""
    scores = [name for name in runs.columns if str(name).startswith("scores.") and runs[name].notna().any()]
    chosen = [f"scores.{name}" for name in PRINCIPAL if f"scores.{name}" in scores]
    return chosen or scores[: len(PRINCIPAL)]


def names(runs: pd.DataFrame) -> list[str]:
    """Each run's folder below the one that all have in common."""
    if "run" not in runs:
        return [str(name) for name in runs.index]
    folders = [Path(folder).absolute() for folder in runs["run"]]
    above = os.path.commonpath({folder.parent for folder in folders}) if folders else ""
    return [Path(os.path.relpath(folder, above)).as_posix() for folder in folders]


def portable(runs: pd.DataFrame, out: Path) -> pd.DataFrame:
    """The same runs with folders relative to `out`, so that the report may move together with them."""
    if "run" not in runs:
        return runs
    moved = runs.copy()
    moved["run"] = [Path(os.path.relpath(str(folder), out)).as_posix() for folder in runs["run"]]
    if "reason" in runs:
        moved["reason"] = reasons(runs)
    return moved


def reasons(runs: pd.DataFrame) -> list[str | None]:
    """Why each run is not done, its files named by what they are called in its folder."""
    pairs = zip(runs["run"], runs["reason"], strict=True)
    return [_local(text, Path(folder)) if isinstance(text, str) else None for folder, text in pairs]


def _local(text: str, folder: Path) -> str:
    return text.replace(f"{folder}{os.sep}", "").replace(str(folder), folder.name)


def failures(runs: pd.DataFrame, most: int = 20, by: Sequence[str] = ()) -> pd.DataFrame:
    """How many runs are not done for each state and reason, and value of the columns `by`; the most frequent first."""
    left = runs[runs["state"] != "done"] if "state" in runs else pd.DataFrame(columns=["state"])
    reason = pd.Series(reasons(left), index=left.index) if {"run", "reason"} <= set(left) else ""
    columns = {name: left[name] for name in by if name in left}
    groups = pd.DataFrame({**columns, "state": left["state"], "reason": reason}).fillna("")
    groups["reason"] = groups["reason"].astype(str).str.slice(0, 160)
    return groups.value_counts().reset_index(name="models").head(most)


def choose(runs: pd.DataFrame, most: int) -> list[int]:
    """Positions of up to `most` finished runs: the first of every method and data set, then the second, and so on."""
    if "run" not in runs or "state" not in runs:
        return []
    pairs = list(zip(*(runs.get(name, runs["state"]).astype(str) for name in ("data", "method")), strict=True))
    seen: dict[Any, int] = {}
    ranked = []
    for position, (pair, state) in enumerate(zip(pairs, runs["state"], strict=True)):
        if state == "done":
            seen[pair] = seen.get(pair, 0) + 1
            ranked.append((seen[pair], pair, position))
    return [position for *_, position in sorted(ranked)[:most]]


def own_name(folder: Path) -> str:
    """What a run's files are called in the report's folder: no two runs share it."""
    return f"{folder.name}-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:6]}"


def pictures(folder: Path, out: Path | None = None, make: bool = False) -> tuple[dict[str, Path], str]:
    """The pictures of a run by name, and why they cannot be made where they cannot.

    Those in the run's folder, else those in the report's folder `out`; made there first where asked for and missing.
    """
    if paths := _pictures(folder):
        return paths, ""
    if out is None or not (make or (out / "runs").is_dir()):
        return {}, ""
    own = out / "runs" / own_name(folder)
    if paths := _pictures(own):
        return paths, ""
    if not make:
        return {}, ""
    from unbraid.pictures.traversals import show  # with PyTorch, which a page of finished pictures does not need
    from unbraid.runs.run import Run

    try:
        show(Run(folder), out=own)
    except Exception as error:  # the run may be anybody's: its fault is noted, and the page is made without it
        return {}, _local(printable(str(error)), folder)
    return _pictures(own), ""


def _pictures(folder: Path) -> dict[str, Path]:
    """The pictures in a folder by name; none where neither traversals nor UMAP show what the latents do."""
    files = files_in(folder)
    paths = {name: folder / f"{name}.png" for name in PICTURES if f"{name}.png" in files}
    return paths if "traversals" in paths or "umap" in paths else {}


def files_in(folder: Path) -> set[str]:
    """The names of the files in a folder, without links: one look at each of 12,000 folders."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    except OSError:
        return set()


def latents(folder: Path) -> tuple[dict[str, str], str]:
    """The names that people gave to a run's latents in the names.json of its folder, and why it cannot be read."""
    path = folder / "names.json"
    try:
        return (read_names(path, RunRecord(folder).config.id) if path.name in files_in(folder) else {}), ""
    except InputError as error:
        return {}, _local(str(error), folder)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the table of runs."""

    name: str
    cells: Iterable[Any]
    main: bool
    """Whether it shows before all columns are asked for."""

    @property
    def values(self) -> Values:
        """Its cells as the page holds them. Made on demand: those of all columns would take much memory at once."""
        return [plain(value) for value in self.cells]

    def content(self) -> dict[str, Any]:
        """As small as it gets: a value that all rows share once, words by their number, six digits of a fraction."""
        group, _, label = self.name.partition(".")
        if group not in _GROUPS:
            group, label = "", self.name
        content: dict[str, Any] = {"name": self.name, "group": group, "label": label, "main": self.main}
        if group == "scores" and (side := better(label)) != "neither":
            content["better"] = side
        values = self.values
        if numeric(values):
            content["digits"] = None if group == "settings" else digits(values, smallest=0)
            cells: list[Any] = [_short(value) for value in values]
        else:
            words = list(dict.fromkeys(str(value) for value in values if value is not None))
            at = {word: number for number, word in enumerate(words)}
            content["words"] = words
            cells = [None if value is None else at[str(value)] for value in values]
        if len(cells) > 1 and all(cell == cells[0] for cell in cells):
            return content | {"same": cells[0]}
        return content | {"values": cells}


def _short(value: Any) -> float | int | str | None:
    if value is None or isinstance(value, int):
        return value
    number = float(f"{value:.6g}")
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"  # JSON has no number for it
    return int(number) if number == int(number) and abs(number) < 1e15 else number


def columns(runs: pd.DataFrame) -> list[Column]:
    """All columns in the order of the page. Those that say nothing about any run are left out."""
    cells: dict[str, Iterable[Any]] = {str(name): runs[name] for name in runs.columns}
    cells["run"] = names(runs)
    own = [name for name in cells if "." not in name and name not in (*_FIRST, *_LAST)]  # the study's own columns
    order = [*_FIRST, *own]
    for group in _GROUPS:
        order += [name for name in cells if name.startswith(f"{group}.")]
    order += [name for name in cells if name not in (*order, *_LAST)]
    order += _LAST
    chosen = {*_FIRST[:-1], "reason", *main_scores(runs), *_ERRORS}
    for name in order:
        varied = name == "steps" or name in own or name.startswith("settings.")
        if varied and len({plain(value) for value in cells.get(name, ())} - {None}) > 1:
            chosen.add(name)
    filled = [name for name in order if any(plain(value) is not None for value in cells.get(name, ()))]
    return [Column(name, cells[name], name in chosen) for name in filled]
