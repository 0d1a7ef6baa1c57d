"""Several methods as arrays of scores (data sets, seeds): means, differences from a baseline, wins, cost.

A method with several settings, such as a sweep over its strength, is compared at one of them, chosen on seeds that are
not compared (docs/compare.md says why).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from unbraid.errors import InputError, nearest
from unbraid.jobs.best_setting import best_setting
from unbraid.own import label
from unbraid.pictures.names import better, data_order
from unbraid.report.estimates import Array, Estimate, difference, known, mean
from unbraid.report.run_table import numbers
from unbraid.report.runs import main_scores

Setting = tuple[tuple[str, Any], ...]
"""The settings in which the models of a method differ, by name."""
ALL = "all data sets"
IDENTIFYING = ("state", "method", "data", "seed")
TRAINED_ALIKE = ("steps", "precision", "settings.batch_size", "settings.learning_rate", "settings.network",
                 "settings.latents", "settings.pixel_weight")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trials:
    """The models of one method on one data set."""

    settings: tuple[Setting, ...]
    """In ascending order; one of no values where all models have the same settings."""
    runs: pd.DataFrame
    """With the columns `setting`, the position among the settings, and `seed`."""
    seeds: tuple[int, ...]
    """Of the whole data set, also of other methods."""

    def scores(self, column: str) -> Array:
        """The finished models' scores (settings, seeds), NaN where there is none."""
        grid = np.full((len(self.settings), len(self.seeds)), np.nan)
        done = self.runs[self.runs["state"] == "done"]
        if column in done:
            index = [self.seeds.index(int(seed)) for seed in done["seed"]]
            grid[done["setting"].to_numpy(int), index] = numbers(done[column])
        return grid


