"""The study's models: from the folder to a table, from the table to arrays over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError
from unbraid.jobs.folder import needs_of
from unbraid.report.estimates import Array
from unbraid.runs.folder import Folder, job_folders
from unbraid.runs.run import Run
from unbraid.runs.table import load_runs
from unbraid.studies.contrastive.study import SETTINGS

REGULARIZERS = ("hessian", "info_min", "ortho", "p_ortho")
SHORT = {"digit": "DC", "background": "BC", "location": "DL"}
SHARED = {"dc_bc": ("digit", "background"), "dc_dl": ("digit", "location"), "bc_dl": ("background", "location")}
CODES = ("r", "z")
INPUTS = ("r", "r0", "r1", "z", "z0", "z1")


# From the folder to a table


def table(folder: Path) -> pd.DataFrame:
    """The runs of a study's folder, each with its `variant`, its `setting`, and what probes and UDR found.

    `scores.accuracy.z0.digit` is how well z0 tells the digit's class, `scores.gap.z.digit` what z0 and z1 are apart;
    accuracies are shares.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    jobs = folder / "jobs"
    runs = load_runs(jobs) if jobs.is_dir() else pd.DataFrame()
    if runs.empty:
        return runs
    rows = [
        {"variant": variant_of(Path(run)), "setting": setting_of(row)}
        for run, (_, row) in zip(runs["run"], runs.iterrows(), strict=True)
    ]
    places = {Path(run).name: place for place, run in enumerate(runs["run"])}
    by_id = {name.rpartition("-")[2]: place for name, place in places.items()}
    for path, found in _read(jobs, "probe-*", "probes"):
        place = by_id.get(next(iter(needs_of(path)), ""))
        if place is not None:
            rows[place] |= _flat("scores", found)
    for _, found in _read(jobs, "udr-*", "udr"):
        for name, scores in found.items():
            if name in places and isinstance(scores, Mapping):
                rows[places[name]] |= _flat("scores.udr", scores)
    return pd.concat([runs, pd.DataFrame(rows, index=runs.index)], axis=1)


def rotations(folder: Path, runs: pd.DataFrame) -> pd.DataFrame:
    """What rotations of codes brought: a row for each model, code, rotation and way to group its dimensions."""
    found = []
    told = described(runs)
    by_id = {
        Path(str(run)).name.rpartition("-")[2]: row for run, (_, row) in zip(told["run"], told.iterrows(), strict=True)
    }
    for path, read in _read(folder / "jobs", "rotate-*", "rotations"):
        model = by_id.get(next(iter(needs_of(path)), ""))
        rows = read.get("rows")
        if model is None or not isinstance(rows, list):
            continue
        mine = {name: model[name] for name in ("variant", "setting", "seed")}
        found += [mine | _turned(row) for row in rows if isinstance(row, Mapping)]
    return pd.DataFrame(found)


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `rotations.json`, flat: of each factor the accuracy of the whole, of its better part, and the gap."""
    flat = {name: row.get(name) for name in ("code", "rotation", "groups", "diagonal")}
    parts = row.get("parts") or []
    for factor, value in (row.get("whole") or {}).items():
        flat[f"whole.{factor}"] = value
        flat[f"part.{factor}"] = max((part.get(factor, np.nan) for part in parts), default=np.nan)
        flat[f"gap.{factor}"] = (row.get("gap") or {}).get(factor, np.nan)
    return flat


def _read(jobs: Path, kind: str, name: str) -> Iterable[tuple[Path, Mapping[str, Any]]]:
    """The folders of one kind of job, and what is in a file of theirs; those that cannot be read are left out."""
    for path in job_folders(jobs, kind):
        try:
            found = Folder(path).read_json(name)
        except InputError:
            continue
        if isinstance(found, Mapping):
            yield path, found


def _flat(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(f"{prefix}.{name}", value) if isinstance(value, Mapping) else {f"{prefix}.{name}": value}
    return flat


def variant_of(run: Path) -> str | None:
    """By the factors that pairs share; None of a run that cannot be read."""
    try:
        pairs = Run(run).read_json("config")["data"].get("pairs")
    except (InputError, KeyError, AttributeError):
        return None
    return next((name for name, shared in SHARED.items() if isinstance(pairs, list) and list(shared) == pairs), None)


def setting_of(row: Mapping[str, Any] | pd.Series[Any]) -> str | None:
    """Its name among `SETTINGS`, or one made like those; None of a run whose settings are not known."""
    if not isinstance(row.get("settings.positives"), str):
        return None
    if row["settings.positives"] == "disjoint":
        return "supervised"
    weights = {name: row.get(f"settings.lambda_{name}", 0.0) for name in REGULARIZERS}
    parts = [f"{name} {weight:g}" for name, weight in weights.items() if weight]
    return " + ".join(parts) or ("plain, one head" if row.get("settings.head") == "whole" else "plain")


_TOLD = ["run", "state", "variant", "setting", "seed"]


def described(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of which it is known what they are."""
    if not set(_TOLD) <= set(runs.columns):
        return pd.DataFrame(columns=_TOLD)
    return runs[runs[_TOLD].notna().all(axis=1)].reset_index(drop=True)


