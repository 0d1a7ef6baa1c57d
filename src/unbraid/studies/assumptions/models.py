"""The study's models as arrays: by data set, one row per setting (a method with one strength), one column per seed."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report.estimates import Array
from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.strengths import SIX, STRENGTHS

METRICS = {
    "beta_vae_score": "BetaVAE",
    "factor_vae_score": "FactorVAE",
    "mig": "MIG",
    "dci.disentanglement": "DCI",
    "modularity": "Modularity",
    "sap": "SAP",
}
MORE_METRICS = {
    "dci.completeness": "DCI complet.",
    "dci.informativeness": "DCI inform.",
    "explicitness": "Explicitness",
    "irs": "IRS",
}
UNSUPERVISED = {
    "reconstruction": "Reconstruction",
    "kl": "KL",
    "elbo": "ELBO",
    "total_correlation_sampled": "TC (sampled)",
}
UDR = {"udr.lasso": "UDR lasso", "udr.spearman": "UDR Spearman"}
MEAN, SAMPLED = "total_correlation_mean", "total_correlation_sampled"
LEARNERS = {"logistic": "logistic regression", "gbt": "boosted trees"}
WEAKER = ("annealed_vae",)  # methods whose larger setting regularises less: a capacity, not a weight
OTHER = "dlib."  # the prefix of scores by the reference code's protocol
ALIVE = 0.5  # active latents below which a model has learned nothing


def describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """The strength of a row: the value of the one setting that the study sweeps for its method."""
    name, _ = STRENGTHS.get(str(row.get("method")), ("", ()))
    return {"strength": row.get(f"settings.{name}")}


def table(folder: Path) -> RunTable:
    """The models of a study's folder, each with its `strength` and what UDR and the examinations added."""
    return RunTable.read(folder, describe, identity=("strength",))


