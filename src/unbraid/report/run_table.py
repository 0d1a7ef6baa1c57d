"""The models of a study as one tidy table, from its folder or from committed results.

A row is a model. Its columns are those of `load_runs` (`run`, `state`, `method`, `data`, `seed`, `settings.…`,
`scores.…`), and

    kind                     of the job that made it
    data.…                   the settings of its data
    encoder, encoder_seed    the method and seed of the model whose codes it was trained on
    scores.…                 also what examinations of the model added
    …                        what the study says of a row: `describe`

Rows of other shapes, such as the metaEpochs of an rPU-VAE, are in `tables`, by name.
"""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from unbraid.data.atomic import replacing
from unbraid.data.reading import picture
from unbraid.errors import InputError
from unbraid.jobs.results import Results, flat, read_results
from unbraid.pictures.names import data_name, data_order
from unbraid.runs.folder import Folder, job_folders
from unbraid.runs.record import RunRecord
from unbraid.runs.table import by_column, load_runs, run_row

Array = np.ndarray[Any, Any]
Describe = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_UNKNOWN = "NaN"  # in a file; an empty cell is an empty word
_NEEDED = ("run", "state", "data", "method", "seed")


@dataclass(frozen=True, eq=False)
class RunTable:
    """The models of a study. Arrays made from it have one row per data set and one column per seed."""

    frame: pd.DataFrame
    """One row per model, finished or not."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    folder: Path | None = None
    """The study's folder, where there is one: pictures of models are drawn from it."""
    pictures: Mapping[str, Path] = field(default_factory=dict)
    """Pictures that were kept with the results, by name."""
    identity: tuple[str, ...] = ()
    """Columns by which two finished rows with the same data and seed are still different models."""
    faults: tuple[str, ...] = ()
    """What could not be read."""

    # Where it comes from

    @classmethod
    def read(
        cls,
        folder: Path,
        describe: Describe = lambda row: {},
        identity: Iterable[str] = (),
        makers: Container[str] = (),
    ) -> RunTable:
        """The table of a study's folder.

        `describe` gives columns of the study's own from a row. `makers` are the kinds of job that make models inside
        their folders; one that has not finished is a row of its own. The rows of makers have what `job.json` says as
        columns `job.…`, for `describe` alone.
        """
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder")
        rows: list[dict[str, Any]] = []
        by_id: dict[str, dict[str, Any]] = {}
        examined: list[tuple[Path, Results]] = []
        needs: list[tuple[dict[str, Any], str]] = []
        faults: list[str] = []
        for path in job_folders(folder / "jobs"):
            job, results = dict[str, Any](), Results()
            try:
                job = Folder(path).read_json("job")
                results = read_results(path)
            except InputError as error:
                faults.append(str(error))
            if (path / "config.json").exists():
                row = run_row(RunRecord(path)) | _of_job(job)
                rows.append(row)
                by_id[str(job.get("id", path.name.rpartition("-")[2]))] = row
                needs += [(row, str(name)) for name in job.get("needs", ())][:1]
            elif results.models:
                rows += [_made(path, job, model) for model in results.models]
            elif job.get("kind") in makers:
                rows.append(_made(path, job, {}))
            examined.append((path, results))
        for row, name in needs:
            if name in by_id:
                row |= {"encoder": by_id[name].get("method"), "encoder_seed": by_id[name].get("seed")}
        tables: dict[str, list[dict[str, Any]]] = {}
        for path, results in examined:
            for name, scores in results.scores.items():
                if name in by_id:
                    by_id[name] |= {f"scores.{score}": value for score, value in scores.items()}
            for name, lines in results.tables.items():
                tables.setdefault(name, []).extend({"job": path.name, **line} for line in lines)
        for row in rows:
            row |= describe(row)
        frame = by_column(rows, lambda name: not name.startswith("job."))
        frames = {name: pd.DataFrame(lines) for name, lines in tables.items()}
        return cls(frame, frames, folder, identity=tuple(identity), faults=tuple(faults))

    @classmethod
    def load(cls, results: Path) -> RunTable:
        """The table that `save` wrote."""
        try:
            about = json.loads((results / "about.json").read_text(encoding="utf-8"))
            frame = pd.read_csv(results / "runs.csv.gz", low_memory=False, keep_default_na=False, na_values=[_UNKNOWN])
            tables = {}
            for file in sorted(results.glob("*.json.gz")):
                with gzip.open(file, "rt", encoding="utf-8") as text:
                    tables[file.name.removesuffix(".json.gz")] = pd.DataFrame(json.load(text))
        except FileNotFoundError as error:
            raise InputError(f"{results} holds no results: it has no {Path(str(error.filename)).name}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{results} cannot be read as results: {error}") from error
        pictures = {file.stem: file for file in sorted((results / "pictures").glob("*.webp"))}
        frame = frame.copy()  # as one block per type: pandas warns of hundreds of columns that each are a block
        return cls(frame, tables, pictures=pictures, identity=tuple(about["identity"]))

    def save(self, results: Path, pictures: Mapping[str, Image.Image] | None = None) -> None:
        """Keep the table, and pictures by name, so that the report can be made without the runs.

        Paths become relative to the study's folder. The same table gives the same bytes.
        """
        results.mkdir(parents=True, exist_ok=True)
        with replacing(results / "about.json") as part:
            part.write_text(json.dumps({"identity": self.identity}) + "\n", encoding="utf-8")
        frame = self.frame.copy()
        if "run" in frame and self.folder is not None:
            above = self.folder.resolve()
            frame["run"] = [_below(Path(str(run)), above) for run in frame["run"]]
        with replacing(results / "runs.csv.gz") as part:
            text = frame.to_csv(index=False, na_rep=_UNKNOWN, float_format="%.7g")
            part.write_bytes(gzip.compress(text.encode(), mtime=0))
        for name, table in self.tables.items():
            text = table.to_json(orient="records", double_precision=7)
            with replacing(results / f"{name}.json.gz") as part:
                part.write_bytes(gzip.compress(text.encode(), mtime=0))
        for name, image in (pictures or {}).items():
            with replacing(results / "pictures" / f"{name}.webp") as part:
                image.convert("RGB").save(part, format="WEBP", quality=82, method=6)

    @classmethod
    def of_runs(cls, folder: Path) -> RunTable:
        """The table of any folder of runs."""
        return cls(load_runs(folder), folder=folder)

    def picture(self, name: str, draw: Callable[[], Image.Image | None]) -> Image.Image | None:
        """A picture that was kept with the results, or one drawn from the study's folder; None where there is neither.

        `name` is that of the picture on the page, under which `save` keeps it.
        """
        if name in self.pictures:
            with picture(self.pictures[name], self.pictures[name], ("WEBP",)) as image:
                return image.convert("RGB")
        return draw() if self.folder is not None else None

    # What is in it

    @cached_property
    def known(self) -> pd.DataFrame:
        """The rows of which it is known what they are: method, data, seed and what the study adds."""
        columns = [*_NEEDED, *self.identity]
        if not set(columns) <= set(self.frame.columns):
            return pd.DataFrame(columns=[*dict.fromkeys([*self.frame.columns, *columns])])
        return self.frame[self.frame[columns].notna().all(axis=1)].reset_index(drop=True).copy()

    @cached_property
    def done(self) -> pd.DataFrame:
        """The finished rows, one for each data set, method, seed and identity (the last of several)."""
        finished = self.known[self.known["state"] == "done"]
        key = ["data", "method", "seed", *self.identity]
        return finished.drop_duplicates(key, keep="last").reset_index(drop=True)

    @cached_property
    def data_sets(self) -> list[str]:
        return data_order(self.done["data"])

    @cached_property
    def seeds(self) -> list[int]:
        return sorted({int(seed) for seed in self.done["seed"]})

    def columns(self, names: Mapping[str, str] | Iterable[str]) -> list[str]:
        """Those of the columns in which any finished model has a number."""
        return [name for name in names if name in self.done and bool(np.isfinite(numbers(self.done[name])).any())]

    def where(self, **where: Any) -> pd.DataFrame:
        """The finished rows with these values; a column that the table lacks has no value.

        A value may be a list or tuple of values, any of which will do.
        """
        chosen = np.ones(len(self.done), bool)
        for name, wanted in where.items():
            column = name.replace("__", ".")
            if column not in self.done:
                return self.done.iloc[:0]
            values = self.done[column]
            chosen &= np.asarray(values.isin(wanted) if isinstance(wanted, (list, tuple)) else values == wanted)
        return self.done[chosen]

    def subset(self, **where: Any) -> RunTable:
        """A table of the finished rows with these values, on the same data sets and seeds as this one."""
        part = replace(self, frame=self.where(**where))
        part.__dict__ |= {"data_sets": self.data_sets, "seeds": self.seeds}
        return part

    def array(self, column: str, **where: Any) -> Array:
        """The numbers of a column (data sets, seeds) of the finished rows with these values.

        NaN where there is no such model or it has no such number. Two models at one position are an error: the
        values do not single one out. `settings__beta=4.0` is the column `settings.beta`.
        """
        rows = self.where(**where)
        grid = np.full((len(self.data_sets), len(self.seeds)), np.nan)
        if column not in rows or rows.empty:
            return grid
        row = [self.data_sets.index(name) for name in rows["data"]]
        at = [self.seeds.index(int(seed)) for seed in rows["seed"]]
        if len(set(zip(row, at, strict=True))) < len(rows):
            raise ValueError(f"{where} does not single out one model per data set and seed")
        grid[row, at] = numbers(rows[column])
        return grid

    def cells(self, columns: Sequence[str]) -> tuple[list[tuple[Any, ...]], Mapping[str, Array]]:
        """The table with one row per combination of these columns and one column per seed.

        Gives the combinations, in the order in which they first occur, and by name of each numeric column of scores
        an array (combinations, seeds).
        """
        keys = list(self.done[list(columns)].itertuples(index=False, name=None))
        index = {key: position for position, key in enumerate(dict.fromkeys(keys))}
        row = np.array([index[key] for key in keys], int)
        at = np.array([self.seeds.index(int(seed)) for seed in self.done["seed"]], int)
        grids = {}
        for name in self.columns(str(name) for name in self.done.columns if str(name).startswith("scores.")):
            grids[name] = np.full((len(index), len(self.seeds)), np.nan)
            grids[name][row, at] = numbers(self.done[name])
        return list(index), grids

    def states(self, rows: str, columns: str, name: Callable[[str], str] = str) -> pd.DataFrame:
        """`done of all` for each value of one column (rows) and of another (columns)."""
        if self.known.empty:
            return pd.DataFrame()
        done = self.known["state"] == "done"
        counts = self.known.assign(done=done).groupby([rows, columns], sort=False)["done"].agg(["sum", "size"])
        text = counts["sum"].astype(str) + " of " + counts["size"].astype(str)
        frame = text.unstack(columns, fill_value="").reset_index()
        if rows == "data":
            frame = frame.set_index("data").loc[data_order(frame["data"])].reset_index()
            frame["data"] = frame["data"].map(data_name)
        return frame.rename(columns={column: name(str(column)) for column in frame.columns[1:]})


