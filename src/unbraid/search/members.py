"""How fit a member of a population has become: the job that scores its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import FactorData
from unbraid.data.reading import read_arrays
from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.search.fitness import LabelSet, Score, fitness, label_sets
from unbraid.training.device import resolve_device

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LabelFile:
    """Label sets in an .npz file, and a digest of them."""

    path: Path = field(metadata={"numbers": False})
    digest: str

    def read(self) -> list[Array]:
        arrays = read_arrays(self.path, "label sets")
        names = [f"set{number}" for number in range(len(arrays))]
        if set(names) != set(arrays):
            raise InputError(f"{self.path} holds {', '.join(arrays)}; expected {', '.join(names)}")
        return [arrays[name] for name in names]


@dataclass(frozen=True)
class Fitness(Job):
    """The fitness of a member: the mean score of its models, None where one of them has diverged."""

    models: tuple[Train, ...]
    score: Score
    seed: int = 0
    """Chooses the rows that are encoded: the same for a whole population."""
    labels: LabelFile | None = None
    name: str = field(default="fitness", metadata={"numbers": False})
    """For people."""

    @property
    def label(self) -> str:
        return self.name

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        return 0.3 + len(self.models) * self.score.rows * 1e-4

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `fitness.json`: the `score`, those of each of the models, and which of them have `diverged`."""
        runs = [Run(path) for path in needed]
        states = [run.state["state"] for run in runs]
        if "failed" in states:
            raise InputError(f"needs {runs[states.index('failed')].folder.name}, which failed")
        diverged = [model for model, state in enumerate(states) if state == "diverged"]
        scores: list[float] = []
        if not diverged:
            data = self.models[0].open()
            device = resolve_device("auto")
            methods = [run.method(device) for run in runs]
            scores = fitness(self.score, methods, data, self._sets(data), self.seed)
            diverged = [model for model, value in enumerate(scores) if not np.isfinite(value)]
        result = {
            "score": None if diverged else float(np.mean(scores)),
            "scores": None if diverged else scores,
            "diverged": diverged,
        }
        Folder(folder).write_json("fitness", result)

    def _sets(self, data: FactorData) -> list[LabelSet]:
        return label_sets(self.score, data, None if self.labels is None else self.labels.read(), self.seed)
