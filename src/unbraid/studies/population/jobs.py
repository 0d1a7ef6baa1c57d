"""The study's jobs: a population, an rPU-VAE, a search with the budget of one. Each is a whole study in one worker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch

from unbraid import nets
from unbraid.data import FactorData, catalogue
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.job import Job
from unbraid.metrics import ProtocolLike
from unbraid.metrics import score as score_codes
from unbraid.runs.folder import Folder
from unbraid.runs.identity import NUMBERS, full_settings
from unbraid.runs.run import Run
from unbraid.search import History, RPUConfig, evolve, lineage, read_history, rpu
from unbraid.search.fitness import Score
from unbraid.search.generations import PopulationConfig
from unbraid.studies.population.knowledge import knowledge
from unbraid.training.representation import represent

Outcome = dict[str, Any]
MODELS = 5  # of a member that is judged by UDR
MODEL, STEP = 0.4, 0.007  # seconds that a model takes beside its training, and a step however small its images; rough


@dataclass(frozen=True)
class Base:
    """What every model of a job is, its data, and how the best is scored."""

    data: str
    method: str = "beta_tc_vae"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not searched; what is left out is the method's default."""
    resolution: int = 64
    data_settings: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "fp32"
    samples: int | None = None
    """Images that the best model is scored on; None for 50,000."""
    protocol: ProtocolLike | None = "dlib"

    @property
    def rows(self) -> int:
        """Of the data, which is not opened to be counted unless settings choose some of its rows."""
        return len(self.open()) if self.data_settings else catalogue.declared(self.data).images or 0

    def open(self) -> FactorData:
        return catalogue.load(self.data, self.resolution, **self.data_settings)

    def content(self) -> dict[str, Any]:
        """All of it, with the method's defaults and what is in the user's files."""
        settings = full_settings(self.method, self.settings)
        data_settings = catalogue.content(self.data, self.data_settings)
        return {**asdict(self), "settings": settings, "data_settings": data_settings}

    def seconds(self, images: float, models: float) -> float:
        """Of training so many models for a generation, on so many images in all."""
        network = str(full_settings(self.method, self.settings).get("network", ""))
        return images * (self.resolution**2 / nets.speed(network) + STEP / 64) + MODEL * models


@dataclass(frozen=True)
class Evolve(Job):
    """A population; without `exploit` a random search, from which the best is chosen at the end."""

    version: ClassVar[int] = NUMBERS

    base: Base
    population: PopulationConfig
    score: Score

    @property
    def approach(self) -> str:
        """What it is, what makes a member fit, and whether that has few labels: such as `pbt-mig-few`."""
        kind = "search" if self.population.exploit == "none" else "pbt"
        method = [] if self.base.method == "beta_tc_vae" else [self.base.method]
        return "-".join([kind, *method, self.score.metric, *(["few"] if self.score.labels else [])])

    @property
    def label(self) -> str:
        return f"{self.approach}-{self.base.data}"

    def written(self, name: str, value: Any) -> Any:
        return self.base.content() if name == "base" else value

    @property
    def seconds(self) -> float:
        return population_seconds(self.base, self.population, self.score)

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `outcome.json` and the folder `population`."""
        Folder(folder).write_json("outcome", grown(self.base, self.population, self.score, folder))


@dataclass(frozen=True)
class Recursive(Job):
    """rPU-VAE with 0, 1, … leaf-runs: the last population is trained anew for each number of them."""

    version: ClassVar[int] = NUMBERS

    base: Base
    config: RPUConfig

    @property
    def label(self) -> str:
        return f"rpu-{self.base.data}"

    def written(self, name: str, value: Any) -> Any:
        return self.base.content() if name == "base" else value

    @property
    def seconds(self) -> float:
        """As if every leaf-run had two metaEpochs of few images, and populations came to rest in 20 generations."""
        config = replace(self.config.population, generations=min(self.config.population.generations, 20))
        epoch = population_seconds(self.base, config, Score("udr"))
        later = population_seconds(self.base, replace(config, images=config.images or 10_000), Score("udr"))
        final = population_seconds(self.base, self.config.final, Score("mig"))
        return epoch + 2 * self.config.leaf_runs * later + (1 + self.config.leaf_runs) * final

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the folder `rpu` and `outcome.json`: what each metaEpoch found, and the last model of each number."""
        base, place, data = self.base, folder / "rpu", self.base.open()
        found = [
            rpu(
                data, replace(self.config, leaf_runs=leaves), place, method=base.method, settings=base.settings,
                resolution=base.resolution, precision=base.precision, protocol=base.protocol, executor=InlineExecutor(),
            )
            for leaves in range(self.config.leaf_runs + 1)
        ]  # fmt: skip
        epochs = found[-1].table
        spent = [int(epochs.loc[epochs["leaf"] <= leaves, "trained"].sum()) for leaves in range(len(found))]
        models = models_of(self.config.final, Score("mig"))
        finals = [
            {"leaf_runs": leaves, **outcome(one.final, folder, models, spent[leaves])}
            for leaves, one in enumerate(found)
            if one.final is not None
        ]
        content = {
            "stop": found[-1].stop,
            "trained": finals[-1]["trained"] if finals else spent[-1],
            "first": first_epoch(base, place, folder, self.config),
            "metaepochs": [learned(row, data, place) for row in epochs.to_dict("records")],
            "finals": finals,
        }
        Folder(folder).write_json("outcome", content)


