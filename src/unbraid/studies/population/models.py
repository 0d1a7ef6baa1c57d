"""The study's outcomes: from the folder to two tables, from the tables to arrays over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError
from unbraid.pictures.style import data_order, method_name
from unbraid.report.estimates import Array
from unbraid.runs.folder import Folder, job_folders
from unbraid.runs.table import load_runs
from unbraid.studies.population.study import FEW, SIX

MIG, DCI = "scores.mig", "scores.dci.disentanglement"
METRICS = {MIG: "MIG", DCI: "DCI"}
FOUND = 0.5  # of a factor's entropy that one active latent tells, from which the factor counts as found

BY_MIG, BY_DCI, BY_FEW = "pbt-mig", "pbt-dci", "pbt-mig-few"
CHOSEN_FEW, SEARCH_FEW = "search-mig-few", f"search-{FEW}-mig-few"
BY_UDR, RPU, MATCH = "pbt-udr", "rpu", "match"
NAMES = {
    BY_MIG: "PBT-S-VAE (MIG)",
    BY_DCI: "PBT-S-VAE (DCI)",
    BY_FEW: "PBT-S-VAE (MIG), few labels",
    CHOSEN_FEW: "selection, few labels",
    FEW: "few-label VAE",
    SEARCH_FEW: "few-label VAE, selected",
    BY_UDR: "PBT-U-VAE (UDR)",
    RPU: "rPU-VAE",
    MATCH: "β-TCVAE, search by UDR",
    **{method: method_name(method) for method in SIX},
}


# From the folder to tables


def table(folder: Path) -> pd.DataFrame:
    """A row for each model that a job gave, with the `approach` that led to it and the images that took.

    Those are models trained alone, the best of populations and searches, and of each rPU-VAE the best of its first
    metaEpoch (`pbt-udr`) and the last model of every number of `leaf_runs`. `trained` images are all that the approach
    has spent on the model, `lineage` those that the model itself has seen.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    return pd.DataFrame([row for path, job in _jobs(folder) for row in _rows(path, job)])


def meta_epochs(folder: Path) -> pd.DataFrame:
    """A row for each metaEpoch of each finished rPU-VAE, by seed.

    `knows` has for each active latent the share of each factor that it tells, `found` the factors that one of them
    tells half of, and `new` those of them that no metaEpoch before it in its leaf-run has found.
    """
    rows = []
    for path, job in _jobs(folder):
        if job.get("kind") == "Recursive" and (found := _outcome(path)) is not None:
            told = {"data": job["base"]["data"], "seed": job["config"]["seed"], "run": str(path / "rpu")}
            rows += [{**told, **epoch} for epoch in found["metaepochs"]]
    rows.sort(key=lambda row: (row["data"], row["seed"]))
    return with_found(pd.DataFrame(rows))


def with_found(epochs: pd.DataFrame) -> pd.DataFrame:
    """The table with `found` and `new`, from what latents know."""
    if epochs.empty:
        return epochs
    found = [_found(told) for told in epochs["knows"]]
    new = []
    for place, row in enumerate(epochs.itertuples()):
        before: set[str] = set()
        for other, earlier in enumerate(epochs.itertuples()):
            same = (earlier.data, earlier.seed) == (row.data, row.seed) and earlier.leaf in (0, row.leaf)
            if same and earlier.metaepoch < row.metaepoch:
                before |= set(found[other])
        new.append([factor for factor in found[place] if factor not in before])
    return epochs.assign(found=found, new=new)


def _found(told: list[Mapping[str, float]]) -> list[str]:
    names = list(told[0]) if told else []
    return [name for name in names if max(latent[name] for latent in told) >= FOUND]


