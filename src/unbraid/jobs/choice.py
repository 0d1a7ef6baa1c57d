"""A model trained with the setting that did best on other seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.jobs.best_setting import best_setting
from unbraid.jobs.training import Train
from unbraid.pictures.names import better
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Chosen(Train):
    """A model with the value of one setting that has the best mean score among candidates of other seeds."""

    candidates: tuple[Train, ...] = ()
    setting: str = ""
    """The one that is chosen."""
    by: str = "mig"
    """The score that decides."""

    @classmethod
    def of(cls, model: Train, candidates: tuple[Train, ...], setting: str, by: str) -> Chosen:
        shared = {one.name: getattr(model, one.name) for one in fields(model)}
        return cls(**shared, candidates=candidates, setting=setting, by=by)

    @property
    def label(self) -> str:
        return f"chosen-{super().label}"

    @property
    def tolerant(self) -> bool:
        return True

    def written(self, name: str, value: Any) -> Any:
        if name == "settings":
            return {**self.full_settings, self.setting: None}
        return super().written(name, value)

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `choice.json`, which has the mean score of each candidate, and a run."""
        values = sorted({float(candidate.full_settings[self.setting]) for candidate in self.candidates})
        seeds = sorted({candidate.seed for candidate in self.candidates})
        scores = np.full((len(values), len(seeds)), np.nan)
        for candidate, path in zip(self.candidates, needed, strict=True):
            index = values.index(float(candidate.full_settings[self.setting])), seeds.index(candidate.seed)
            scores[index] = _score(path, self.by)
        best = best_setting(scores, better(self.by) != "lower")
        if best is None:
            raise InputError(
                f"none of the {len(self.candidates)} candidates for {self.setting} has a score '{self.by}'"
            )
        table = [{self.setting: value, self.by: _plain(row)} for value, row in zip(values, scores, strict=True)]
        chosen = {self.setting: values[best]}
        Folder(folder).write_json("choice", {"chosen": chosen, "seeds": seeds, "candidates": table})
        self.record_run(folder, (), {**self.settings, **chosen})


def _score(folder: Path, name: str) -> float:
    """NaN of a candidate that failed or diverged."""
    try:
        value = Run(folder).read_json("scores")["scores"].get(name)
    except (InputError, KeyError):
        return math.nan
    return math.nan if value is None else float(value)


def _plain(row: Array) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in row]
