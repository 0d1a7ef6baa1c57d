"""The study's models: from the folder to a table, from the table to arrays (data sets, seeds)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report.estimates import Array
from unbraid.report.run_table import RunTable, known_mean

METRICS = {
    "scores.mig": "MIG",
    "scores.factor_vae_score": "FactorVAE",
    "scores.dci.disentanglement": "DCI disentanglement",
    "scores.dci.completeness": "DCI completeness",
    "scores.dci.informativeness": "DCI informativeness",
    "scores.sap": "SAP",
}
ERROR, EXPLAINED = "scores.test.squared_error", "scores.test.r2"
AGREEMENT = "scores.embed.agreement"
RETRIEVED = {
    "scores.embed.retrieved": "factors retrieved",
    "scores.embed.correlation.mean": "mean corr.",
    "scores.embed.correlation.std": "std corr.",
    "scores.embed.correlation.min": "min corr.",
    "scores.embed.correlation.max": "max corr.",
}
STANDARD = "standardised"  # a decoder on codes of mean 0 and variance 1
FACTORS = "factors"  # the encoder of heads on the true factors
NAMES = {
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
IDENTITY = ("variant", "encoder", "task")


# The table


def describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a model from others of its method, data set and seed.

    `variant` says in which way its tasks are others than those of sections 4.1 to 4.3, or whether the codes it was
    trained on are standardised; `encoder` whose codes these are, `task` which of the tasks a single-task model learns
    (-1 for other models).
    """
    parts = []
    factors, count = row.get("data.task_factors", "all"), row.get("data.tasks")
    if factors != "all":
        names = {"random": "random factors", "halves": "factors in halves"}
        parts.append(names.get(str(factors), "one half of the factors"))
    if row.get("data.task_networks") == "shared":
        parts.append("tasks of one network")
    if row.get("data.code_scale") == "standard":
        parts.append(STANDARD)
    codes = FACTORS if row.get("data.codes") == FACTORS else row.get("encoder") or ""
    task = row.get("settings.task")
    return {"variant": ", ".join(parts), "encoder": codes, "task": -1 if task is None else task, "tasks": count}


def table(folder: Path) -> RunTable:
    """The models of a study's folder, each with its `variant`, `encoder`, `task` and number of `tasks`."""
    runs = RunTable.read(folder, describe, IDENTITY)
    frame = with_counts(runs.frame)
    return RunTable(frame, runs.tables, folder, identity=IDENTITY, faults=runs.faults)


def with_counts(runs: pd.DataFrame) -> pd.DataFrame:
    """The table in which models with another number of tasks than most (appendix G) say so in their `variant`."""
    usual = usual_tasks(runs)
    if not usual or "variant" not in runs:
        return runs
    counts = pd.to_numeric(runs["tasks"], errors="coerce")
    other = counts.notna() & (counts != usual) & (runs["variant"] == "")
    return runs.assign(variant=runs["variant"].where(~other, counts.map(lambda count: f"{count:.0f} tasks")))


def usual_tasks(runs: pd.DataFrame) -> int:
    """How many tasks the models of sections 4.1 to 4.3 learn: as many as single-task models choose from."""
    if "tasks" not in runs or "method" not in runs:
        return 0
    counts = pd.to_numeric(runs["tasks"], errors="coerce")
    single = counts[runs["method"] == "single_task"].dropna()
    known = single if len(single) else counts.dropna()
    return int(known.mode().iloc[0]) if len(known) else 0


@dataclass(frozen=True)
class Group:
    """Models that are alike: one for each data set and seed."""

    method: str
    variant: str = ""
    encoder: str = ""

    @property
    def name(self) -> str:
        name = NAMES.get(self.method, self.method)
        if self.encoder:
            name += f" on {NAMES.get(self.encoder, self.encoder)}" + ("" if self.encoder == FACTORS else " codes")
        return name + (f", {self.variant}" if self.variant else "")


RANDOM, SINGLE, MULTI, ONE = (Group(name) for name in ("random_encoder", "single_task", "multitask", "one_head"))
LOOKED_AT = (RANDOM, SINGLE, MULTI)  # section 4.2
SPLITS = {
    "all": MULTI,
    "random": Group("multitask", "random factors"),
    "halves": Group("multitask", "factors in halves"),
}
SUPERVISION = {
    "one head for all tasks": ONE,
    "a head each, tasks of one network": Group("multitask", "tasks of one network"),
    "one head, tasks of one network": Group("one_head", "tasks of one network"),
    "a head each, tasks on one half of the factors": Group("multitask", "one half of the factors"),
}


def decoder_on(group: Group, variant: str = "") -> Group:
    return Group("frozen_decoder", variant, group.method)


def heads_on(codes: str) -> Group:
    return Group("frozen_heads", encoder=codes)


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table."""

    table: RunTable

    @property
    def data_sets(self) -> list[str]:
        return self.table.data_sets

    @property
    def tasks(self) -> int:
        return usual_tasks(self.table.done)

    @property
    def metrics(self) -> dict[str, str]:
        """Those that any model has."""
        return {column: METRICS[column] for column in self.table.columns(METRICS)}

    @property
    def counts(self) -> dict[int, Group]:
        """The models of appendix G, by their number of tasks."""
        names = {str(name) for name in self.table.done["variant"] if str(name).endswith(" tasks")}
        others = {int(name.removesuffix(" tasks")): Group("multitask", name) for name in names}
        return dict(sorted({self.tasks: MULTI, **others}.items())) if self.tasks else {}

    def scores(self, column: str, group: Group, task: int | None = None) -> Array:
        """(data sets, seeds) of a group; of single-task models those of one task, the first by default."""
        task = (0 if group.method == "single_task" else -1) if task is None else task
        return self.table.array(column, method=group.method, variant=group.variant, encoder=group.encoder, task=task)

    def singles(self, column: str) -> Array:
        """Of the single-task models (data sets, seeds, tasks)."""
        each = [self.scores(column, SINGLE, task) for task in range(self.tasks)]
        return np.stack(each, -1) if each else np.full((len(self.data_sets), len(self.table.seeds), 0), np.nan)

    def own_errors(self) -> Array:
        """The test error of each single-task model on its own task (data sets, seeds, tasks)."""
        each = [self.scores(f"scores.test.error_{task}", SINGLE, task) for task in range(self.tasks)]
        return np.stack(each, -1) if each else self.singles(ERROR)

    def joint_errors(self) -> Array:
        """The test errors of the model that learns all tasks (data sets, seeds, tasks)."""
        each = [self.scores(f"scores.test.error_{task}", MULTI) for task in range(self.tasks)]
        return np.stack(each, -1) if each else self.singles(ERROR)


def single_mean(models: Models, column: str) -> Array:
    """The mean over tasks of the single-task models (data sets, seeds)."""
    values = models.singles(column)
    return np.asarray(known_mean(values, 2)) if values.shape[2] else np.full(values.shape[:2], np.nan)


def extreme(values: Array, largest: bool) -> Array:
    """Of several (data sets, seeds, n), for each data set the one whose mean over seeds is the largest or smallest.

    Only those known for the most seeds are chosen from.
    """
    chosen = np.full(values.shape[:2], np.nan)
    for index, rows in enumerate(values):  # (seeds, n)
        counts = np.isfinite(rows).sum(0)
        if counts.size and counts.max():
            means = np.where(counts == counts.max(), known_mean(rows, 0), -np.inf if largest else np.inf)
            chosen[index] = rows[:, int(means.argmax() if largest else means.argmin())]
    return chosen


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
