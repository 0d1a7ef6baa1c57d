"""Kept results and the runs of a folder as one table: for more seeds of a study whose first runs are gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.errors import InputError
from unbraid.report.run_table import RunTable, _below, numbers

DIGITS = 1e-5  # by which two equal scores may differ, relative to their size: kept results have seven digits


def joined(runs: RunTable, kept: RunTable) -> tuple[RunTable, str]:
    """The table of a study's folder with the jobs of kept results that the folder has not finished.

    A score that a run of the folder lacks, because it was not examined here, is taken from the kept results. Pictures
    are not: with more models, others may be the best. Also gives, in words, whether runs that are in both have the same
    scores; empty if there are none.
    """
    if runs.folder is None:
        raise ValueError("expected the table of a folder")
    missing = {"run", "state"} - set(kept.frame)
    if missing:
        raise InputError(f"the kept results have no column '{min(missing)}'")
    added = kept.frame.assign(run=[_inside(runs.folder, str(run)) for run in kept.frame["run"]])
    tables = {
        name: _rows(runs.tables.get(name), kept.tables.get(name))
        for name in dict.fromkeys([*runs.tables, *kept.tables])
    }
    if runs.frame.empty:
        return replace(runs, frame=added, tables=tables, identity=kept.identity), ""
    if runs.identity != kept.identity:
        ours, other = (", ".join(names) or "nothing" for names in (runs.identity, kept.identity))
        raise InputError(f"the kept results are of another study: columns of its own are {other}; expected {ours}")
    jobs, kept_jobs = (_jobs(frame, runs.folder) for frame in (runs.frame, added))
    finished = jobs[runs.frame["state"] == "done"]
    own = runs.frame[jobs.isin(finished) | ~jobs.isin(kept_jobs)]
    both, rest = added[kept_jobs.isin(finished)], added[~kept_jobs.isin(finished)]
    frame = pd.concat([_filled(own, both), rest], ignore_index=True)
    return replace(runs, frame=frame, tables=tables), agreement(own, both)


def agreement(runs: pd.DataFrame, kept: pd.DataFrame) -> str:
    """In words, whether the runs that two tables have in common have the same scores; empty if there are none."""
    ours, other = _scores(runs).align(_scores(kept), "inner")
    if ours.empty:
        return ""
    one = len(ours) == 1
    count = f"{len(ours)} run{'' if one else 's'} of the folder {'is' if one else 'are'} among the kept results"
    differ = ~np.isclose(ours, other, rtol=DIGITS, atol=0) & ours.notna().to_numpy() & other.notna().to_numpy()
    if not differ.any():
        return f"{count}, with the same scores"
    row, column = np.argwhere(differ)[0]
    return (
        f"{count}; the scores of {differ.any(axis=1).sum()} differ, and those of the folder count: "
        f"{ours.columns[column]} of {Path(str(ours.index[row])).name} is {ours.iloc[row, column]:.7g}, "
        f"kept {other.iloc[row, column]:.7g}"
    )


def _scores(frame: pd.DataFrame) -> pd.DataFrame:
    """The scores of each run; a job that made several models without folders of their own has none here."""
    rows = frame.drop_duplicates("run", keep=False)
    return pd.DataFrame({name: numbers(rows[name]) for name in rows if str(name).startswith("scores.")}, rows["run"])


def _filled(frame: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """The same runs, with kept scores where they have none."""
    scores = _scores(kept)
    known = {name: frame["run"].map(scores[name]) for name in scores}
    return frame.assign(**{
        str(name): values if name not in frame else frame[name].where(frame[name].notna(), values)
        for name, values in known.items()
    })  # fmt: skip


def _inside(folder: Path, run: str) -> str:
    """Where a kept run would be in the folder."""
    if not (folder / run).resolve().is_relative_to(folder.resolve()):
        raise InputError(f"the kept results name a run outside the study: {run}")
    return str(folder / run)


def _jobs(frame: pd.DataFrame, folder: Path) -> pd.Series[str]:
    """The job that made each run: `jobs/NAME`, whatever follows."""
    above = folder.resolve()
    runs = [Path(_below(Path(str(run)), above)) for run in frame["run"]]
    return pd.Series(["/".join(run.parts[:2]) for run in runs], frame.index, dtype=str)


def _rows(rows: pd.DataFrame | None, kept: pd.DataFrame | None) -> pd.DataFrame:
    """The rows of both, without those of kept jobs that the first has too."""
    if rows is None or kept is None or "job" not in rows or "job" not in kept:
        return next((frame for frame in (rows, kept) if frame is not None), pd.DataFrame())
    return pd.concat([rows, kept[~kept["job"].isin(rows["job"])]], ignore_index=True)