def _jobs(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folders of the study's jobs, and what each says it is; of a match with the `base` of its rival."""
    records: dict[Path, dict[str, Any]] = {}
    for path in job_folders(folder / "jobs"):
        with suppress(InputError):
            records[path] = Folder(path).read_json("job")
    bases = {job.get("id"): job["base"] for job in records.values() if "base" in job}
    for path, job in records.items():
        rival = {"base": bases[job["rival"]]} if job.get("rival") in bases else {}
        yield path, {**job, **rival}


def _outcome(path: Path) -> dict[str, Any] | None:
    """What a finished job found; None where it is not finished, or damaged."""
    return Folder(path).read_json("outcome") if _standing(path)["state"] == "done" else None


def _rows(path: Path, job: dict[str, Any]) -> list[dict[str, Any]]:
    if job.get("kind") == "Train":
        row = next(iter(load_runs(path).to_dict("records")), None)
        images = int(job["steps"]) * int(job["settings"]["batch_size"])
        return [] if row is None else [{**row, "approach": job["method"], "trained": images, "lineage": images}]
    if "base" not in job:
        return []
    base = job["base"]
    approach = str(job["label"]).removesuffix(f"-{base['data']}")
    told = {"method": base["method"], "data": base["data"], "approach": approach, "seed": _seed(job)}
    found = _outcome(path)
    if found is None:
        standing = _standing(path)
        return [{"run": str(path), "state": standing["state"], **told, "reason": standing.get("reason")}]
    if job["kind"] != "Recursive":
        return [_row(path, found, told)]
    if not found["finals"]:
        reason = f"no label to train the last population by: {found['stop']}"
        finals = [{"run": str(path), "state": "failed", **told, "reason": reason, "trained": found["trained"]}]
    else:
        finals = [_row(path, final, told) for final in found["finals"]]
    return [_row(path, found["first"], {**told, "approach": BY_UDR}), *finals]


def _row(path: Path, found: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """A model in a job's folder: what the run says of itself, and what the outcome adds."""
    rows = load_runs(path / found["run"]).to_dict("records") if (path / found["run"]).is_dir() else []
    row: dict[str, Any] = dict(rows[0]) if rows else {"run": str(path / found["run"]), "state": "done"}
    more = {name: found[name] for name in _ADDED if name in found}
    scores = {f"scores.{name}": value for name, value in found["scores"].items()}
    return {**row, **told, **more, **scores, "seconds": _standing(path).get("seconds")}


_ADDED = ("trained", "lineage", "generations", "fitness", "leaf_runs")


def _seed(job: Mapping[str, Any]) -> int:
    return int(job["config" if "config" in job else "population"]["seed"])


def _standing(path: Path) -> dict[str, Any]:
    """A job's state, or what is wrong with its folder."""
    held = Folder(path)
    faults = held.faults()
    return {"state": "damaged", "reason": faults[0]} if faults else held.state


# From tables to arrays


@dataclass(frozen=True)
class Models:
    """The finished models of a study, and the metaEpochs of its rPU-VAEs."""

    runs: pd.DataFrame
    epochs: pd.DataFrame = field(default_factory=pd.DataFrame)

    @staticmethod
    def of(runs: pd.DataFrame, epochs: pd.DataFrame | None = None) -> Models:
        """Those that are done and have a score."""
        wanted = {"state", "approach", "data", "seed"}
        if not wanted <= set(runs.columns):
            return Models(pd.DataFrame(columns=[*wanted, *_ADDED, "seconds", *METRICS]))
        done = runs[runs["state"] == "done"].reset_index(drop=True)
        missing = [name for name in (*_ADDED, "seconds", *METRICS) if name not in done]
        return Models(done.assign(**dict.fromkeys(missing, np.nan)), pd.DataFrame() if epochs is None else epochs)

    @property
    def data_sets(self) -> list[str]:
        return data_order(self.runs["data"].dropna())

    def most_leaves(self, data: str) -> int:
        """The largest number of leaf-runs; 0 where there is no rPU-VAE."""
        rows = self._of(RPU, data)["leaf_runs"].dropna()
        return int(rows.max()) if len(rows) else 0

    def of_approach(self, approach: str, data: str, leaves: int | None = None) -> pd.DataFrame:
        """Its models by seed; of rPU-VAE those with so many leaf-runs, by default with the most."""
        rows = self._of(approach, data)
        if approach == RPU:
            rows = rows[rows["leaf_runs"] == (self.most_leaves(data) if leaves is None else leaves)]
        return rows.sort_values("seed", kind="stable")

    def _of(self, approach: str, data: str) -> pd.DataFrame:
        return self.runs[(self.runs["approach"] == approach) & (self.runs["data"] == data)]

    def scores(self, approach: str, data: str, column: str, leaves: int | None = None) -> Array:
        """(models,)"""
        return np.asarray(self.of_approach(approach, data, leaves)[column].to_numpy(float))

    def gains(self, first: str, second: str, data: str, column: str) -> Array:
        """The first's score minus the second's of each seed that both have: their populations begin alike."""
        both = [self.of_approach(name, data).drop_duplicates("seed") for name in (first, second)]
        mine, theirs = (rows.set_index("seed")[column].astype(float) for rows in both)
        return np.asarray((mine - theirs).dropna().to_numpy())

    def leaf_scores(self, data: str, column: str) -> pd.DataFrame:
        """rPU-VAE's scores: a row a seed, a column a number of leaf-runs."""
        rows = self._of(RPU, data).dropna(subset=["leaf_runs"])
        return rows.pivot_table(index="seed", columns="leaf_runs", values=column, aggfunc="first", dropna=False)

    def epochs_of(self, data: str) -> pd.DataFrame:
        """Of a data set; none where there is no rPU-VAE."""
        return self.epochs[self.epochs["data"] == data] if len(self.epochs) else self.epochs
