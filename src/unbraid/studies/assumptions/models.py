"""The study's finished models: from the folder to a table, from the table to arrays with a row a setting.

A setting is a method with one strength. Statistics take their uncertainty from the seeds: see `draws`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError
from unbraid.methods import METHODS
from unbraid.pictures.style import data_order
from unbraid.report.estimates import Array
from unbraid.runs.folder import Folder, job_folders
from unbraid.runs.table import load_runs
from unbraid.studies.assumptions.study import SIX

METRICS = {
    "scores.beta_vae_score": "BetaVAE",
    "scores.factor_vae_score": "FactorVAE",
    "scores.mig": "MIG",
    "scores.dci.disentanglement": "DCI",
    "scores.modularity": "Modularity",
    "scores.sap": "SAP",
}
MORE_METRICS = {
    "scores.dci.completeness": "DCI complet.",
    "scores.dci.informativeness": "DCI inform.",
    "scores.explicitness": "Explicitness",
    "scores.irs": "IRS",
}
UNSUPERVISED = {
    "scores.reconstruction": "Reconstruction",
    "scores.kl": "KL",
    "scores.elbo": "ELBO",
    "scores.total_correlation_sampled": "TC (sampled)",
}
UDR = {"scores.udr.lasso": "UDR lasso", "scores.udr.spearman": "UDR Spearman"}
MEAN, SAMPLED = "scores.total_correlation_mean", "scores.total_correlation_sampled"
LEARNERS = {"logistic": "logistic regression", "gbt": "boosted trees"}
WEAKER = ("annealed_vae",)  # methods whose larger setting regularises less: a capacity, not a weight

DATA_SETS = 2  # below which nothing is said of data sets in general


# From the folder to a table


def table(folder: Path) -> pd.DataFrame:
    """The runs of a study's folder, with `strength` and, where they were made, `scores.udr.lasso` and `.spearman`."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    jobs = folder / "jobs"
    runs = with_strength(load_runs(jobs) if jobs.is_dir() else pd.DataFrame())
    agreement = _agreement(jobs)
    if len(runs) and agreement:
        names = [Path(run).name for run in runs["run"]]
        for kind in ("lasso", "spearman"):
            runs[f"scores.udr.{kind}"] = [agreement.get(name, {}).get(kind, math.nan) for name in names]
    return runs


def _agreement(jobs: Path) -> dict[str, dict[str, float]]:
    """UDR by the name of a run's folder; what cannot be read is left out, and counts as not known."""
    found: dict[str, dict[str, float]] = {}
    for path in job_folders(jobs, "udr-*"):
        try:
            read = Folder(path).read_json("udr")
        except InputError:
            continue
        found |= {name: scores for name, scores in read.items() if isinstance(scores, dict)}
    return found


def with_strength(runs: pd.DataFrame) -> pd.DataFrame:
    """The table with a column `strength`: the value of the one setting that the study sweeps for the row's method."""
    if "strength" in runs or "method" not in runs:
        return runs.copy()
    strength = np.full(len(runs), np.nan)
    for name, method in METHODS.items():
        swept = [f"settings.{setting}" for setting in method.strength]
        if len(swept) == 1 and swept[0] in runs:
            values = pd.to_numeric(runs[swept[0]], errors="coerce").to_numpy(float, na_value=np.nan)
            strength = np.where(runs["method"] == name, values, strength)
    return runs.assign(strength=strength)


def finished(runs: pd.DataFrame) -> pd.DataFrame:
    """The done runs that have a strength, one for each data set, setting and seed (the last where there are more)."""
    needed = ["data", "method", "strength", "seed"]
    runs = with_strength(runs)
    if not {"state", *needed} <= set(runs.columns):
        return pd.DataFrame(columns=["run", "state", *needed])
    done = runs[(runs["state"] == "done") & runs[needed].notna().all(axis=1)]
    return done.drop_duplicates(needed, keep="last").reset_index(drop=True)


# From the table to arrays


