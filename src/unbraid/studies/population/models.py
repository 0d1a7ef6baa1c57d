"""The study's models: from the folder to a table, from the table to arrays over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.names import method_name
from unbraid.report.estimates import Array
from unbraid.report.run_table import RunTable, numbers
from unbraid.studies.assumptions.strengths import STRENGTHS
from unbraid.studies.population.jobs import BY_UDR, RPU, Base
from unbraid.studies.population.study import FEW, SIX

MIG, DCI = "scores.mig", "scores.dci.disentanglement"
METRICS = {MIG: "MIG", DCI: "DCI"}
FOUND = 0.5  # of a factor's entropy that one active latent tells, from which the factor counts as found

BY_MIG, BY_DCI, BY_FEW = "pbt-mig", "pbt-dci", "pbt-mig-few"
CHOSEN_FEW, SEARCH_FEW = "search-mig-few", f"search-{FEW}-mig-few"
MATCH = "match"
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
IDENTITY = ("approach", "variant")


def describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """The `approach` that led to a model, and the `variant` that tells it from others of its approach and seed.

    A variant is the strength of a model trained alone, or the number of leaf-runs of an rPU-VAE.
    """
    if row.get("kind") == "Train":
        method = str(row.get("method"))
        strength = f"settings.{STRENGTHS.get(method, ('beta', ()))[0]}"
        images = row.get("steps", 0) * row.get("settings.batch_size", 0) or None
        variant = f"{row[strength]:g}" if strength in row else None
        return {"approach": method, "variant": variant, "trained": images, "lineage": images}
    if "job.label" not in row:
        return {}
    approach, _, data = str(row["job.label"]).rpartition("-")
    return {
        "approach": row.get("approach", approach),
        "variant": f"{row['leaf_runs']} leaf-runs" if "leaf_runs" in row else "only",
        "data": data,
        "method": row.get("job.base.method", Base.method),
        "seed": row.get("job.config.seed", row.get("job.population.seed")),
    }


def table(folder: Path) -> RunTable:
    """One row per model that a job gave, with the `approach` that led to it and the images that took.

    Those are models trained alone, the best of populations and searches, and of each rPU-VAE the best of its first
    metaEpoch (`pbt-udr`) and the last model of every number of `leaf_runs`. `trained` images are all that the approach
    has spent on the model, `lineage` those that the model itself has seen.
    """
    return RunTable.read(folder, describe, IDENTITY, makers=("Evolve", "Recursive", "Match"))


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table, the metaEpochs of its rPU-VAEs, and the histories of its populations."""

    table: RunTable

    @property
    def data_sets(self) -> list[str]:
        return self.table.data_sets

    @property
    def first(self) -> str:
        """The data set of figures 1 and 2."""
        return next(iter(self.data_sets), "dsprites")

    @property
    def recursive(self) -> list[str]:
        """Data sets with rPU-VAEs."""
        return [data for data in self.data_sets if self.count(RPU, data)]

    def present(self, approaches: Sequence[str], data: str) -> list[str]:
        """Those of the approaches that have models on a data set."""
        return [approach for approach in approaches if self.count(approach, data)]

    def most_leaves(self, data: str) -> int:
        """The largest number of leaf-runs; 0 where there is no rPU-VAE."""
        rows = self.table.where(approach=RPU, data=data)
        leaves = numbers(rows["leaf_runs"]) if "leaf_runs" in rows else np.empty(0)
        return int(np.nanmax(leaves)) if np.isfinite(leaves).any() else 0

    def _where(self, approach: str, data: str, leaves: int | None) -> dict[str, Any]:
        if approach != RPU:
            return {"approach": approach}
        return {"approach": RPU, "leaf_runs": self.most_leaves(data) if leaves is None else leaves}

    def count(self, approach: str, data: str, leaves: int | None = None) -> int:
        return len(self.table.where(data=data, **self._where(approach, data, leaves)))

    def rows(self, approach: str, data: str, leaves: int | None = None) -> pd.DataFrame:
        """Its models by seed; of rPU-VAE those with so many leaf-runs, by default with the most."""
        rows = self.table.where(data=data, **self._where(approach, data, leaves))
        return rows.sort_values("seed") if len(rows) else rows

    def scores(self, approach: str, data: str, column: str, leaves: int | None = None) -> Array:
        """The numbers of its models (models,)."""
        rows = self.rows(approach, data, leaves)
        return numbers(rows[column]) if column in rows else np.full(len(rows), np.nan)

    def by_seed(self, approach: str, data: str, column: str, leaves: int | None = None) -> Array:
        """The same (seeds,), NaN where there is no model: populations with the same seed begin alike."""
        if data not in self.data_sets:
            return np.full(len(self.table.seeds), np.nan)
        return np.asarray(self.table.array(column, **self._where(approach, data, leaves))[self.data_sets.index(data)])

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """One row per metaEpoch of each rPU-VAE, by seed.

        `knows` has for each active latent the share of each factor that it tells, `found` the factors that one of them
        tells half of, and `new` those of them that no metaEpoch before it in its leaf-run has found.
        """
        rows = self.table.tables.get("metaepochs", pd.DataFrame())
        return rows if rows.empty else with_found(rows.sort_values(["data", "seed"], kind="stable", ignore_index=True))

    def known(self, approach: str, data: str) -> dict[int, list[dict[str, float]]]:
        """By seed, what the active latents of an approach's model know on the whole data.

        Of rPU-VAE that is the last model with the most leaf-runs.
        """
        rows = self.table.tables.get("known", pd.DataFrame(columns=["approach", "data", "seed", "knows"]))
        rows = rows[(rows["approach"] == approach) & (rows["data"] == data)]
        if approach == RPU and len(rows):
            rows = rows[rows["leaf_runs"] == self.most_leaves(data)]
        return {int(row.seed): row.knows for row in rows.sort_values("seed").itertuples()}

    def progress(self, data: str) -> dict[int, list[list[dict[str, float]]]]:
        """By seed, what the best model of each generation of the first metaEpoch knows, first generation first."""
        rows = self.table.tables.get("progress", pd.DataFrame(columns=["data", "seed", "generation", "knows"]))
        rows = rows[rows["data"] == data].sort_values(["seed", "generation"])
        return {int(str(seed)): list(group["knows"]) for seed, group in rows.groupby("seed")}

    def epochs_of(self, data: str) -> pd.DataFrame:
        """Of a data set; none where there is no rPU-VAE."""
        return self.epochs[self.epochs["data"] == data] if len(self.epochs) else self.epochs

    def histories(self, approach: str, data: str) -> dict[str, pd.DataFrame]:
        """The histories of populations, by seed."""
        rows = self.table.tables.get("histories", pd.DataFrame(columns=["approach", "data", "seed", "history"]))
        chosen = rows[(rows["approach"] == approach) & (rows["data"] == data)].sort_values("seed")
        return {f"seed {row.seed}": pd.DataFrame(row.history) for row in chosen.itertuples()}


def with_found(epochs: pd.DataFrame) -> pd.DataFrame:
    """The metaEpochs with `found` and `new`, from what latents know."""
    factors = [found_factors(knows) for knows in epochs["knows"]]
    new = []
    for index, row in enumerate(epochs.itertuples()):
        before: set[str] = set()
        for other, earlier in enumerate(epochs.itertuples()):
            same = (earlier.data, earlier.seed) == (row.data, row.seed) and earlier.leaf in (0, row.leaf)
            if same and earlier.metaepoch < row.metaepoch:
                before |= set(factors[other])
        new.append([factor for factor in factors[index] if factor not in before])
    return epochs.assign(found=factors, new=new)


def best_known(knows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The largest share of each factor that one latent tells; empty without an active latent."""
    return {name: max(latent[name] for latent in knows) for name in (knows[0] if knows else ())}


def found_factors(knows: Sequence[Mapping[str, float]]) -> list[str]:
    """The factors of which one latent tells half."""
    return [name for name, share in best_known(knows).items() if share >= FOUND]
