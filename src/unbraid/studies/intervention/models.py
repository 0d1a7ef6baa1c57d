"""The study's models: from the folder to a table, from the table to arrays (data sets, seeds)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError
from unbraid.jobs.folder import needs_of
from unbraid.pictures.style import data_order
from unbraid.report.estimates import Array
from unbraid.runs.folder import Folder, job_folders
from unbraid.runs.run import Run
from unbraid.runs.table import load_runs
from unbraid.studies.intervention.jobs import CHOSEN, DIFFICULTY, TRAINED_DIFFICULTY
from unbraid.studies.intervention.study import ABLATIONS, GAMMAS, RIVALS

METRICS = {"scores.dci.disentanglement": "DCI", "scores.sap": "SAP", "scores.irs": "IRS"}
DIFFICULT, CHOOSING = f"scores.{DIFFICULTY}", f"scores.{TRAINED_DIFFICULTY}"
PLAIN, WEIGHTED, PERMUTED, SHARE = (
    f"scores.two_sample.{name}" for name in ("plain", "weighted", "permuted", "effective_share")
)
APART = "scores.apart"
ERROR = "scores.squared_error"
INDEPENDENT, CORRELATED = "independent", "correlated"
CANDIDATE = "candidate"
_NAMES = {
    "factor_vae": "FactorVAE",
    "beta_tc_vae": "β-TCVAE",
    "infogan_cr": "InfoGAN-CR",
    "intervention": "intervention",
    "ada_gvae": "Ada-GVAE",
    "factorized_support": "factorized support",
}
_TOLD = ["run", "state", "data", "method", "seed", "relation", "variant"]


# From the folder to a table


def table(folder: Path) -> pd.DataFrame:
    """The runs of a study's folder, each with what it is here and with the scores of its examination.

    `relation` says whether the factors of its training rows are independent or correlated, `variant` which γ or which
    part of the loss of `intervention` it lacks, or that it is a candidate for λ₁ and λ₂.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    jobs = folder / "jobs"
    runs = load_runs(jobs) if jobs.is_dir() else pd.DataFrame()
    if runs.empty:
        return runs
    rows = [_described(Path(run)) for run in runs["run"]]
    by_id = {Path(run).name.rpartition("-")[2]: place for place, run in enumerate(runs["run"])}
    for name, needed, scores in _examinations(jobs):
        place = by_id.get(needed)
        if place is not None:
            rows[place] |= {"examined": name, **scores}
    return pd.concat([runs, pd.DataFrame(rows, index=runs.index)], axis=1)


def _described(folder: Path) -> dict[str, Any]:
    """What a run is in this study; nothing of one that cannot be read."""
    try:
        config = Run(folder).read_json("config")
        opened = (config.get("opened") or {}).get("settings") or {}
        method, settings = str(config["method"]), dict(config["settings"])
        tuned = Folder(folder).read_json("job").get("kind") == "Tuned"
    except (InputError, KeyError, TypeError, AttributeError):
        return {}
    return {
        "relation": CORRELATED if "correlated" in opened else INDEPENDENT,
        "variant": variant(method, settings, tuned),
    }


def variant(method: str, settings: dict[str, Any], tuned: bool) -> str:
    """What tells a model from others of its method: γ, or what the loss of `intervention` lacks."""
    if method == "factor_vae":
        return f"γ = {settings['gamma']:g}"
    if method != "intervention":
        return ""
    if not tuned:
        return CANDIDATE
    lacks = [name for name, without in ABLATIONS.items() if all(settings.get(key) == without[key] for key in without)]
    return ", ".join(lacks)


def _examinations(jobs: Path) -> Iterator[tuple[str, str, dict[str, float]]]:
    """The folder, the model's id and the scores of each; those that cannot be read are left out."""
    for path in job_folders(jobs, "examine-*"):
        try:
            scores = dict(Folder(path).read_json("scores")["scores"])
        except (InputError, KeyError, TypeError, ValueError):
            continue
        (needed,) = needs_of(path) or [""]
        yield path.name, needed, {f"scores.{name}": value for name, value in scores.items()}


