"""The study's models: from the folder to a table, from the table to arrays over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report.estimates import Array
from unbraid.report.run_table import RunTable, numbers
from unbraid.studies.contrastive.jobs import setting_of
from unbraid.studies.contrastive.study import SETTINGS

SHORT = {"digit": "DC", "background": "BC", "location": "DL"}
SHARED = {"dc_bc": ("digit", "background"), "dc_dl": ("digit", "location"), "bc_dl": ("background", "location")}
CODES = ("r", "z")
INPUTS = ("r", "r0", "r1", "z", "z0", "z1")
IDENTITY = ("variant", "setting")
TOLD = 20.0  # points of accuracy above chance from which a code tells a factor


def describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """The `variant` of a row's data, and its `setting` by name."""
    settings = {name.removeprefix("settings."): value for name, value in row.items() if name.startswith("settings.")}
    return {"variant": row.get("data.variant"), "setting": setting_of(settings)}


def table(folder: Path) -> RunTable:
    """The models of a study's folder, each with its `variant`, its `setting`, and what probes and UDR added.

    `scores.accuracy.z0.digit` is how well z0 tells the digit's class, `scores.gap.z.digit` how far z0 and z1 are apart;
    accuracies are shares. `tables` has `rotations`, one row per model, code, rotation and way to group its dimensions,
    and `logs`, the terms of figure 5 over steps.
    """
    return RunTable.read(folder, describe, IDENTITY)


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table. Accuracies and gaps are in percent, as in the paper."""

    table: RunTable

    @cached_property
    def variants(self) -> list[str]:
        return sorted(set(self.table.done["variant"]), key=[*SHARED].index)

    @cached_property
    def settings(self) -> list[str]:
        """In the order of the study, then others by name."""
        return in_order(self.table.done["setting"])

    @property
    def seeds(self) -> list[int]:
        return self.table.seeds

    @cached_property
    def _groups(self) -> dict[tuple[str, str], pd.DataFrame]:
        groups = self.table.done.groupby(["variant", "setting"])
        return {(str(variant), str(setting)): rows for (variant, setting), rows in groups}

    @cached_property
    def telling(self) -> Models:
        """Those whose z, or r where that is trained, tells both factors that pairs share.

        A half that tells nothing says nothing of halves: the whole has to tell both.
        """
        done = self.table.done
        kept = np.array([_tells(row) for row in done.to_dict("records")], bool)
        return Models(replace(self.table, frame=done[kept]))

    def count(self, variant: str, setting: str) -> int:
        """How many models of a setting are done."""
        return len(self._groups.get((variant, setting), ()))

    def has(self, variant: str, setting: str) -> bool:
        """Whether there is a model of a setting."""
        return (variant, setting) in self._groups

    def numbers(self, column: str, variant: str, setting: str) -> Array:
        """(seeds,), NaN where there is no such model, or it has no such number."""
        values = np.full(len(self.seeds), np.nan)
        rows = self._groups.get((variant, setting))
        if rows is not None and column in rows:
            values[[self.seeds.index(int(seed)) for seed in rows["seed"]]] = numbers(rows[column])
        return values

    def accuracy(self, variant: str, setting: str, inputs: str, factor: str) -> Array:
        """Of a classifier on r, r0, r1, z, z0 or z1, in percent (seeds,)."""
        return 100 * self.numbers(f"scores.accuracy.{inputs}.{factor}", variant, setting)

    def chance(self, variant: str, setting: str, factor: str) -> Array:
        return 100 * self.numbers(f"scores.chance.{factor}", variant, setting)

    def gap(self, variant: str, setting: str, factor: str | None = None, code: str = "z") -> Array:
        """|C(z0) - C(z1)| in percent, of a factor, or the mean over those that pairs share (seeds,)."""
        factors = SHARED[variant] if factor is None else (factor,)
        each = [100 * self.numbers(f"scores.gap.{code}.{name}", variant, setting) for name in factors]
        return np.asarray(np.mean(each, axis=0))

    def parts(self, variant: str, setting: str, factor: str, code: str = "z") -> Array:
        """The accuracies of the two parts, (2, seeds)."""
        return np.stack([self.accuracy(variant, setting, f"{code}{part}", factor) for part in (0, 1)])

    def known(self, column: str) -> bool:
        """Whether any model has that number."""
        return bool(self.table.columns([column]))

    def rotated(
        self, variant: str, setting: str, code: str, rotation: str, groups: str, what: str = "gap",
        factor: str | None = None,
    ) -> Array:  # fmt: skip
        """A number of rotated codes in percent, of a factor or the mean over those that pairs share (seeds,).

        `what` is `whole`, `part` (the better of the two) or `gap`.
        """
        values = np.full(len(self.seeds), np.nan)
        rows = self.table.tables.get("rotations", pd.DataFrame())
        wanted = {"variant": variant, "setting": setting, "code": code, "rotation": rotation, "groups": groups}
        columns = [f"{what}.{name}" for name in (SHARED[variant] if factor is None else (factor,))]
        if not {*wanted, *columns, "seed"} <= set(rows):
            return values
        rows = rows[np.logical_and.reduce([rows[name] == value for name, value in wanted.items()])]
        for seed, each in zip(rows["seed"], rows[columns].to_numpy(float), strict=True):
            if int(seed) in self.seeds:
                values[self.seeds.index(int(seed))] = 100 * each.mean()
        return values

    def logged(self, term: str, variant: str, setting: str) -> list[Array]:
        """A term of the loss over steps, of each seed that has it; empty for others."""
        rows = self.table.tables.get("logs", pd.DataFrame())
        lines: list[Array] = [np.zeros(0) for _ in self.seeds]
        if {"variant", "setting", "seed", "step", term} <= set(rows):
            rows = rows[(rows["variant"] == variant) & (rows["setting"] == setting)].sort_values("step")
            for index, seed in enumerate(self.seeds):
                lines[index] = numbers(rows.loc[rows["seed"] == seed, term])
        return lines


def _tells(row: Mapping[str, Any]) -> bool:
    code, factors = "r" if row["setting"] == "supervised" else "z", SHARED.get(row["variant"], ())
    points = [
        100 * (row.get(f"scores.accuracy.{code}.{factor}", np.nan) - row.get(f"scores.chance.{factor}", np.nan))
        for factor in factors
    ]
    return bool(points) and all(above > TOLD for above in points)


def in_order(settings: pd.Series[Any]) -> list[str]:
    """Each setting once, in the order of the study, then others by name."""
    order = [*SETTINGS]
    return sorted(set(settings), key=lambda name: (order.index(name) if name in order else len(order), name))