@dataclass(frozen=True, eq=False)
class Compared:
    """The methods of a table of runs, each at one setting per data set, on the same seeds."""

    methods: tuple[str, ...]
    data_sets: tuple[str, ...]
    scores: tuple[str, ...]
    """Columns of the table."""
    baseline: str
    chosen_by: str
    """The score by which settings are chosen."""
    trials: Mapping[tuple[str, str], Trials]
    """By method and data set."""
    choosing: Mapping[str, tuple[int, ...]]
    """The seeds of each data set on which settings are chosen; none where there is nothing to choose."""
    comparing: Mapping[str, tuple[int, ...]]
    """The seeds of each data set on which methods are compared."""

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(method for method in self.methods if method != self.baseline)

    @property
    def cases(self) -> tuple[str, ...]:
        """The data sets, and where there are several, all of them together."""
        return (*self.data_sets, ALL) if len(self.data_sets) > 1 else self.data_sets

    @property
    def comparisons(self) -> int:
        """Differences from the baseline for each score: by method and case."""
        return len(self.others) * len(self.cases)

    @cached_property
    def chosen(self) -> dict[tuple[str, str], int]:
        """The position of the setting that each method is compared at, by method and data set."""
        chosen = {}
        for (method, data), trials in self.trials.items():
            table = trials.scores(self.chosen_by)
            if self.choosing[data]:
                compared = trials.runs[trials.runs["seed"].isin(self.comparing[data])]
                table[~np.isin(np.arange(len(table)), compared["setting"])] = np.nan  # nothing of it to compare
                table = table[:, [trials.seeds.index(seed) for seed in self.choosing[data]]]
            best = best_setting(table, better(self.chosen_by) != "lower")
            if best is not None:
                chosen[method, data] = best
        return chosen

    def setting(self, method: str, data: str) -> Setting:
        """The setting that a method is compared at; of no values where it has only one."""
        index = self.chosen.get((method, data))
        return () if index is None else self.trials[method, data].settings[index]

    def values(self, method: str, score: str) -> Array:
        """The scores of a method (data sets, seeds), NaN where there is none: seeds by position, not by number."""
        return self._values[method, score]

    @cached_property
    def _values(self) -> dict[tuple[str, str], Array]:
        return {(method, score): self._gather(method, score) for method in self.methods for score in self.scores}

    def _gather(self, method: str, score: str) -> Array:
        width = max((len(seeds) for seeds in self.comparing.values()), default=0)
        grid = np.full((len(self.data_sets), width), np.nan)
        for row, data in enumerate(self.data_sets):
            if (method, data) in self.chosen:
                trials = self.trials[method, data]
                columns = [trials.seeds.index(seed) for seed in self.comparing[data]]
                grid[row, : len(columns)] = trials.scores(score)[self.chosen[method, data]][columns]
        return grid

    def mean(self, method: str, data: str, score: str) -> Estimate:
        values = self.values(method, score)
        return mean(values if data == ALL else values[self.data_sets.index(data)])

    def difference(self, method: str, data: str, score: str) -> Estimate:
        """A method less the baseline, seed by seed where they share seeds.

        Its interval holds for all comparisons of the score together.
        """
        rows = slice(None) if data == ALL else [self.data_sets.index(data)]
        first, second = (self.values(one, score)[rows] for one in (method, self.baseline))
        paired = bool(np.isfinite(first - second).any())
        return difference(first, second, paired=paired, comparisons=self.comparisons)

    def verdict(self, method: str, data: str, score: str) -> str:
        """`better` or `worse` than the baseline where the whole interval is; `unclear`; empty if neither way is."""
        way = better(score)
        if way == "neither":
            return ""
        side = self.difference(method, data, score).side(0)
        return {"unclear": "unclear", "above": "better", "below": "worse"}[side] if way == "higher" else \
               {"unclear": "unclear", "above": "worse", "below": "better"}[side]  # fmt: skip

    def wins(self, method: str, data: str, score: str) -> tuple[int, int]:
        """On how many seeds a method beats the baseline, and of how many."""
        first, second = (self.values(one, score)[self.data_sets.index(data)] for one in (method, self.baseline))
        gaps = known(first - second) * (-1 if better(score) == "lower" else 1)
        return int((gaps > 0).sum()), len(gaps)

    def unlike(self) -> dict[str, dict[str, str]]:
        """What methods were trained with that is not the same for all: by name, and by method."""
        differing: dict[str, dict[str, str]] = {}
        for column in TRAINED_ALIKE:
            by_method = {}
            for method in self.methods:
                runs = pd.concat([trials.runs for (one, _), trials in self.trials.items() if one == method])
                values = runs[column].dropna().unique() if column in runs else []
                by_method[method] = ", ".join(sorted({f"{value:g}" if isinstance(value, float) else str(value)
                                                      for value in values})) or "its own"  # fmt: skip
            if len(set(by_method.values())) > 1:
                differing[column.removeprefix("settings.")] = by_method
        return differing


def compare(runs: pd.DataFrame, baseline: str | None = None, chosen_by: str | None = None) -> Compared | None:
    """The methods of a table of runs, as `load_runs` gives it; None where fewer than two of them have scores.

    `baseline` is the method that others are compared with, by default the first of the table. `chosen_by` is the score
    by which the settings of a method are chosen, by default the first of the main scores.
    """
    if not set(IDENTIFYING) <= set(runs):
        return None
    rows = _comparable(runs)
    done = rows[rows["state"] == "done"]
    scores = tuple(main_scores(done))
    if not scores:
        return None
    scored = done[done[list(scores)].notna().any(axis=1)]
    methods = tuple(dict.fromkeys(scored["method"]))
    column = f"scores.{chosen_by.removeprefix('scores.')}" if chosen_by else scores[0]
    first = next((method for method in methods if baseline in (None, method, label(method))), None)
    if baseline is not None and first is None:
        raise InputError(f"there are no scores of '{baseline}' to compare with{nearest(baseline, map(label, methods))}")
    if column not in scored or not scored[column].notna().any():
        known_scores = [str(name).removeprefix("scores.") for name in scored if str(name).startswith("scores.")]
        raise InputError(f"there is no score '{chosen_by}' to choose by{nearest(str(chosen_by), known_scores)}")
    if len(methods) < 2 or first is None:
        return None
    if column not in scores and chosen_by:
        scores = (column, *scores)
    rows = rows[rows["method"].isin(methods)]
    data_sets = tuple(data_order(scored["data"]))
    trials, choosing, comparing = {}, {}, {}
    for data in data_sets:
        here = rows[rows["data"] == data]
        seeds = tuple(sorted({int(seed) for seed in here["seed"]}))
        tables = {method: here[here["method"] == method] for method in methods}
        for method, table in tables.items():
            if len(table):
                trials[method, data] = _trials(table, seeds)
        choosing[data], comparing[data] = _split(
            seeds, [trials[method, data] for method in methods if (method, data) in trials]
        )
    return Compared(methods, data_sets, scores, first, column, trials, choosing, comparing)


