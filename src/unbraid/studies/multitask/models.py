"""The study's models: from the folder to a table, from the table to arrays (data sets, seeds)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
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

METRICS = {
    "scores.mig": "MIG",
    "scores.factor_vae_score": "FactorVAE",
    "scores.dci.disentanglement": "DCI disentanglement",
    "scores.dci.completeness": "DCI completeness",
    "scores.dci.informativeness": "DCI informativeness",
    "scores.sap": "SAP",
}
ERROR = "scores.test.squared_error"
AGREEMENT = "scores.embed.agreement"
RETRIEVED = {
    "scores.embed.retrieved": "factors retrieved",
    "scores.embed.correlation.mean": "mean corr.",
    "scores.embed.correlation.std": "std corr.",
    "scores.embed.correlation.min": "min corr.",
    "scores.embed.correlation.max": "max corr.",
}
FACTORS = "factors"  # the encoder of heads on the true factors
_OWN = ("tasks", "task_factors", "task_networks", "task_scale", "encoder", "encoder_seed")
_NAMES = {
    "random_encoder": "random",
    "single_task": "single-task",
    "multitask": "multi-head",
    "one_head": "one-head",
    "autoencoder": "AE",
    "beta_vae": "VAE",
    "factor_vae": "FactorVAE",
    FACTORS: "true factors",
    "frozen_decoder": "decoder",
    "frozen_heads": "heads",
}


# From the folder to a table


def table(folder: Path) -> pd.DataFrame:
    """The runs of a study's folder, with what this study varies and what its embeddings found.

    `tasks`, `task_factors`, `task_networks` and `task_scale` are those of the data; `encoder` and `encoder_seed` whose
    codes a decoder or heads were built on; `scores.embed.…` what UMAP's neighbours and the retrieved factors say of an
    encoder's codes of test rows.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    jobs = folder / "jobs"
    runs = load_runs(jobs) if jobs.is_dir() else pd.DataFrame()
    if runs.empty:
        return runs
    by_id = {Path(run).name.rpartition("-")[2]: place for place, run in enumerate(runs["run"])}
    rows = []
    for run in runs["run"]:
        row = _settings_of(Path(run))
        needed = by_id.get(next(iter(needs_of(Path(run))), ""))
        if needed is not None:
            row |= {"encoder": runs["method"][needed], "encoder_seed": runs["seed"][needed]}
        rows.append(row)
    for folder_of, found in _embeddings(jobs):
        encoder = by_id.get(next(iter(needs_of(folder_of)), ""))
        if encoder is not None:
            rows[encoder] |= found
    more = pd.DataFrame(rows, index=runs.index)
    return pd.concat([runs, more], axis=1)


def _settings_of(folder: Path) -> dict[str, Any]:
    """The tasks of a run's data, and whether its codes are the true factors; nothing of a run that cannot be read."""
    try:
        config = Run(folder).read_json("config")
        tasks = config["data"].get("tasks") or {}
        opened = (config.get("opened") or {}).get("settings") or {}
    except (InputError, KeyError, AttributeError):
        return {}
    row = {
        "tasks": tasks.get("count"),
        "task_factors": tasks.get("factors"),
        "task_networks": tasks.get("networks"),
        "task_scale": tasks.get("scale"),
    }
    if opened.get("codes") == FACTORS:
        row["encoder"] = FACTORS
    return {name: value for name, value in row.items() if value is not None}


def _embeddings(jobs: Path) -> Iterable[tuple[Path, dict[str, float]]]:
    """The folders of embeddings, and what they say; those that cannot be read are left out."""
    for path in job_folders(jobs, "embed-*"):
        try:
            read = Folder(path).read_json("embed")
            agreement, retrieved = dict(read["agreement"]), dict(read["retrieved"])
        except (InputError, KeyError, TypeError, ValueError):
            continue
        values = [value for value in agreement.values() if isinstance(value, float)]
        found = {AGREEMENT: mean_known(values)}
        found |= {f"{AGREEMENT}.{name}": value for name, value in agreement.items()}
        found["scores.embed.retrieved"] = retrieved.get("retrieved", np.nan)
        for name in ("mean", "std", "min", "max"):
            found[f"scores.embed.correlation.{name}"] = retrieved.get(name, np.nan)
        yield path, found


_TOLD = ["run", "state", "data", "method", "seed"]


