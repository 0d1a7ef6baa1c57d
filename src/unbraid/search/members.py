"""The jobs of a population: train a model for one generation, and say how fit a member's models have become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unbraid import nets
from unbraid.data import FactorData, catalogue
from unbraid.errors import InputError
from unbraid.jobs.models import Train
from unbraid.jobs.schedule import Job
from unbraid.runs.folder import Folder
from unbraid.runs.recording import train
from unbraid.runs.run import Run
from unbraid.search.fitness import LabelSet, Score, fitness, label_sets
from unbraid.training.device import resolve_device

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Left(Job):
    """A model that an earlier generation has left, known by its record alone: its own ancestors need not be told."""

    name: str
    kept: Mapping[str, Any]
    """What its `job.json` says."""

    @property
    def label(self) -> str:
        return self.name

    @cached_property
    def id(self) -> str:
        return str(self.kept["id"])

    @property
    def record(self) -> dict[str, Any]:
        return dict(self.kept)

    @property
    def steps(self) -> int:
        return int(self.kept["steps"])

    def content(self) -> Mapping[str, Any]:
        return self.kept

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        raise InputError(f"{folder.name} is gone or damaged; run the population again, and it is trained anew")


@dataclass(frozen=True)
class Grow(Train):
    """Train one model for a generation, from its first weights or from what another has left.

    `steps` counts those of the models it descends from too. Its folder is a run's.
    """

    start: Left | None = None
    """The model whose weights, optimisers and count of steps it takes over."""
    name: str = "model"
    """For people; changes no numbers."""

    @property
    def label(self) -> str:
        return self.name

    @property
    def needs(self) -> tuple[Job, ...]:
        return () if self.start is None else (self.start,)

    def content(self) -> Mapping[str, Any]:
        """As of any training run, but data is told by what is in it, however that was asked for."""
        return {**super().content(), "data_settings": _described(*_data_key(self))}

    @property
    def left(self) -> Left:
        """What the next generation can go on from."""
        return Left(self.name, self.record)

    @property
    def new_steps(self) -> int:
        return self.steps - (0 if self.start is None else self.start.steps)

    @property
    def images(self) -> int:
        """How many images it is trained on."""
        return self.new_steps * int(self.full_settings["batch_size"])

    @property
    def seconds(self) -> float:
        return self.images * self.resolution**2 / nets.speed(self.full_settings.get("network", "")) + 0.5

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        train(
            self.method,
            opened(self),
            steps=self.steps,
            seed=self.seed,
            out=folder,
            precision=self.precision,
            samples=self.samples,
            protocol=self.protocol,
            start=needed[0] if needed else None,
            keep_state=not needed or Run(needed[0]).path("checkpoint").exists(),  # the best one's may be gone
            **self.settings,
        )


def opened(job: Train) -> FactorData:
    """The data of a job, which a worker keeps open for the next."""
    return _opened(*_data_key(job))


def _data_key(job: Train) -> tuple[str, int, tuple[tuple[str, Any], ...]]:
    return job.data, job.resolution, tuple(sorted(job.data_settings.items()))


@lru_cache(maxsize=2)
def _opened(name: str, resolution: int, settings: tuple[tuple[str, Any], ...]) -> FactorData:
    return catalogue.load(name, resolution, **dict(settings))


@lru_cache(maxsize=8)
def _described(name: str, resolution: int, settings: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    return _opened(name, resolution, settings).describe()


@dataclass(frozen=True)
class LabelFile:
    """Label sets in an .npz file, and a digest of them."""

    path: Path
    digest: str

    def read(self) -> list[Array]:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                return [file[f"set{place}"] for place in range(len(file.files))]
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(f"{self.path} cannot be read as label sets: {error}") from error


@dataclass(frozen=True)
class Fitness(Job):
    """The fitness of a member: the mean score of its models, None where one of them is lost to numbers not finite."""

    models: tuple[Grow, ...]
    score: Score
    seed: int = 0
    """Chooses the rows that are encoded: the same for a whole population."""
    labels: LabelFile | None = None
    name: str = "fitness"

    @property
    def label(self) -> str:
        return self.name

    @property
    def needs(self) -> tuple[Job, ...]:
        return self.models

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        return 0.3 + len(self.models) * self.score.rows * 1e-4

    def content(self) -> Mapping[str, Any]:
        return {
            "score": {**asdict(self.score), "settings": dict(self.score.settings)},
            "seed": self.seed,
            "labels": None if self.labels is None else self.labels.digest,
        }

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `fitness.json`: the `score`, those of each of the models, and which of them are `lost`."""
        runs = [Run(path) for path in needed]
        states = [run.state["state"] for run in runs]
        if "failed" in states:
            raise InputError(f"needs {runs[states.index('failed')].folder.name}, which failed")
        lost = [place for place, state in enumerate(states) if state == "diverged"]
        scores: list[float] = []
        if not lost:
            data = opened(self.models[0])
            device = resolve_device("auto")
            methods = [run.method(device) for run in runs]
            scores = fitness(self.score, methods, data, _sets(self, data), self.seed)
            lost = [place for place, value in enumerate(scores) if not np.isfinite(value)]
        found = {"score": None if lost else float(np.mean(scores)), "scores": None if lost else scores, "lost": lost}
        Folder(folder).write_json("fitness", found)


def _sets(job: Fitness, data: FactorData) -> list[LabelSet]:
    return label_sets(job.score, data, None if job.labels is None else job.labels.read(), job.seed)