def numbers(values: pd.Series[Any]) -> Array:
    """A column as floats, NaN for whatever is not a finite number."""
    converted = pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)
    return np.asarray(np.where(np.isfinite(converted), converted, np.nan))


def known_mean(values: Array | Sequence[Any], axis: int | tuple[int, ...] | None = None) -> Any:
    """NumPy's mean of the numbers that are known; NaN of none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(np.asarray(values, float), axis)


def _of_job(job: Mapping[str, Any]) -> dict[str, Any]:
    settings = job.get("data_settings")
    columns = {f"data.{name}": value for name, value in settings.items()} if isinstance(settings, Mapping) else {}
    return {"kind": job.get("kind"), **{name: value for name, value in columns.items() if not isinstance(value, dict)}}


def _made(path: Path, job: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """A model that a job made: what its own run says, then what the job says of it."""
    run = path / str(model.get("run", ""))
    if not run.resolve().is_relative_to(path.resolve()):
        return {"run": str(path), "kind": job.get("kind"), "state": "damaged", "reason": f"a model outside: {run}"}
    row = run_row(RunRecord(run)) if model and (run / "config.json").exists() else {}
    faults = Folder(path).faults()
    state = {"state": "damaged", "reason": faults[0]} if faults else Folder(path).state
    standing = {name: state.get(name) for name in ("state", "reason", "seconds")}
    columns = {name: value for name, value in model.items() if name != "run"}
    return {**flat(job, "job."), **row, "kind": job.get("kind"), "run": str(run), **standing, **columns}


def _below(run: Path, folder: Path) -> str:
    try:
        return run.resolve().relative_to(folder).as_posix()
    except ValueError:
        return run.name
