"""The job that most studies are made of: train a model, on images or on another model's codes, encode and score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unbraid import nets
from unbraid.data import FactorData, catalogue
from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.methods import GROUP, METHODS, method_class
from unbraid.metrics import ProtocolLike, as_protocol
from unbraid.metrics.protocols import refer_protocol
from unbraid.own import label, refer, refer_all
from unbraid.runs.identity import NUMBERS, full_settings
from unbraid.runs.recording import train
from unbraid.runs.run import Run
from unbraid.training.representation import encode_all

STEP = 0.001  # rough seconds of a step beside its pixels: optimisers, heads, drawing the batch


@dataclass(frozen=True)
class Train(Job):
    """Train a method on a data set, encode, score: `unbraid.train` as a job. Its folder is a run's, with the same id.

    With an `encoder`, another model of the same rows, the codes it gives them come with the data: for learners on
    frozen codes. With a `start` it takes over that run's weights, optimisers and count of steps.
    """

    version: ClassVar[int] = NUMBERS

    method: str
    """A name, or a class or `file.py:Name` of your own, kept as a reference."""
    data: str
    """The same."""
    steps: int
    """Those of the run it starts with included."""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method; the others have their defaults."""
    resolution: int = 64
    data_settings: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "fp32"
    """Stated, so that the numbers do not depend on the machine."""
    samples: int | None = None
    protocol: ProtocolLike | None = "dlib"
    encoder: Train | None = None
    start: Train | Trained | None = None
    keep_state: bool = field(default=False, metadata={"numbers": False})
    """Whether another run can start with it."""
    every: int = field(default=100, metadata={"numbers": False})
    """Steps between two lines of the log."""
    name: str = field(default="", metadata={"numbers": False})
    """For people, in place of METHOD-DATA."""

    def __post_init__(self) -> None:
        """Put references in place of the user's own code, so that its digest is part of the id."""
        for name, known, group in (("method", METHODS, GROUP), ("data", catalogue.CATALOGUE, catalogue.GROUP)):
            if (value := getattr(self, name)) not in known:
                object.__setattr__(self, name, refer(value, group))
        object.__setattr__(self, "settings", refer_all(self.settings))
        object.__setattr__(self, "protocol", refer_protocol(self.protocol))

    @property
    def label(self) -> str:
        encoders = [self.encoder.method] if self.encoder else []
        return self.name or "-".join(label(name) for name in (self.method, *encoders, self.data))

    @cached_property
    def full_settings(self) -> Mapping[str, Any]:
        return full_settings(self.method, self.settings)

    def written(self, name: str, value: Any) -> Any:
        if name == "settings":
            return self.full_settings
        return catalogue.content(self.data, value) if name == "data_settings" else value

    @property
    def new_steps(self) -> int:
        """Without those of the run it starts with."""
        return self.steps - (0 if self.start is None else self.start.steps)

    @property
    def images(self) -> int:
        """How many images it is trained on."""
        return self.new_steps * int(self.full_settings["batch_size"])

    @property
    def seconds(self) -> float:
        method = method_class(self.method)
        scoring = 2.0 if self.protocol is None else as_protocol(self.protocol).seconds
        if "images" not in method.needs:
            return self.new_steps * 0.004 + scoring
        network, encoder = self.full_settings.get("network", ""), "codes" not in method.needs
        speed = nets.speed(network, encoder=encoder, decoder=method.decodes)
        encoded = 1 + len({"partners", "labelled_images"} & set(method.needs))  # images per row of a batch
        training = self.images * encoded * self.resolution**2 / speed * method.cost
        return training + self.new_steps * STEP + scoring

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        self.record_run(folder, needed, self.settings)

    def record_run(self, folder: Path, needed: Sequence[Path], settings: Mapping[str, Any]) -> None:
        """Train and record the run, with these settings of the method."""
        paths = iter(needed)
        data = self.open() if self.encoder is None else self._with_codes(folder, next(paths))
        train(
            self.method,
            data,
            steps=self.steps,
            seed=self.seed,
            out=folder,
            precision=self.precision,
            every=self.every,
            samples=self.samples,
            protocol=self.protocol,
            start=None if self.start is None else next(paths),
            keep_state=self.keep_state,
            id=self.id,
            **settings,
        )

    def open(self) -> FactorData:
        """The data without an encoder's codes, which a worker keeps open for the next job."""
        return _open(self.data, self.resolution, tuple(sorted(self.data_settings.items())))

    def _with_codes(self, folder: Path, encoder: Path) -> FactorData:
        """The data with the encoder's codes of all rows, which stay in the folder."""
        trained, codes = Run(encoder), folder / "inputs.npy"
        if not codes.exists():  # on another machine the last digits may differ, and a run resumes with the codes it had
            with replacing(codes) as part, part.open("wb") as file:
                np.save(file, encode_all(trained.method(), trained.whole_data()).numpy())
        return catalogue.load(self.data, self.resolution, **{**self.data_settings, "codes": str(codes)})


@lru_cache(maxsize=2)
def _open(name: str, resolution: int, settings: tuple[tuple[str, Any], ...]) -> FactorData:
    return catalogue.load(name, resolution, **dict(settings))


@dataclass(frozen=True)
class Trained(Job):
    """A run that was trained before, known by its record alone: the jobs that it needed are not looked at again."""

    name: str = field(metadata={"numbers": False})
    known: Mapping[str, Any]
    """What its `job.json` says."""

    @classmethod
    def of(cls, job: Train) -> Trained:
        return cls(job.label, job.record)

    @property
    def label(self) -> str:
        return self.name

    @cached_property
    def id(self) -> str:
        return str(self.known["id"])

    @property
    def record(self) -> dict[str, Any]:
        return dict(self.known)

    @property
    def steps(self) -> int:
        return int(self.known["steps"])

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        raise InputError(f"{folder.name} is missing or damaged; run the population again, and it is trained again")