@dataclass(frozen=True, eq=False)
class Models:
    """Finished models in cells: a cell is a setting on a data set, its columns are the seeds."""

    data: Array
    """(cells,) names of data sets."""
    method: Array
    strength: Array
    scores: Mapping[str, Array] = field(default_factory=dict)
    """By column of the table (cells, seeds); NaN where not known."""
    present: Array = field(default_factory=lambda: np.zeros((0, 0), bool))
    """(cells, seeds): whether there is such a model."""

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Models:
        done = finished(runs)
        keys = list(zip(done["data"], done["method"], done["strength"], strict=True))
        places = {name: place for place, name in enumerate(data_order(done["data"]))}
        order = {name: place for place, name in enumerate(SIX)}
        cells = sorted(set(keys), key=lambda key: (places[key[0]], order.get(key[1], len(order)), key[1], key[2]))
        seeds = sorted(set(done["seed"]))
        rows, columns = ({key: place for place, key in enumerate(found)} for found in (cells, seeds))
        row = np.array([rows[key] for key in keys], int)
        column = np.array([columns[seed] for seed in done["seed"]], int)
        present = np.zeros((len(cells), len(seeds)), bool)
        present[row, column] = True
        scores = {}
        for name in done.columns:
            if str(name).startswith("scores."):
                values = pd.to_numeric(done[name], errors="coerce").to_numpy(float, na_value=np.nan)
                grid = np.full(present.shape, np.nan)
                grid[row, column] = np.where(np.isfinite(values), values, np.nan)
                if np.isfinite(grid).any():
                    scores[str(name)] = grid
        data, method, strength = zip(*cells, strict=True) if cells else ((), (), ())
        return cls(np.array(data, object), np.array(method, object), np.array(strength, float), scores, present)

    @property
    def data_sets(self) -> list[str]:
        return data_order(self.data)

    @property
    def methods(self) -> list[str]:
        """Those of the paper in its order, then others."""
        found = set(self.method)
        return [name for name in SIX if name in found] + sorted(found - set(SIX))

    @property
    def count(self) -> int:
        return int(self.present.sum())

    @property
    def seeds(self) -> int:
        """Models of a setting, as most settings have it."""
        return int(np.median(self.present.sum(1))) if len(self.data) else 0

    def known(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Those of the columns that any model has."""
        return {column: name for column, name in columns.items() if column in self.scores}

    @cached_property
    def downstream(self) -> dict[str, str]:
        """The columns of accuracies, with short names: `LR 100` is logistic regression on 100 points, `GBT` trees."""
        found = []
        for column in self.scores:
            if matched := re.fullmatch(r"scores\.downstream\.(logistic|gbt)\.(\d+)", column):
                found.append((matched[1] == "gbt", int(matched[2]), column))
        return {column: f"{'GBT' if trees else 'LR'} {points}" for trees, points, column in sorted(found)}

    @cached_property
    def efficiencies(self) -> dict[str, str]:
        columns = {f"scores.downstream.{learner}.efficiency": name for learner, name in LEARNERS.items()}
        return self.known(columns)

    def cells(self, data: str | None = None, method: str | None = None) -> Array:
        """Which cells are of this data set and this method."""
        kept = np.ones(len(self.data), bool)
        if data is not None:
            kept &= self.data == data
        if method is not None:
            kept &= self.method == method
        return np.flatnonzero(kept)

    def get(self, column: str) -> Array:
        """Scores (cells, seeds); all unknown where the table has no such column."""
        return self.scores[column] if column in self.scores else np.full(self.present.shape, np.nan)

    def medians(self, column: str) -> Array:
        """The median over seeds (cells,)."""
        return np.asarray(quietly(np.nanmedian, self.get(column), 1))

    def rows(self, columns: Iterable[str], cells: Array) -> Array:
        """One row a model, one column a score."""
        found = [self.get(column)[cells].ravel() for column in columns]
        return np.stack(found, 1) if found else np.zeros((0, 0))

    @cached_property
    def settings(self) -> list[tuple[str, float]]:
        return sorted(set(zip(self.method, self.strength, strict=True)))

    def by_setting(self, values: Array) -> Array:
        """Values of cells (cells, …) as (data sets, settings, …), NaN where a setting was not run."""
        places = {name: place for place, name in enumerate(self.data_sets)}
        settings = {setting: place for place, setting in enumerate(self.settings)}
        found = np.full((len(places), len(settings), *values.shape[1:]), np.nan)
        row = [places[name] for name in self.data]
        column = [settings[setting] for setting in zip(self.method, self.strength, strict=True)]
        found[row, column] = values
        return found

    @cached_property
    def regularisation(self) -> Array:
        """The strength of each cell's regularisation, larger for more (cells,)."""
        return np.where(np.isin(self.method, WEAKER), -self.strength, self.strength)

    def ranks(self, data: str, method: str) -> tuple[Array, Array]:
        """The cells of a method on a data set from the weakest regularisation to the strongest, and their places 1…

        A strength has the same place on all data sets.
        """
        strengths = sorted(set(self.strength[self.cells(method=method)]), reverse=method in WEAKER)
        places = {strength: place + 1 for place, strength in enumerate(strengths)}
        cells = self.cells(data, method)
        at = np.array([places[strength] for strength in self.strength[cells]], int)
        return cells[at.argsort()], np.sort(at)


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """NumPy's functions that skip NaN, without a word where there is nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*arguments)
