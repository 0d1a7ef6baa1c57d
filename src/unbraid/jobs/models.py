"""The jobs that studies are made of.

Train and score a model, on images or on another's codes; rank the models of one setting by their agreement; lay out
the codes of a model in a plane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unbraid import nets
from unbraid.data import FactorData, catalogue
from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.jobs.schedule import Job
from unbraid.methods import method_class
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import retrieved_factors, udr
from unbraid.metrics.encoder_probes import read
from unbraid.pictures.embeddings import umap_embedding
from unbraid.runs.folder import Folder
from unbraid.runs.recording import train
from unbraid.runs.run import NUMBERS, Run, full_settings
from unbraid.training.representation import encode_all, represent

Array = np.ndarray[Any, Any]
Protocol = str | Mapping[str, Mapping[str, Any]] | None

# Seconds of encoding and scoring by a protocol on one core of a desktop machine, rough.
SCORING = {"fast": 5.0, "assumptions": 80.0, "multitask": 20.0, "multitask_desk": 8.0}


@dataclass(frozen=True)
class Train(Job):
    """Train a method on a data set, encode, score.

    With an `encoder`, another model of the same rows, the codes it gives them come with the data: for learners on
    frozen codes.
    """

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
    encoder: Train | None = None
    every: int = 100
    """Steps between two lines of the log; it changes no number."""

    @property
    def label(self) -> str:
        return "-".join([self.method, *([self.encoder.method] if self.encoder else []), self.data])

    @property
    def needs(self) -> tuple[Job, ...]:
        return (self.encoder,) if self.encoder else ()

    @cached_property
    def full_settings(self) -> Mapping[str, Any]:
        return _full_settings(self.method, tuple(sorted(self.settings.items())))

    def content(self) -> Mapping[str, Any]:
        return {
            "numbers": NUMBERS,
            "method": self.method,
            "settings": self.full_settings,
            "data": catalogue.content(self.data, self.resolution, self.data_settings),
            "steps": self.steps,
            "seed": self.seed,
            "precision": self.precision,
            "samples": self.samples,
            "protocol": self.protocol,
        }

    @property
    def seconds(self) -> float:
        settings, method = self.full_settings, method_class(self.method)
        scoring = SCORING.get(self.protocol, 30.0) if isinstance(self.protocol, str) else 2.0
        if "images" not in method.needs:
            return self.steps * 0.004 + scoring
        network, encoder = settings.get("network", ""), "codes" not in method.needs
        speed = nets.speed(network, encoder=encoder, decoder=method.decodes)
        images = 1 + len({"partners", "labelled_images"} & set(method.needs))  # encoded for each row of a batch
        return self.steps * int(settings["batch_size"]) * images * self.resolution**2 / speed + scoring

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        train(
            self.method,
            self._open(folder, needed),
            steps=self.steps,
            seed=self.seed,
            out=folder,
            precision=self.precision,
            every=self.every,
            samples=self.samples,
            protocol=self.protocol,
            **self.settings,
        )

    def _open(self, folder: Path, needed: Sequence[Path]) -> FactorData:
        """The data, with the encoder's codes of all rows where there is one; they stay in the folder."""
        settings = dict(self.data_settings)
        if self.encoder:
            trained, codes = Run(needed[0]), folder / "inputs.npy"
            if not codes.exists():  # on another machine the last digits may differ, and a run goes on with what it had
                with replacing(codes) as part, part.open("wb") as file:
                    np.save(file, encode_all(trained.method(), trained.whole_data()).numpy())
            settings["codes"] = str(codes)
        return catalogue.load(self.data, self.resolution, **settings)


@cache
def _full_settings(method: str, settings: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    return full_settings(method, dict(settings))


@dataclass(frozen=True)
class Udr(Job):
    """UDR of models trained on the same data, from the codes of the same images. Models that diverged are left out."""

    models: tuple[Train, ...]
    rows: int = 1000
    code: str = "r"
    """The codes, or `z`, what a projection network makes of them (see `probing.read`), of which there is no KL."""

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
        return {"rows": self.rows, **({} if self.code == "r" else {"code": self.code})}

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `udr.json`: for each model's folder name its score by lasso and by Spearman."""
        runs = [Run(path) for path in needed if Run(path).state["state"] == "done"]
        if len(runs) < 2:
            raise InputError(f"udr compares models with each other; {len(runs)} of {len(needed)} are done")
        data = runs[0].data()
        codes, divergences = [], []
        for run in runs:
            if self.code != "r":
                codes.append(read(run.method(), data, 0, self.rows)[self.code].codes.numpy())
                continue
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


@dataclass(frozen=True)
class Embed(Job):
    """The codes of a model's test rows, laid out in a plane by UMAP: what lies near what?"""

    model: Train
    rows: int = 2000

    @property
    def label(self) -> str:
        return f"embed-{self.model.label}"

    @property
    def needs(self) -> tuple[Job, ...]:
        return (self.model,)

    @property
    def seconds(self) -> float:
        return 20.0

    def content(self) -> Mapping[str, Any]:
        return {"rows": self.rows}

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `embedding.npz` (places, codes, factors) and `embed.json`.

        That has for each factor how well neighbours in the plane agree on it, and the factors that codes retrieve.
        """
        run = Run(needed[0])
        data = run.images()
        found = represent(run.method(), data if data.held_out is None else data.held_out, 0, samples=self.rows)
        places, factors = umap_embedding(found.codes), found.factors.numpy()
        with replacing(folder / "embedding.npz") as part, part.open("wb") as file:
            np.savez(file, places=places, codes=found.codes.numpy(), factors=factors)
        agreement = dict(zip(found.names, neighbour_agreement(places, factors).tolist(), strict=True))
        scores = retrieved_factors(found.codes, factors)
        retrieved = {name: value for name, value in scores.items() if isinstance(value, float)}
        Folder(folder).write_json("embed", {"agreement": agreement, "retrieved": retrieved})


def neighbour_agreement(places: Array, values: Array, neighbours: int = 10) -> Array:
    """How much closer neighbours are in each value than random pairs: (n, 2), (n, k) -> (k,).

    1 - E|v - v of a neighbour| / E|v - v of any other|: 1 where neighbours agree, 0 where places tell nothing of it.
    """
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=neighbours).fit(places).kneighbors(return_distance=False)  # without itself
    values = values.astype(float)
    apart = np.abs(values[:, None] - values[near]).mean((0, 1))
    ranked = np.sort(values, axis=0)
    n = len(values)
    weights = 2 * np.arange(n)[:, None] - n + 1  # Σ_i<j (v_j - v_i) of sorted values
    random = 2 * (weights * ranked).sum(0) / (n * (n - 1))
    return np.asarray(1 - apart / np.where(random > 0, random, np.nan))