def _comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs whose method, data and seed are known, without those that were trained on another model's codes.

    Data whose settings differ are different data sets, named after what differs.
    """
    rows = runs.dropna(subset=list(IDENTIFYING))
    if "encoder" in rows:
        rows = rows[rows["encoder"].isna()]
    rows = rows.assign(method=rows["method"].astype(str), data=rows["data"].astype(str)).reset_index(drop=True)
    columns = [str(name) for name in rows if str(name).startswith("data.")]
    labels = list(rows["data"])
    for _, group in rows.groupby("data", sort=False):
        for column in columns:
            if len({str(value) for value in group[column]}) > 1:
                for index in group.index:
                    value = rows[column][index]
                    if not (value is None or value != value):
                        labels[index] += f", {column.removeprefix('data.')} {setting_value(value)}"
    return rows.assign(data=labels)


def _trials(table: pd.DataFrame, seeds: tuple[int, ...]) -> Trials:
    """The models of a method by setting and seed; of several that are alike, the last."""
    names = [str(name) for name in table if str(name).startswith("settings.")]
    varied = [name for name in [*names, "steps"] if name in table and len({str(value) for value in table[name]}) > 1]
    columns = {name.removeprefix("settings."): table[name].tolist() for name in varied}
    keys = [tuple((name, column[row]) for name, column in columns.items()) for row in range(len(table))]
    settings = sorted(set(keys), key=lambda key: [_ordered(value) for _, value in key])
    runs = table.assign(setting=[settings.index(key) for key in keys])
    done_last = runs.assign(_done=runs["state"] == "done").sort_values("_done", kind="stable")
    kept = done_last.drop_duplicates(["setting", "seed"], keep="last").drop(columns="_done").sort_index()
    return Trials(tuple(settings), kept, seeds)


def setting_value(value: Any) -> str:
    """A setting's value in words: 4, not 4.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _ordered(value: Any) -> tuple[bool, float, str]:
    """Numbers by size before words."""
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return not numeric, float(value) if numeric else 0.0, str(value)


def _split(seeds: tuple[int, ...], trials: Sequence[Trials]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds on which settings are chosen, and those on which methods are compared.

    Where some seeds have one setting of every method, as `unbraid compare` trains them, those are compared, and the
    choice is made on the others. Otherwise a third of the seeds chooses, at least one. With a single seed there is no
    other to compare on.
    """
    if all(len(one.settings) == 1 for one in trials):
        return (), seeds
    swept = {int(seed) for one in trials for seed, group in one.runs.groupby("seed") if group["setting"].nunique() > 1}
    chosen = tuple(seed for seed in seeds if seed in swept)
    rest = tuple(seed for seed in seeds if seed not in swept)
    if chosen and rest:
        return chosen, rest
    if len(seeds) == 1:
        return seeds, seeds
    first = max(1, len(seeds) // 3)
    return seeds[:first], seeds[first:]