@dataclass(frozen=True)
class Match(Job):
    """A random search by UDR with the budget of an rPU-VAE: as many settings as that trained images for."""

    version: ClassVar[int] = NUMBERS

    rival: Recursive
    population: PopulationConfig
    """Of any size: that follows from the rival's budget."""

    @property
    def label(self) -> str:
        return f"match-{self.rival.base.data}"

    @property
    def seconds(self) -> float:
        return self.rival.seconds

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `outcome.json` and the folder `population`."""
        budget = int(Folder(needed[0]).read_json("outcome")["trained"])
        images = self.population.images or max(self.rival.base.rows, 10_000)
        one = models_of(self.population, Score("udr")) * self.population.generations * images
        config = replace(self.population, size=max(2, math.ceil(budget / one)))
        content = grown(self.rival.base, config, Score("udr"), folder)
        Folder(folder).write_json("outcome", {**content, "size": config.size})


def models_of(config: PopulationConfig, score: Score) -> int:
    """How many models a member has."""
    return config.models or (MODELS if score.metric == "udr" else 1)


def population_seconds(base: Base, config: PopulationConfig, score: Score) -> float:
    """About how long a population takes on one core."""
    models = config.size * config.generations * models_of(config, score)
    images = config.images or max(base.rows, 10_000)
    return base.seconds(models * images, models)


def grown(base: Base, config: PopulationConfig, score: Score, folder: Path) -> Outcome:
    """Train a population in `folder`, and tell what became of it."""
    history = evolve(
        base.method, base.open(), config, folder / "population", score=score, settings=base.settings,
        resolution=base.resolution, precision=base.precision, protocol=base.protocol, samples=base.samples,
        executor=InlineExecutor(),
    )  # fmt: skip
    return outcome(history, folder, models_of(config, score))


def outcome(history: History, folder: Path, models: int, before: int = 0) -> Outcome:
    """The best model's scores and history, and what it took: `trained` images in all, those `before` included."""
    return {
        "fitness": history.score,
        "scores": history.best.read_json("scores")["scores"],
        "trained": before + int(history.table["images"].sum()),
        "lineage": lineage_images(history.table, models),
        "generations": int(history.table["generation"].max()) + 1,
        "converged": history.converged,
        "run": history.best.folder.relative_to(folder).as_posix(),
    }


def lineage_images(table: pd.DataFrame, models: int) -> int:
    """How many images the best model itself has seen, through all that it descends from."""
    images = table.set_index(["generation", "member"])["images"]
    return int(sum(images[key] for key in lineage(table)) / models)


def first_epoch(base: Base, place: Path, folder: Path, config: RPUConfig) -> Outcome:
    """The model that the first metaEpoch, which is PBT-U-VAE (UDR), takes its labels from, scored as any other."""
    population = place / "metaepoch1" / "population"
    table = read_history(population)
    # only scores of the last generation count, as in `rpu`: an untrained model may have a better UDR by chance
    table = table.assign(score=table["score"].where(table["generation"] == table["generation"].max()))
    best = table.loc[table["score"].idxmax()]
    run, data = Run(population / str(best["run"])), base.open()
    found = represent(run.method(), data, config.seed, samples=base.samples)
    assert base.protocol is not None
    return {
        "fitness": float(best["score"]),
        "scores": dict(score_codes(found.codes, found.factors, protocol=base.protocol, rng=config.seed)),
        "trained": int(table["images"].sum()),
        "lineage": lineage_images(table, config.population.models or MODELS),
        "generations": int(table["generation"].max()) + 1,
        "run": run.folder.relative_to(folder).as_posix(),
    }


def learned(row: Mapping[str, Any], data: FactorData, place: Path) -> Outcome:
    """A line of `metaepochs.csv`, with what each active latent knows of each factor of the data it was trained on."""
    name = f"leaf{row['leaf']}/metaepoch{row['metaepoch']}" if row["leaf"] else f"metaepoch{row['metaepoch']}"
    found = {key: row[key] for key in ("leaf", "metaepoch", "images", "generations", "trained", "stop")}
    found |= {"name": name, "udr": row["udr"], "latents": [], "kl": [], "knows": [], "values": {}}
    if not row["generations"]:  # the reduction before it had to stop
        return {**found, "udr": None}
    with np.load(place / name / "labels.npz", allow_pickle=False) as file:
        rows, labels, latents, kl = (file[key] for key in ("rows", "labels", "latents", "kl"))
    factors = data.factors_at(torch.from_numpy(rows)).numpy()
    known = knowledge(labels, factors) if len(latents) else np.empty((0, len(data.names)))
    return {
        **found,
        "latents": latents.tolist(),
        "kl": kl[latents].tolist(),
        "knows": [dict(zip(data.names, told, strict=True)) for told in known.round(4).tolist()],
        "values": {factor: len(np.unique(column)) for factor, column in zip(data.names, factors.T, strict=True)},
    }
