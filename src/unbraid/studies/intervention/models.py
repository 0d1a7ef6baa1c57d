"""The study's models: from the folder to a table, from the table to arrays (data sets, seeds)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report.estimates import Array
from unbraid.report.run_table import RunTable, numbers
from unbraid.studies.intervention.jobs import CHOSEN, DIFFICULTY, PREDICTED, SWEEP, TRAINED_DIFFICULTY
from unbraid.studies.intervention.study import ABLATIONS, GAMMAS, RIVALS, TARGETS, VARIANTS

METRICS = {"scores.dci.disentanglement": "DCI", "scores.sap": "SAP", "scores.irs": "IRS"}
DIFFICULT, CHOOSING = f"scores.{DIFFICULTY}", f"scores.{TRAINED_DIFFICULTY}"
EXCESS, PREDICTABLE, OVERFIT = f"{DIFFICULT}.excess", f"scores.{PREDICTED}", f"scores.{PREDICTED}.overfit"
USUAL, *SWEPT = (f"{DIFFICULT}.{name}" for name in SWEEP)
OVERLAP, COLOUR = "scores.overlap", "scores.neighbour_colour"
PLAIN, WEIGHTED, PERMUTED, SHARE = (
    f"scores.two_sample.{name}" for name in ("plain", "weighted", "permuted", "effective_share")
)
APART = "scores.apart"
ERROR = "scores.squared_error"
RELATIONS = INDEPENDENT, CORRELATED = "independent", "correlated"
CANDIDATE = "candidate"
NAMES = {
    "factor_vae": "FactorVAE",
    "beta_tc_vae": "β-TCVAE",
    "infogan_cr": "InfoGAN-CR",
    "intervention": "intervention",
    "ada_gvae": "Ada-GVAE",
    "factorized_support": "factorized support",
}
IDENTITY = ("relation", "variant", "weights")


# The table


def describe(row: Mapping[str, Any]) -> dict[str, str]:
    """What tells a model from others of its method, data set and seed.

    `relation` says whether the factors of its training rows are independent or correlated, `variant` its γ, or which
    part of the loss of `intervention` it lacks, or what target its difficulty has, or that it is a candidate for λ₁
    and λ₂; `weights` are those of a candidate.
    """
    method, variant, weights = row.get("method"), "", ""
    if method == "factor_vae":
        variant = f"γ = {row.get('settings.gamma', math.nan):g}"
    elif method == "intervention" and row.get("kind") == "Tuned":
        lacks = {
            name: all(row.get(f"settings.{key}") == value for key, value in without.items())
            for name, without in VARIANTS.items()
        }
        variant = ", ".join(name for name in lacks if lacks[name])
    elif method == "intervention":
        variant, weights = CANDIDATE, ", ".join(str(row.get(f"settings.{name}")) for name in CHOSEN)
    relation = CORRELATED if row.get("data.correlated") else INDEPENDENT
    return {"relation": relation, "variant": variant, "weights": weights}


def table(folder: Path) -> RunTable:
    """The models of a study's folder, each with its `relation`, its `variant` and what its examination found."""
    return RunTable.read(folder, describe, IDENTITY)


@dataclass(frozen=True)
class Group:
    """Models that are alike: one for each data set, relation and seed."""

    method: str
    variant: str = ""

    @property
    def name(self) -> str:
        name = NAMES.get(self.method, self.method)
        if self.variant.startswith("γ"):
            return f"{name} ({self.variant})"
        return f"{name}, {self.variant}" if self.variant else name


OURS = Group("intervention")
OTHERS = (*(Group("factor_vae", f"γ = {gamma:g}") for gamma in GAMMAS), Group("beta_tc_vae"), Group("infogan_cr"))
COMPARED = (*OTHERS, OURS)
ABLATED = tuple(Group("intervention", name) for name in ABLATIONS)
TARGETED = tuple(Group("intervention", name) for name in TARGETS)
RIVAL = tuple(Group(name) for name in RIVALS)


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table."""

    table: RunTable

    @property
    def data_sets(self) -> list[str]:
        return self.table.data_sets

    def scores(self, column: str, group: Group, relation: str) -> Array:
        """(data sets, seeds), NaN where there is no such model, or it has no such score."""
        return self.table.array(column, method=group.method, variant=group.variant, relation=relation)

    def rows(self, group: Group, data: str) -> pd.DataFrame:
        return self.table.where(method=group.method, variant=group.variant, data=data)

    def planned(self, group: Group, data: str) -> bool:
        """Whether the study has such models of a data set, finished or not."""
        known = self.table.known
        same = (known["method"] == group.method) & (known["variant"] == group.variant) & (known["data"] == data)
        return bool(same.any())

    def has(self, column: str, data: str) -> bool:
        """Whether any model of a data set has a score."""
        rows = self.table.where(data=data)
        return column in rows and bool(np.isfinite(numbers(rows[column])).any())

    def metrics(self, data: str) -> dict[str, str]:
        return {column: name for column, name in METRICS.items() if self.has(column, data)}

    # Figure 3

    @cached_property
    def strengths(self) -> list[Group]:
        """FactorVAE of every γ, the weakest first."""
        variants = set(self.table.where(method="factor_vae")["variant"])
        return [Group("factor_vae", name) for name in sorted(variants, key=lambda name: float(name.split()[-1]))]

    def factor_vaes(self, column: str, relations: Sequence[str] = RELATIONS) -> Array:
        """Scores of FactorVAE models (data sets, settings, seeds): a setting is a γ, weakest first, in one relation."""
        grids = [self.scores(column, group, relation) for group in self.strengths for relation in relations]
        return np.stack(grids, 1) if grids else np.zeros((len(self.data_sets), 0, len(self.table.seeds)))

    @cached_property
    def ranked(self) -> list[int]:
        """The data sets of figure 3, by their index: those with several metrics, and enough models to rank."""
        counts = np.isfinite(self.factor_vaes(DIFFICULT)).sum((1, 2))
        return [at for at, data in enumerate(self.data_sets) if len(self.metrics(data)) > 1 and counts[at] > 2]
