"""The jobs that studies are made of: train and score one model; rank the models of one setting by their agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import catalogue
from unbraid.errors import InputError
from unbraid.folder import Folder
from unbraid.methods._gaussian import kl_per_latent
from unbraid.metrics import udr
from unbraid.record import NUMBERS, Run, full_settings
from unbraid.represent import represent
from unbraid.run import train
from unbraid.study import Job

Protocol = str | Mapping[str, Mapping[str, Any]] | None

# Pixels of training images that one core of a desk machine learns from in a second, by network; measured, rough.
PIXELS = {"assumptions": 1.4e6, "multitask": 0.8e6, "mlp": 2e6, "small": 2.4e6, "tiny": 3.2e6}
SCORING = 30.0  # seconds of encoding and scoring; rough


@dataclass(frozen=True)
class Train(Job):
    """Train a method on a data set, encode, score."""

    method: str
    data: str
    steps: int
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the method; what is left out is its default."""
    resolution: int = 64
    data_settings: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "fp32"
    """Stated, so that the numbers do not depend on the machine."""
    samples: int | None = None
    protocol: Protocol = "dlib"

    @property
    def label(self) -> str:
        return f"{self.method}-{self.data}"

    @cached_property
    def full_settings(self) -> Mapping[str, Any]:
        return _full_settings(self.method, tuple(sorted(self.settings.items())))

    def content(self) -> Mapping[str, Any]:
        return {
            "numbers": NUMBERS,
            "method": self.method,
            "settings": self.full_settings,
            "data": self.data,
            "resolution": self.resolution,
            "data_settings": _data_content(self.data, self.resolution, tuple(sorted(self.data_settings.items()))),
            "steps": self.steps,
            "seed": self.seed,
            "precision": self.precision,
            "samples": self.samples,
            "protocol": self.protocol,
        }

    @property
    def seconds(self) -> float:
        settings = self.full_settings
        speed = PIXELS.get(settings.get("network", ""), 1e6)
        return self.steps * int(settings["batch_size"]) * self.resolution**2 / speed + SCORING

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        data = catalogue.load(self.data, self.resolution, **self.data_settings)
        train(
            self.method,
            data,
            steps=self.steps,
            seed=self.seed,
            out=folder,
            precision=self.precision,
            samples=self.samples,
            protocol=self.protocol,
            **self.settings,
        )


@cache
def _full_settings(method: str, settings: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    return full_settings(method, dict(settings))


@cache
def _data_content(name: str, resolution: int, settings: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    """The settings of the data; for files of the user's, what is in them and not where they are."""
    found = dict(settings)
    if "path" not in found:
        return found
    return catalogue.load(name, resolution, **found).describe()


@dataclass(frozen=True)
class Udr(Job):
    """UDR of models trained on the same data, from the codes of the same images. Models that diverged are left out."""

    models: tuple[Train, ...]
    rows: int = 1000

    @property
    def label(self) -> str:
        return f"udr-{self.models[0].label}"

    @property
    def needs(self) -> tuple[Job, ...]:
        return self.models

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        return 1.0 + 0.2 * len(self.models) ** 2

    def content(self) -> Mapping[str, Any]:
        return {"rows": self.rows}

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `udr.json`: for each model's folder name its score by lasso and by Spearman."""
        runs = [Run(path) for path in needed if Run(path).state["state"] == "done"]
        if len(runs) < 2:
            raise InputError(f"udr compares models with each other; {len(runs)} of {len(needed)} are done")
        data = runs[0].data()
        codes, divergences = [], []
        for run in runs:
            found = represent(run.method(), data, 0, samples=self.rows)
            codes.append(found.codes.numpy())
            if found.logvar is not None:
                divergences.append(kl_per_latent(found.codes, found.logvar).mean(0).numpy())
        kl = divergences if len(divergences) == len(runs) else None
        scores = {kind: np.asarray(udr(codes, kl, kind)["scores"]) for kind in ("lasso", "spearman")}
        table = {
            run.folder.name: {kind: float(values[place]) for kind, values in scores.items()}
            for place, run in enumerate(runs)
        }
        Folder(folder).write_json("udr", table)