# From the table to arrays


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a table. Accuracies and gaps are in percent, as in the paper."""

    runs: pd.DataFrame

    @classmethod
    def of(cls, runs: pd.DataFrame) -> Models:
        """One for each variant, setting and seed (the last of several)."""
        found = described(runs)
        done = found[found["state"] == "done"].drop_duplicates(["variant", "setting", "seed"], keep="last")
        return cls(done.reset_index(drop=True))

    @cached_property
    def variants(self) -> list[str]:
        return sorted(set(self.runs["variant"]), key=lambda name: [*SHARED].index(name))

    @cached_property
    def settings(self) -> list[str]:
        """In the order of the study, then others by name."""
        order = [*SETTINGS]
        return sorted(
            set(self.runs["setting"]), key=lambda name: (order.index(name) if name in order else len(order), name)
        )

    @cached_property
    def seeds(self) -> list[int]:
        return sorted({int(seed) for seed in self.runs["seed"]})

    @cached_property
    def _grouped(self) -> dict[tuple[str, str], pd.DataFrame]:
        return {
            (str(variant), str(setting)): rows for (variant, setting), rows in self.runs.groupby(["variant", "setting"])
        }

    def all_of(self, variant: str, setting: str) -> pd.DataFrame:
        return self._grouped.get((variant, setting), self.runs.iloc[:0])

    def numbers(self, column: str, variant: str, setting: str) -> Array:
        """(seeds,), NaN where there is no such model, or it has no such number."""
        found = np.full(len(self.seeds), np.nan)
        rows = self.all_of(variant, setting)
        if column in rows:
            at = [self.seeds.index(int(seed)) for seed in rows["seed"]]
            values = pd.to_numeric(rows[column], errors="coerce").to_numpy(float, na_value=np.nan)
            found[at] = np.where(np.isfinite(values), values, np.nan)
        return found

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
        return column in self.runs and bool(np.isfinite(pd.to_numeric(self.runs[column], errors="coerce")).any())


def turned(
    rotations: pd.DataFrame,
    seeds: list[int],
    variant: str,
    setting: str,
    code: str,
    rotation: str,
    groups: str,
    what: str = "gap",
    factor: str | None = None,
) -> Array:
    """A number of rotated codes in percent, of a factor or the mean over those that pairs share (seeds,).

    `what` is `whole`, `part` (the better of the two) or `gap`.
    """
    found = np.full(len(seeds), np.nan)
    if rotations.empty:
        return found
    wanted = {"variant": variant, "setting": setting, "code": code, "rotation": rotation, "groups": groups}
    rows = rotations[np.logical_and.reduce([rotations[name] == value for name, value in wanted.items()])]
    columns = [f"{what}.{name}" for name in (SHARED[variant] if factor is None else (factor,))]
    if set(columns) <= set(rows):
        for seed, values in zip(rows["seed"], rows[columns].to_numpy(float), strict=True):
            if int(seed) in seeds:
                found[seeds.index(int(seed))] = 100 * values.mean()
    return found
