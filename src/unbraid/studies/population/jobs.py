"""The study's jobs: a population, an rPU-VAE, a search with the budget of one.

Each trains all its models in one worker, and writes those that count into `results.json`: what it spent on a model
(`trained` images in all) and what the model itself has seen (`lineage`). Beside them are the histories of populations,
and what the metaEpochs of an rPU-VAE know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from scipy.stats import entropy

from unbraid import nets
from unbraid.data import FactorData, catalogue
from unbraid.data.reading import read_arrays
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.job import Job
from unbraid.jobs.results import read_results, write_results
from unbraid.metrics import METRICS, ProtocolLike, mig
from unbraid.metrics import score as score_codes
from unbraid.runs.identity import NUMBERS, full_settings
from unbraid.runs.run import Run
from unbraid.search import History, RPUConfig, evolve, lineage, read_history, rpu
from unbraid.search.fitness import Score
from unbraid.search.reduction import ReductionConfig, active_latents, mean_kl
from unbraid.search.rules import PopulationConfig
from unbraid.training.representation import Representation, represent

Array = np.ndarray[Any, Any]
Row = dict[str, Any]
RPU, BY_UDR = "rpu", "pbt-udr"  # the approaches of an rPU-VAE's last model, and of its first metaEpoch's
MODELS = 5  # of a member that is judged by UDR
MODEL, STEP = 0.4, 0.001  # rough seconds of a model beside its training, and of a step beside its pixels
SCORED, FITTED = 6.0, 0.0008  # of scoring the best model, and of a fitness that fits predictors, per row
SETTLED = 20  # generations until a population comes to rest, about
LATER = 1.5  # metaEpochs of a leaf-run behind the first, about
SHUFFLES, POINTS = 20, 20_000  # of `knowledge`: shuffled codes, and rows at most
ACTIVE = ReductionConfig().active
SAMPLES = 4_000  # rows on which each generation is looked at


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
        search = "search" if self.population.exploit == "none" else "pbt"
        method = [] if self.base.method == "beta_tc_vae" else [self.base.method]
        return "-".join([search, *method, self.score.metric, *(["few"] if self.score.labels else [])])

    @property
    def label(self) -> str:
        return f"{self.approach}-{self.base.data}"

    def written(self, name: str, value: Any) -> Any:
        return self.base.content() if name == "base" else value

    @property
    def seconds(self) -> float:
        return population_seconds(self.base, self.population, self.score)

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the folder `population` and its best model."""
        history, seed = grown(self.base, self.population, self.score, folder), self.population.seed
        known = known_row(history.best, self.base, self.approach, seed)
        write_results(
            folder,
            models=[best_row(history, folder, self.population, self.score)],
            histories=[history_row(history.table, self.approach, self.base.data, seed)],
            known=[known],
        )


@dataclass(frozen=True)
class Recursive(Job):
    """rPU-VAE with 0, 1, … leaf-runs: the last population is trained again for each number of them."""

    version: ClassVar[int] = NUMBERS

    base: Base
    config: RPUConfig

    @property
    def label(self) -> str:
        return f"{RPU}-{self.base.data}"

    def written(self, name: str, value: Any) -> Any:
        return self.base.content() if name == "base" else value

    @property
    def parts(self) -> list[tuple[float, PopulationConfig, Score]]:
        """Its populations, and how many of each there are, about."""
        config = self.config
        first, leaf = (
            replace(one, generations=min(one.generations, SETTLED))
            for one in (config.population, config.leaf or config.population)
        )
        return [
            (1, first, Score("udr")),
            (LATER * config.leaf_runs, replace(leaf, images=leaf.images or 10_000), Score("udr")),
            (1 + config.leaf_runs, config.final, Score("mig")),
        ]

    @property
    def seconds(self) -> float:
        return sum(count * population_seconds(self.base, config, score) for count, config, score in self.parts)

    @property
    def images(self) -> float:
        """That all its models are trained on, about."""
        return sum(count * population_images(self.base, config, score) for count, config, score in self.parts)

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the folder `rpu`, the first metaEpoch's best model, and the last one of each number of leaf-runs."""
        base, out, data, seed = self.base, folder / "rpu", self.base.open(), self.config.seed
        outcomes = [
            rpu(
                data, replace(self.config, leaf_runs=leaves), out, method=base.method, settings=base.settings,
                resolution=base.resolution, precision=base.precision, protocol=base.protocol, executor=InlineExecutor(),
            )
            for leaves in range(self.config.leaf_runs + 1)
        ]  # fmt: skip
        epochs = outcomes[-1].table
        spent = [int(epochs.loc[epochs["leaf"] <= leaves, "trained"].sum()) for leaves in range(len(outcomes))]
        finals = [
            {"leaf_runs": leaves, **best_row(outcome.final, folder, self.config.final, Score("mig"), spent[leaves])}
            for leaves, outcome in enumerate(outcomes)
            if outcome.final is not None
        ]
        if not finals:
            reason = f"no label to train the last population by: {outcomes[-1].stop}"
            finals = [{"state": "failed", "reason": reason, "trained": spent[-1]}]
        known = [
            {"leaf_runs": leaves, **known_row(outcome.final.best, base, RPU, seed, self.config.reduction.active)}
            for leaves, outcome in enumerate(outcomes)
            if outcome.final is not None
        ]
        first = read_history(out / "metaepoch1" / "population")
        rows = [{"data": base.data, "seed": seed, **learned(row, data, out)} for row in epochs.to_dict("records")]
        models = [first_row(first, base, folder, self.config), *finals]
        histories = [history_row(first, BY_UDR, base.data, seed)]
        progress = generation_rows(first, base, out, self.config)
        write_results(folder, models=models, metaepochs=rows, histories=histories, known=known, progress=progress)