def described(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of which it is known what they are."""
    if not set(_TOLD) <= set(runs.columns):
        runs = pd.DataFrame(columns=_TOLD)
    return runs[runs[_TOLD].notna().all(axis=1)].reset_index(drop=True)


def finished(runs: pd.DataFrame) -> pd.DataFrame:
    """The done runs as `described`, one for each kind of model, data set, relation and seed (the last of several)."""
    found = described(runs)
    for name in (*CHOSEN, "gamma"):
        if f"settings.{name}" not in found:
            found[f"settings.{name}"] = np.nan
    kept = ["data", "method", "variant", "relation", "seed", *(f"settings.{name}" for name in CHOSEN)]
    return found[found["state"] == "done"].drop_duplicates(kept, keep="last").reset_index(drop=True)


# From the table to arrays


@dataclass(frozen=True)
class Kind:
    """A kind of model: one for each data set, relation and seed."""

    method: str
    variant: str = ""

    @property
    def name(self) -> str:
        name = _NAMES.get(self.method, self.method)
        if self.variant.startswith("γ"):
            return f"{name} ({self.variant})"
        return f"{name}, {self.variant}" if self.variant else name


OURS = Kind("intervention")
OTHERS = (*(Kind("factor_vae", f"γ = {gamma:g}") for gamma in GAMMAS), Kind("beta_tc_vae"), Kind("infogan_cr"))
COMPARED = (*OTHERS, OURS)
ABLATED = tuple(Kind("intervention", name) for name in ABLATIONS)
RIVAL = tuple(Kind(name) for name in RIVALS)


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table."""

    runs: pd.DataFrame

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Models:
        return cls(finished(runs))

    @cached_property
    def data_sets(self) -> list[str]:
        return data_order(self.runs["data"])

    @cached_property
    def seeds(self) -> list[int]:
        return sorted({int(seed) for seed in self.runs["seed"]})

    def of_kind(self, kind: Kind, data: str | None = None, relation: str | None = None) -> pd.DataFrame:
        runs = self.runs
        chosen = (runs["method"] == kind.method) & (runs["variant"] == kind.variant)
        for column, wanted in (("data", data), ("relation", relation)):
            if wanted is not None:
                chosen &= runs[column] == wanted
        return runs[chosen]

    def scores(self, column: str, kind: Kind, relation: str) -> Array:
        """(data sets, seeds), NaN where there is no such model, or it has no such score."""
        found = np.full((len(self.data_sets), len(self.seeds)), np.nan)
        runs = self.of_kind(kind, relation=relation)
        if column in runs:
            for data, seed, value in zip(runs["data"], runs["seed"], numbers(runs[column]), strict=True):
                found[self.data_sets.index(data), self.seeds.index(int(seed))] = value
        return found

    @cached_property
    def strengths(self) -> list[Kind]:
        """FactorVAE of every γ."""
        gammas = sorted({float(gamma) for gamma in numbers(self.runs["settings.gamma"]) if np.isfinite(gamma)})
        return [kind for gamma in gammas if len(self.of_kind(kind := Kind("factor_vae", f"γ = {gamma:g}")))]

    @cached_property
    def ranked(self) -> list[str]:
        """The data sets of figure 3: those with more than one metric, and models enough to rank."""
        return [name for name in self.data_sets if len(self.metrics(name)) > 1 and len(self.factor_vaes(name)) > 2]

    def factor_vaes(self, data: str, relation: str | None = None) -> pd.DataFrame:
        """Figure 3: FactorVAE models of all strengths that have a difficulty, with their scores as numbers."""
        runs = self.runs[(self.runs["method"] == "factor_vae") & (self.runs["data"] == data)]
        runs = runs if relation is None else runs[runs["relation"] == relation]
        columns = {name: numbers(runs[name]) for name in (DIFFICULT, *METRICS) if name in runs}
        found = pd.DataFrame({**columns, "relation": runs["relation"], "gamma": runs["settings.gamma"]})
        return found[found[DIFFICULT].notna()] if DIFFICULT in found else found.iloc[:0]

    def known(self, data: str, column: str) -> bool:
        """Whether any model of a data set has a score."""
        runs = self.runs[self.runs["data"] == data]
        return column in runs and bool(np.isfinite(numbers(runs[column])).any())

    def metrics(self, data: str) -> dict[str, str]:
        return {column: name for column, name in METRICS.items() if self.known(data, column)}


def numbers(values: pd.Series[Any]) -> Array:
    """NaN for what is no finite number."""
    found = pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)
    return np.asarray(np.where(np.isfinite(found), found, np.nan))