def described(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of which it is known what they are, each with its `variant`, its `encoder` and its `task`.

    `variant` says in which way a model's tasks are others than those of sections 4.1 to 4.3; it is empty for those.
    """
    if not set(_TOLD) <= set(runs.columns):
        runs = pd.DataFrame(columns=_TOLD)
    found = runs[runs[_TOLD].notna().all(axis=1)].reset_index(drop=True)
    for name in (*_OWN, "settings.task"):
        if name not in found:
            found[name] = None
    count = usual_tasks(found)
    found["variant"] = [_variant(row, count) for _, row in found.iterrows()]
    found["encoder"] = [name if isinstance(name, str) else "" for name in found["encoder"]]
    found["task"] = pd.to_numeric(found["settings.task"], errors="coerce").fillna(-1).astype(int)
    return found


def finished(runs: pd.DataFrame) -> pd.DataFrame:
    """The done runs as `described`, one for each kind of model, data set, task and seed (the last of several)."""
    found = described(runs)
    kept = ["data", "method", "variant", "encoder", "task", "seed"]
    return found[found["state"] == "done"].drop_duplicates(kept, keep="last").reset_index(drop=True)


def usual_tasks(runs: pd.DataFrame) -> int:
    """How many tasks the models of sections 4.1 to 4.3 learn: as many as single-task models choose from."""
    if "tasks" not in runs or "method" not in runs:
        return 0
    counts = pd.to_numeric(runs["tasks"], errors="coerce")
    single = counts[runs["method"] == "single_task"].dropna()
    found = single if len(single) else counts.dropna()
    return int(found.mode().iloc[0]) if len(found) else 0


def _variant(row: pd.Series[Any], usual: int) -> str:
    count, factors, networks = row["tasks"], row["task_factors"], row["task_networks"]
    parts = []
    if pd.notna(count) and int(count) != usual:
        parts.append(f"{int(count)} tasks")
    if isinstance(factors, str) and factors != "all":
        parts.append(
            {"random": "random factors", "halves": "factors in halves"}.get(factors, "one half of the factors")
        )
    if networks == "shared":
        parts.append("tasks of one network")
    return ", ".join(parts)


# From the table to arrays


@dataclass(frozen=True)
class Kind:
    """A kind of model: one for each data set and seed."""

    method: str
    variant: str = ""
    encoder: str = ""

    @property
    def name(self) -> str:
        name = _NAMES.get(self.method, self.method)
        if self.encoder:
            name += f" on {_NAMES.get(self.encoder, self.encoder)}"
            name += "" if self.encoder == FACTORS else " codes"
        return name + (f", {self.variant}" if self.variant else "")


def by_kind(runs: pd.DataFrame) -> dict[Kind, pd.DataFrame]:
    """Runs as `described`, by what they are, in the paper's order."""
    groups = {Kind(*map(str, key)): rows for key, rows in runs.groupby(["method", "variant", "encoder"])}
    order = [*_NAMES]

    def place(kind: Kind) -> tuple[int, int, str, str]:
        method = order.index(kind.method) if kind.method in order else len(order)
        first = kind.variant.partition(" ")[0]
        return method, int(first) if first.isdecimal() else 0, kind.variant, kind.encoder

    return {kind: groups[kind] for kind in sorted(groups, key=place)}


RANDOM, SINGLE, MULTI, ONE = (Kind(name) for name in ("random_encoder", "single_task", "multitask", "one_head"))
LOOKED_AT = (RANDOM, SINGLE, MULTI)  # section 4.2
AUTOENCODERS = ("autoencoder", "beta_vae", "factor_vae")
RANDOM_FACTORS = Kind("multitask", "random factors")
HALVES = Kind("multitask", "factors in halves")
ONE_HALF = Kind("multitask", "one half of the factors")
SHARED, SHARED_ONE = Kind("multitask", "tasks of one network"), Kind("one_head", "tasks of one network")


def decoder_on(kind: Kind) -> Kind:
    return Kind("frozen_decoder", encoder=kind.method)


def heads_on(codes: str) -> Kind:
    return Kind("frozen_heads", encoder=codes)


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table."""

    runs: pd.DataFrame
    tasks: int
    """Of the models of sections 4.1 to 4.3."""

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Models:
        done = finished(runs)
        return cls(done, usual_tasks(done))

    @cached_property
    def data_sets(self) -> list[str]:
        return data_order(self.runs["data"])

    @cached_property
    def seeds(self) -> list[int]:
        return sorted({int(seed) for seed in self.runs["seed"]})

    @cached_property
    def metrics(self) -> dict[str, str]:
        """Those that any model has."""
        return {column: name for column, name in METRICS.items() if self._known(column)}

    @cached_property
    def retrieved(self) -> dict[str, str]:
        return {column: name for column, name in RETRIEVED.items() if self._known(column)}

    @cached_property
    def counts(self) -> dict[int, Kind]:
        """The models of appendix G, by their number of tasks."""
        numbers = pd.to_numeric(self.runs["tasks"], errors="coerce")
        found = {}
        for kind, tasks in zip(self.runs["variant"], numbers, strict=True):
            if kind == f"{tasks:.0f} tasks":
                found[int(tasks)] = Kind("multitask", kind)
        return dict(sorted({self.tasks: MULTI, **found}.items())) if self.tasks else {}

    def _known(self, column: str) -> bool:
        return column in self.runs and bool(np.isfinite(_numbers(self.runs[column])).any())

    def of_kind(self, kind: Kind) -> pd.DataFrame:
        return self._by_kind.get(kind, self.runs.iloc[:0])

    @cached_property
    def _by_kind(self) -> dict[Kind, pd.DataFrame]:
        return by_kind(self.runs)

    def scores(self, column: str, kind: Kind) -> Array:
        """(data sets, seeds), NaN where there is no such model, or it has no such score."""
        return self._placed(column, self.of_kind(kind), 1)[..., 0]

    def singles(self, column: str) -> Array:
        """Of the single-task models (data sets, seeds, tasks)."""
        return self._placed(column, self.of_kind(SINGLE), self.tasks)

    def own_errors(self) -> Array:
        """The test error of each single-task model on its own task (data sets, seeds, tasks)."""
        each = [self.singles(f"scores.test.error_{task}")[..., task] for task in range(self.tasks)]
        return np.stack(each, -1) if each else self._empty(0)

    def task_errors(self, kind: Kind) -> Array:
        """The test errors of a model that learns all tasks (data sets, seeds, tasks)."""
        each = [self.scores(f"scores.test.error_{task}", kind) for task in range(self.tasks)]
        return np.stack(each, -1) if each else self._empty(0)

    def _empty(self, depth: int) -> Array:
        return np.full((len(self.data_sets), len(self.seeds), depth), np.nan)

    def _placed(self, column: str, runs: pd.DataFrame, depth: int) -> Array:
        found = self._empty(depth)
        if column in runs:
            at = {name: place for place, name in enumerate(self.data_sets)}
            seeds = {seed: place for place, seed in enumerate(self.seeds)}
            keys = zip(runs["data"], runs["seed"], runs["task"], _numbers(runs[column]), strict=True)
            for data, seed, task, value in keys:
                if max(task, 0) < depth:
                    found[at[data], seeds[int(seed)], max(task, 0)] = value
        return found


def _numbers(values: pd.Series[Any]) -> Array:
    found = pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)
    return np.asarray(np.where(np.isfinite(found), found, np.nan))


# What is made of them


def mean_known(values: Sequence[float] | Array, axis: int | None = None) -> Any:
    """NumPy's mean of what is known, without a word where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(np.asarray(values, float), axis)


def single_mean(models: Models, column: str) -> Array:
    """The mean over tasks of the single-task models (data sets, seeds)."""
    values = models.singles(column)
    return np.asarray(mean_known(values, 2)) if values.shape[2] else models._empty(1)[..., 0]


def extreme(values: Array, largest: bool) -> Array:
    """Of several (data sets, seeds, n), for each data set the one whose mean over seeds is the largest or smallest.

    Only those known for the most seeds are chosen from.
    """
    found = np.full(values.shape[:2], np.nan)
    for place, rows in enumerate(values):  # (seeds, n)
        counts = np.isfinite(rows).sum(0)
        if counts.size and counts.max():
            means = np.where(counts == counts.max(), mean_known(rows, 0), -np.inf if largest else np.inf)
            found[place] = rows[:, int(means.argmax() if largest else means.argmin())]
    return found


def log(values: Array) -> Array:
    """NaN where there is no logarithm."""
    return np.asarray(np.log(np.where(values > 0, values, np.nan)))


Column = Callable[[Models, str], Array]
SECTION_4_1: Mapping[str, Column] = {
    "random": lambda models, column: models.scores(column, RANDOM),
    "single-mean": single_mean,
    "single-max": lambda models, column: extreme(models.singles(column), True),
    "single-min": lambda models, column: extreme(models.singles(column), False),
    "multi-head": lambda models, column: models.scores(column, MULTI),
    "one-head": lambda models, column: models.scores(column, ONE),
}
