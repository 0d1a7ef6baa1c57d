"""The study's finished models: from the folder to a table, from the table to arrays with a row a setting.

A setting is a method with one strength. Statistics take their uncertainty from the seeds: see `estimate`.
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
from scipy.stats import rankdata

from unbraid.errors import InputError
from unbraid.figures import data_order
from unbraid.folder import Folder
from unbraid.methods import METHODS
from unbraid.record import load_runs
from unbraid.studies.assumptions.study import SIX

Array = np.ndarray[Any, Any]

METRICS = {
    "scores.beta_vae": "BetaVAE",
    "scores.factor_vae": "FactorVAE",
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

SEEDS = 3  # of a setting, below which nothing is said of its spread
DATA_SETS = 2  # below which nothing is said of data sets in general
RESAMPLES = 200


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
    for path in sorted(jobs.glob("udr-*/udr.json")):
        try:
            read = Folder(path.parent).read_json("udr")
        except InputError:
            continue
        found |= {name: scores for name, scores in read.items() if isinstance(scores, dict)}
    return found


def with_strength(runs: pd.DataFrame) -> pd.DataFrame:
    """The table with a column `strength`: the value of the one setting that the study sweeps for the row's method."""
    if "strength" in runs or "method" not in runs:
        return runs.copy()
    strengths = []
    for _, row in runs.iterrows():
        method = METHODS.get(row["method"]) if isinstance(row["method"], str) else None
        (swept,) = method.sweep if method is not None and len(method.sweep) == 1 else ("",)
        strengths.append(pd.to_numeric(row.get(f"settings.{swept}"), errors="coerce"))
    return runs.assign(strength=np.asarray(strengths, float))


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
        row = np.array([{key: place for place, key in enumerate(cells)}[key] for key in keys], int)
        column = np.array([seeds.index(seed) for seed in done["seed"]], int)
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

    def ranks(self, data: str, method: str) -> tuple[Array, Array]:
        """The cells of a method on a data set from the weakest regularisation to the strongest, and their places 1…

        A strength has the same place on all data sets.
        """
        strengths = sorted(set(self.strength[self.cells(method=method)]), reverse=method in WEAKER)
        places = {strength: place + 1 for place, strength in enumerate(strengths)}
        cells = self.cells(data, method)
        at = np.array([places[strength] for strength in self.strength[cells]], int)
        return cells[at.argsort()], np.sort(at)

    @cached_property
    def _drawable(self) -> tuple[Array, Array]:
        return np.argsort(~self.present, axis=1, kind="stable"), self.present.sum(1)[:, None]

    def resampled(self, rng: np.random.Generator) -> Models:
        """As many models for each cell, drawn with replacement from its seeds."""
        order, counts = self._drawable
        places = (rng.random(self.present.shape) * counts).astype(int)
        drawn = np.take_along_axis(order, places, 1)
        present = np.arange(self.present.shape[1])[None] < counts
        scores = {
            name: np.where(present, np.take_along_axis(values, drawn, 1), np.nan)
            for name, values in self.scores.items()
        }
        return Models(self.data, self.method, self.strength, scores, present)


# Statistics


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """NumPy's functions that skip NaN, without a word where there is nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*arguments)


def mean(values: Iterable[float] | Array) -> float:
    """The mean of what is known; NaN of nothing."""
    found = np.asarray(values if isinstance(values, np.ndarray) else list(values), float)
    found = found[np.isfinite(found)]
    return float(found.mean()) if found.size else math.nan


def rank_correlations(left: Array, right: Array) -> Array:
    """Spearman's rank correlation of the columns of two tables (n, a) and (n, b): (a, b).

    Rows where either is not known are left out. NaN with fewer than three rows, or where a column is constant.
    """
    if np.isfinite(left).all() and np.isfinite(right).all():
        return _correlate(left, right)
    found = np.full((left.shape[1], right.shape[1]), np.nan)
    for i, j in np.ndindex(found.shape):
        rows = np.isfinite(left[:, i]) & np.isfinite(right[:, j])
        found[i, j] = _correlate(left[rows, i : i + 1], right[rows, j : j + 1])[0, 0]
    return found


def _correlate(left: Array, right: Array) -> Array:
    if len(left) < 3:
        return np.full((left.shape[1], right.shape[1]), np.nan)
    ranked = [rankdata(table, axis=0) - (len(table) + 1) / 2 for table in (left, right)]
    norms = [np.sqrt((table**2).sum(0)) for table in ranked]
    scale = np.outer(*norms)
    return np.asarray(np.where(scale > 0, ranked[0].T @ ranked[1] / np.where(scale > 0, scale, 1), np.nan))


def number(value: float, form: str = ".2f") -> str:
    """With a real minus sign, and none before a zero."""
    shown = f"{value:{form}}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, NaN where there are too few seeds for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    def side(self, threshold: float) -> str:
        """`above` or `below` where the whole interval is, else `unclear`."""
        if self.low > threshold:
            return "above"
        return "below" if self.high < threshold else "unclear"

    def text(self, form: str = ".2f") -> str:
        if not math.isfinite(self.value):
            return "not known"
        shown = number(self.value, form)
        return f"{shown} [{number(self.low, form)}, {number(self.high, form)}]" if math.isfinite(self.low) else shown


def around(value: float, drawn: Iterable[float], seeds: int, bounds: tuple[float, float]) -> Estimate:
    """The spread of bootstrap values around their median, put around the value itself.

    Drawing n seeds from n shows (n-1)/n of the variance; the spread is widened by √(n/(n-1)) to make up for it.
    """
    values = np.asarray([entry for entry in drawn if math.isfinite(entry)])
    if not math.isfinite(value) or seeds < SEEDS or len(values) < 20:
        return Estimate(value)
    spread = (np.quantile(values, [0.025, 0.975]) - np.median(values)) * math.sqrt(seeds / (seeds - 1))
    low, high = np.clip(value + spread, *bounds).tolist()
    return Estimate(value, low, high)


Statistic = Callable[[Models], dict[str, float]]


def estimate(
    models: Models,
    statistic: Statistic,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Numbers by name with 95 % intervals, from a bootstrap that draws seeds anew within every setting.

    The settings and the data sets are taken as given: the interval says what other seeds would have shown.
    """
    values = {name: value for name, value in statistic(models).items() if math.isfinite(value)}
    drawn: dict[str, list[float]] = {name: [] for name in values}
    if values and models.seeds >= SEEDS:
        rng = np.random.default_rng(0)
        for _ in range(resamples):
            found = statistic(models.resampled(rng))
            for name in values:
                drawn[name].append(found.get(name, math.nan))
    return {name: around(value, drawn[name], models.seeds, bounds) for name, value in values.items()}