@dataclass(frozen=True)
class Match(Job):
    """A random search by UDR with the budget of an rPU-VAE: as many settings as its images pay for."""

    version: ClassVar[int] = NUMBERS

    rival: Recursive
    population: PopulationConfig
    """Of any size: that follows from the rival's budget."""

    @property
    def label(self) -> str:
        return f"match-{self.rival.base.data}"

    @property
    def seconds(self) -> float:
        images = self.rival.images
        one = (self.population.images or max(self.rival.base.rows, 10_000)) * self.population.generations
        return self.rival.base.seconds(images, images / one) + SCORED

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the folder `population` and its best model, with the `size` of the search."""
        budget = max(int(model["trained"]) for model in read_results(needed[0]).models)
        images = self.population.images or max(self.rival.base.rows, 10_000)
        one = models_of(self.population, Score("udr")) * self.population.generations * images
        config = replace(self.population, size=max(2, math.ceil(budget / one)))
        history = grown(self.rival.base, config, Score("udr"), folder)
        write_results(folder, models=[{"size": config.size, **best_row(history, folder, config, Score("udr"))}])


def models_of(config: PopulationConfig, score: Score) -> int:
    """How many models a member has."""
    return config.models or (MODELS if score.metric == "udr" else 1)


def population_images(base: Base, config: PopulationConfig, score: Score) -> float:
    """Images that all models of a population are trained on."""
    return config.member_generations * models_of(config, score) * (config.images or max(base.rows, 10_000))


def population_seconds(base: Base, config: PopulationConfig, score: Score) -> float:
    """About how long a population takes on one core."""
    models = config.member_generations * models_of(config, score)
    fits = score.metric != "udr" and METRICS[score.metric].reads == "split"
    fitness = FITTED * score.rows * config.member_generations if fits else 0.0
    return base.seconds(population_images(base, config, score), models) + fitness + SCORED


def grown(base: Base, config: PopulationConfig, score: Score, folder: Path) -> History:
    """Train a population in `folder`."""
    return evolve(
        base.method, base.open(), config, folder / "population", score=score, settings=base.settings,
        resolution=base.resolution, precision=base.precision, protocol=base.protocol, samples=base.samples,
        executor=InlineExecutor(),
    )  # fmt: skip


def best_row(history: History, folder: Path, config: PopulationConfig, score: Score, before: int = 0) -> Row:
    """The best model of a population, and what it took: `trained` images in all, those `before` included."""
    return {
        "run": history.best.folder.relative_to(folder).as_posix(),
        "fitness": history.score,
        "trained": before + int(history.table["images"].sum()),
        "lineage": lineage_images(history.table, models_of(config, score)),
        "generations": int(history.table["generation"].max()) + 1,
        "converged": history.converged,
    }


def lineage_images(table: pd.DataFrame, models: int) -> int:
    """How many images the best model itself has seen, through all that it descends from."""
    images = table.set_index(["generation", "member"])["images"]
    return int(sum(images[key] for key in lineage(table)) / models)


def history_row(table: pd.DataFrame, approach: str, data: str, seed: int) -> Row:
    """A population's whole history as one row of a table."""
    lines = table.astype(object).where(table.notna(), None).to_dict("records")
    return {"approach": approach, "data": data, "seed": seed, "history": lines}


def first_row(table: pd.DataFrame, base: Base, folder: Path, config: RPUConfig) -> Row:
    """The model that the first metaEpoch, which is PBT-U-VAE (UDR), takes its labels from, scored as any other."""
    # only scores of the last generation count, as in `rpu`: an untrained model may have a better UDR by chance
    table = table.assign(score=table["score"].where(table["generation"] == table["generation"].max()))
    best = table.loc[table["score"].idxmax()]
    run = Run(folder / "rpu" / "metaepoch1" / "population" / str(best["run"]))
    encoded = represent(run.method(), base.open(), config.seed, samples=base.samples)
    assert base.protocol is not None
    scores = score_codes(encoded.codes, encoded.factors, protocol=base.protocol, rng=config.seed)
    return {
        "run": run.folder.relative_to(folder).as_posix(),
        "approach": BY_UDR,
        "fitness": float(best["score"]),
        "trained": int(table["images"].sum()),
        "lineage": lineage_images(table, models_of(config.population, Score("udr"))),
        "generations": int(table["generation"].max()) + 1,
        **{f"scores.{name}": value for name, value in scores.items()},
    }