def by_reference_alone(table: RunTable) -> bool:
    """Whether the metrics are those of the reference code only: its results were imported."""
    return bool(table.columns(f"scores.{OTHER}{name}" for name in METRICS)) and not table.columns(
        f"scores.{name}" for name in METRICS
    )


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table. Scores go by their names without `scores.`."""

    table: RunTable
    prefix: str = ""
    """Before the names of metrics: `dlib.` reads those of the reference code's protocol where there are any."""

    @cached_property
    def _cells(self) -> tuple[dict[tuple[str, str, float], int], Mapping[str, Array]]:
        keys, grids = self.table.cells(["data", "method", "strength"])
        return {(str(d), str(m), float(s)): row for row, (d, m, s) in enumerate(keys)}, grids

    @property
    def data_sets(self) -> list[str]:
        return self.table.data_sets

    @cached_property
    def methods(self) -> list[str]:
        """Those of the paper in its order, then others."""
        names = {method for _, method, _ in self._cells[0]}
        return [name for name in SIX if name in names] + sorted(names - set(SIX))

    @cached_property
    def settings(self) -> list[tuple[str, float]]:
        """Every method with every strength, from its weakest regularisation to its strongest."""
        pairs = {(method, strength) for _, method, strength in self._cells[0]}
        return sorted(pairs, key=lambda pair: (self.methods.index(pair[0]), self._regularisation(*pair)))

    @staticmethod
    def _regularisation(method: str, strength: float) -> float:
        return -strength if method in WEAKER else strength

    def strengths(self, method: str) -> list[float]:
        return [strength for name, strength in self.settings if name == method]

    @property
    def count(self) -> int:
        return len(self.table.done)

    @cached_property
    def seeds(self) -> int:
        """Models per setting, as most settings have them."""
        counts = self.table.done.groupby(["data", "method", "strength"]).size()
        return int(counts.median()) if len(counts) else 0

    def column(self, score: str) -> str:
        """The table's column of a score, by the other protocol where that is asked for and there."""
        other = f"scores.{self.prefix}{score}"
        return other if other in self._cells[1] else f"scores.{score}"

    def known(self, names: Mapping[str, str]) -> dict[str, str]:
        """Those of the scores that any model has."""
        return {score: name for score, name in names.items() if self.column(score) in self._cells[1]}

    def by_setting(self, score: str) -> Array:
        """(data sets, settings, seeds), NaN where there is no such model or it has no such score."""
        if score not in self._grids:
            cells, grids = self._cells
            shape = (len(self.data_sets), len(self.settings), len(self.table.seeds))
            grid, column = np.full(shape, np.nan), grids.get(self.column(score))
            for (data, method, strength), cell in cells.items():
                if column is not None:
                    grid[self.data_sets.index(data), self.settings.index((method, strength))] = column[cell]
            self._grids[score] = grid
        return self._grids[score]

    @cached_property
    def _grids(self) -> dict[str, Array]:
        return {}

    def scores(self, score: str, data: str, method: str | None = None) -> Array:
        """The scores on a data set (settings, seeds), of all methods or one, weakest regularisation first."""
        grid = self.by_setting(score)[self.data_sets.index(data)]
        return grid if method is None else np.asarray(grid[[name == method for name, _ in self.settings]])

    def rows(self, scores: Iterable[str], data: str, method: str | None = None) -> Array:
        """One row per model of a data set, one column per score."""
        columns = [self.scores(score, data, method).ravel() for score in scores]
        return np.stack(columns, 1) if columns else np.zeros((0, 0))

    def runs(self, data: str, method: str) -> list[str]:
        """The run of each row of `rows`; empty where there is no such model."""
        keys = itertools.product([data], [method], self.strengths(method), self.table.seeds)
        return [self._folders.get(key, "") for key in keys]

    @cached_property
    def _folders(self) -> dict[tuple[str, str, float, int], str]:
        """The folder of each model by data set, method, strength and seed."""
        columns = [self.table.done[name].tolist() for name in ("data", "method", "strength", "seed", "run")]
        return {(d, m, float(s), int(seed)): str(run) for d, m, s, seed, run in zip(*columns, strict=True)}

    @cached_property
    def downstream(self) -> dict[str, str]:
        """Accuracies with short names: `LR 100` is logistic regression on 100 points, `GBT` boosted trees."""
        names = []
        for column in self._cells[1]:
            if match := re.fullmatch(r"scores\.(downstream\.(logistic|gbt)\.(\d+))", column):
                names.append((match[2] == "gbt", int(match[3]), match[1]))
        return {score: f"{'GBT' if trees else 'LR'} {points}" for trees, points, score in sorted(names)}

    @cached_property
    def efficiencies(self) -> dict[str, str]:
        return self.known({f"downstream.{learner}.efficiency": name for learner, name in LEARNERS.items()})

    def alive(self) -> Models:
        """Without the models that learned nothing: those without an active latent."""
        frame = self.table.done
        if "scores.active_latents" in frame:
            active = pd.to_numeric(frame["scores.active_latents"], errors="coerce")
            frame = frame[~(active < ALIVE)]
        return Models(RunTable(frame, self.table.tables, identity=self.table.identity), self.prefix)


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """NumPy's functions that skip NaN, without a warning where there is nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*arguments)


def rank_matrix(left: Array, right: Array) -> Array:
    """Spearman's correlation of the columns of two tables (n, a) and (n, b): (a, b). NaN where it is not defined."""
    matrix = np.full((left.shape[1], right.shape[1]), np.nan)
    for i, j in np.ndindex(*matrix.shape):
        both = np.isfinite(left[:, i]) & np.isfinite(right[:, j])
        x, y = (pd.Series(column[both]).rank() for column in (left[:, i], right[:, j]))
        if both.sum() > 2 and x.std() > 0 and y.std() > 0:
            matrix[i, j] = float(np.corrcoef(x, y)[0, 1])
    return matrix