def known_row(run: Run, base: Base, approach: str, seed: int, active: float = ACTIVE) -> Row:
    """What the active latents of a model know of each factor of the whole data."""
    encoded = run.representation()
    latents, kl = _active(encoded, active)
    return {
        "approach": approach, "data": base.data, "seed": seed, "latents": latents, "kl": kl,
        "knows": _knows(encoded.codes.numpy()[:, latents], encoded.factors.numpy(), encoded.names),
    }  # fmt: skip


def generation_rows(table: pd.DataFrame, base: Base, out: Path, config: RPUConfig) -> list[Row]:
    """What the best model of each generation of the first metaEpoch knows, on some of the data."""
    data, rows = base.open(), []
    for generation, members in table.dropna(subset=["score"]).groupby("generation"):
        best = members.loc[members["score"].idxmax()]
        run = Run(out / "metaepoch1" / "population" / str(best["run"]))
        encoded = represent(run.method(), data, config.seed, samples=min(len(data), SAMPLES))
        latents, kl = _active(encoded, config.reduction.active)
        rows.append({
            "data": base.data, "seed": config.seed, "generation": int(str(generation)), "udr": float(best["score"]),
            "latents": latents, "kl": kl,
            "knows": _knows(encoded.codes.numpy()[:, latents], encoded.factors.numpy(), data.names),
        })  # fmt: skip
    return rows


def _active(encoded: Representation, threshold: float) -> tuple[list[int], list[float]]:
    """The active latents, and the mean KL of each; of an encoder without a KL all latents."""
    if encoded.logvar is None:
        return list(range(encoded.codes.shape[1])), []
    kl = mean_kl(encoded.codes.numpy(), encoded.logvar.numpy())
    latents = active_latents(kl, threshold)
    return latents, kl[latents].tolist()


def _knows(codes: Array, factors: Array, names: Sequence[str]) -> list[dict[str, float]]:
    """For each latent, the share of each factor that it tells."""
    shares = knowledge(codes, factors) if codes.shape[1] else np.empty((0, len(names)))
    return [dict(zip(names, latent, strict=True)) for latent in shares.round(4).tolist()]


def learned(row: Mapping[str, Any], data: FactorData, out: Path) -> Row:
    """A row of `metaepochs.csv`, with what each active latent knows of each factor of the data it was trained on."""
    name = f"leaf{row['leaf']}/metaepoch{row['metaepoch']}" if row["leaf"] else f"metaepoch{row['metaepoch']}"
    line = {key: row[key] for key in ("leaf", "metaepoch", "images", "generations", "trained", "stop", "udr")}
    line |= {"name": name, "latents": [], "kl": [], "knows": [], "values": {}}
    if not row["generations"]:  # the reduction before it had to stop
        return {**line, "udr": None}
    arrays = read_arrays(out / name / "labels.npz", "labels")
    rows, labels, latents, kl = (arrays[key] for key in ("rows", "labels", "latents", "kl"))
    factors = data.factors_at(torch.from_numpy(rows)).numpy()
    return {
        **line,
        "latents": latents.tolist(),
        "kl": kl[latents].tolist(),
        "knows": _knows(labels, factors, data.names),
        "values": {factor: len(np.unique(column)) for factor, column in zip(data.names, factors.T, strict=True)},
    }


def knowledge(codes: Array, factors: Array, bins: int | None = None, seed: int = 0) -> Array:
    """The share of each factor's entropy that each latent tells, above chance: codes (n, d), factors (n, k) -> (d, k).

    (I(z; v) - Ī) / (H(v) - Ī), where Ī is the mean of I over shuffled codes: 1 where a latent tells a factor, about 0
    where it tells nothing, however few rows there are. Without Ī, noise on 200 rows would tell a fifth of a factor of
    ten values. Codes are cut into 20 bins, as for MIG, or 2√n where that is less. The share is 0 of a factor with one
    value, and of one of which chance alone tells nine tenths: there are too few rows to know.
    """
    rng = np.random.default_rng(seed)
    bins = bins or int(np.clip(round(2 * len(codes) ** 0.5), 2, 20))
    if len(codes) > POINTS:
        chosen = rng.choice(len(codes), POINTS, replace=False)
        codes, factors = codes[chosen], factors[chosen]

    def information(codes: Array) -> Array:
        return np.asarray(mig(codes, factors, bins=bins).arrays["information"])

    chance = np.mean([information(rng.permutation(codes)) for _ in range(SHUFFLES)], axis=0)
    whole = np.array([entropy(np.unique(column, return_counts=True)[1]) for column in factors.T])
    above, room = information(codes) - chance, whole - chance
    enough = room > np.maximum(0.1 * whole, 1e-9)
    return np.asarray(np.divide(above, room, out=np.zeros_like(above), where=enough).clip(0, 1))
