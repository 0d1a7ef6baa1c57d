"""rPU-VAE (population, section 4.2 and algorithm 1): find a few factors, take them out of the data, and repeat.

A population without labels (by UDR) learns the factors that vary most. The active latents of its best model label the
data, and the images over which these labels hardly vary make the data of the next metaEpoch, which finds other factors.
A leaf-run repeats this until no data remains. All labels together are the fitness of a last population on all data.

The folder holds

    rpu.json             its settings
    metaepochs.csv       one row per metaEpoch: images, UDR, active latents, why a leaf-run stopped
    labels.csv           the surrogate labels: one row per image, with the name of its file if it has one
    metaepochs.png       what the active latents of each metaEpoch do, as figure 5
    metaepoch1/          the first metaEpoch; leaf1/metaepoch2/, leaf1/metaepoch3/, … those of the leaf-runs, each with
        population/      its population; population.png is its history
        labels.npz       its rows, their surrogate labels, the KL of all latents
        reduction.png    how its data came about, as figure 3
        traversals.png   what its latents do, the active ones in full contrast
    final3/              the last population, by the labels of three leaf-runs
    reconstructions.png, traversals.png, traversals.gif   of its best model

Run again, it finds all that is done: to resume after a kill is to do the same once more.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from unbraid.arguments import need_number, need_whole
from unbraid.data import FactorData, Subset, catalogue
from unbraid.data.atomic import clear_parts, replacing
from unbraid.errors import InputError
from unbraid.jobs.engines.local import given_or_local
from unbraid.jobs.schedule import Say
from unbraid.methods import GROUP, METHODS, Method, method_class
from unbraid.metrics import ProtocolLike, as_protocol
from unbraid.own import label, refer, refer_all
from unbraid.pictures.traversals import show
from unbraid.runs.folder import Folder, refuse_run
from unbraid.runs.identity import full_settings
from unbraid.runs.record import flat
from unbraid.runs.run import Run
from unbraid.search.history import History
from unbraid.search.judgement import is_dead, judge
from unbraid.search.metaepochs import (
    MetaEpoch,
    best_factors,
    label_sets,
    labels_frame,
    save_figure5,
    save_labels,
    save_reduction,
    save_traversals,
)
from unbraid.search.population import OtherPopulationError, evolve
from unbraid.search.reduction import ReductionConfig, active_latents, mean_kl, reduce
from unbraid.search.rules import PopulationConfig
from unbraid.training.loop import step_seed

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RPUConfig:
    """When it stops, and its populations."""

    population: PopulationConfig = field(default_factory=lambda: PopulationConfig(generations=100, patience=6))
    """Of the first metaEpoch, which ends when the best UDR no longer moves."""
    final: PopulationConfig = field(default_factory=lambda: PopulationConfig(generations=15))
    """The last one, by all surrogate labels."""
    leaf: PopulationConfig | None = None
    """Of the metaEpochs of leaf-runs, on what remains of the data; None for the same as `population`."""
    leaf_runs: int = 3
    threshold: float = 0.1
    """A metaEpoch whose best UDR is below has learned nothing, and ends its leaf-run."""
    reduction: ReductionConfig = field(default_factory=ReductionConfig)
    seed: int = 0
    """Of all of them; the seeds in the populations' own settings are not used."""

    def __post_init__(self) -> None:
        need_whole("leaf_runs", self.leaf_runs)
        need_whole("seed", self.seed)
        need_number("threshold", self.threshold)


@dataclass(frozen=True)
class RPU:
    """The outcome of `rpu`."""

    out: Path
    table: pd.DataFrame
    """As in `metaepochs.csv`."""
    labels: pd.DataFrame
    """As in `labels.csv`."""
    final: History | None
    """The last population, None where there is no label to train it with, or it was stopped before."""
    stop: str = ""
    """Why there is none."""
    first: History | None = None
    """The population of the first metaEpoch."""

    @property
    def best(self) -> Run | None:
        """The last population's best model, else that of the first metaEpoch; None where no latent says anything."""
        history = self.final or self.first
        return None if history is None or is_dead(history.best) else history.best

    def coverage(self) -> dict[str, float]:
        """The share of the images that each label is known of."""
        columns = self.labels.columns.difference(["row", "file"], sort=False)
        return {str(name): float(self.labels[name].notna().mean()) for name in columns}

    def advice(self) -> list[str]:
        """What stands against the result, in plain words."""
        advice, count = [], len(self.labels)
        if self.stop:
            advice.append(self.stop if self.coverage() else f"There are no surrogate labels: {self.stop}.")
        if self.best is None:
            advice.append("The best model has no active latent: it is not a result.")
        elif history := self.final or self.first:
            advice += judge(history)
        narrow = {name: share for name, share in self.coverage().items() if share < COVERED}
        if narrow:
            fewest = min(narrow.values())
            advice.append(
                f"{len(narrow)} of {len(self.coverage())} labels are known of fewer than {COVERED:.0%} of the images, "
                f"one of {round(fewest * count):,} of {count:,}: they say little about the others."
            )
        return advice


COVERED = 0.1  # of the images: a label that fewer have says little about the rest
SHARES = (0.35, 0.75)  # of the time: when the first metaEpoch, and the leaf-runs, have to end


def rpu(
    data: str | FactorData,
    config: RPUConfig,
    out: Path | str,
    *,
    method: str | type[Method] = "beta_tc_vae",
    settings: Mapping[str, Any] | None = None,
    resolution: int = 64,
    precision: str = "fp32",
    protocol: ProtocolLike | None = "dlib",
    executor: Executor | None = None,
    workers: int | None = None,
    minutes: float | None = None,
    attended: bool = False,
    say: Say = lambda line: None,
) -> RPU:
    """Run algorithm 1 in the folder `out`; run again with the same arguments, it resumes where it was stopped.

    Arguments are those of `evolve`; `protocol` says how the last model is scored against factors. With another number
    of leaf-runs than before, finished leaf-runs are kept, and a last population is trained for that number. Fewer
    generations than before are a stop, more a continuation; what was trained on other labels is set aside.

    With `minutes` no generation begins that would not end in its share of the time: the first metaEpoch has 35 %, all
    leaf-runs 40 %, the last population the rest. Where it is `attended`, each population says how long it will take,
    and Ctrl-C ends it with what is known so far.
    """
    if protocol is not None:
        as_protocol(protocol)  # a wrong one is an error before training, not after
    opened = catalogue.load(data, resolution) if isinstance(data, str) else data
    method, fixed = method if method in METHODS else refer(method, GROUP), refer_all(dict(settings or {}))
    check(method, opened, config)
    folder = Path(out)
    try:
        _begin(Folder(folder), opened, config, method, fixed, precision)
        with given_or_local(executor, workers) as (pool, count):
            engine = {
                "settings": fixed, "precision": precision, "executor": pool, "workers": count,
                "attended": attended,
            }  # fmt: skip
            return _Recursion(opened, config, folder, method, engine, say, minutes).run(protocol)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from error


def check(method: str, data: FactorData, config: RPUConfig) -> None:
    """Refuse methods and data that it cannot work with."""
    if not method_class(method).gaussian:
        raise InputError(f"{label(method)} has no KL to find active latents with; expected a VAE, such as beta_tc_vae")
    if data.weights is not None:
        raise InputError("the data has rows of different weights (correlated); expected rows that all count the same")
    if len(data) < config.reduction.smallest:
        raise InputError(f"the data has {len(data)} images; expected at least {config.reduction.smallest}")


_ENDS = ("generations", "patience", "tolerance")  # rules of a population that decide its length alone


def _begin(
    folder: Folder, data: FactorData, config: RPUConfig, method: str, settings: Mapping[str, Any], precision: str
) -> None:
    """Write what decides the metaEpochs, or check that the folder is for the same."""
    rules = {name: value for name, value in asdict(config).items() if name not in ("leaf_runs", "final")}
    models = {"method": method, "settings": full_settings(method, settings), "data": data.describe()}
    record = json.loads(json.dumps({**models, "precision": precision, **rules}))
    clear_parts(folder.folder)
    refuse_run(folder.folder)
    if folder.path("rpu").exists():
        present, wanted = flat(folder.read_json("rpu")), flat(record)
        ends = [f"{rules}.{name}" for rules in ("population", "leaf") for name in _ENDS]
        names = [name for name in sorted(present.keys() | wanted.keys()) if present.get(name) != wanted.get(name)]
        if differing := [name for name in names if name not in ends]:
            listed = "; ".join(f"{name} is {present.get(name)}, not {wanted.get(name)}" for name in differing)
            raise InputError(f"{folder.folder} holds another rPU-VAE: {listed}; choose another folder")
        return
    folder.folder.mkdir(parents=True, exist_ok=True)
    folder.write_json("rpu", record)


def _set_aside(folder: Path) -> Path:
    """Rename a folder to a name that is free."""
    number = next(number for number in itertools.count(1) if not folder.with_name(f"{folder.name}-{number}").exists())
    return folder.rename(folder.with_name(f"{folder.name}-{number}"))


class _Recursion:
    """One `rpu`: metaEpoch after metaEpoch."""

    def __init__(
        self,
        data: FactorData,
        config: RPUConfig,
        out: Path,
        method: str,
        engine: Mapping[str, Any],
        say: Say,
        minutes: float | None = None,
    ) -> None:
        self.data, self.config, self.out, self.method, self.engine, self.say = data, config, out, method, engine, say
        self.seen: list[MetaEpoch] = []
        self.begun, self.seconds = time.monotonic(), None if minutes is None else 60 * minutes
        self.interrupted = False

    def run(self, protocol: ProtocolLike | None) -> RPU:
        """Algorithm 1."""
        from unbraid.search import lineages  # a second of start-up

        first = self.meta_epoch(0, 1, np.arange(len(self.data)))
        leaves: list[Sequence[MetaEpoch]] = []
        for leaf in range(1, 0 if first.stop else self.config.leaf_runs + 1):
            if self.interrupted or self.over(SHARES[1]):
                break
            leaves.append(self.leaf_run(first, leaf))
        used = [] if first.stop else [first, *(epoch for leaf in leaves for epoch in leaf)]
        labels = labels_frame(self.data, used)
        self.write_csv("labels.csv", labels)
        final = None
        stop = first.stop or (
            "Stopped before the last population, which learns all labels." if self.interrupted else ""
        )
        if used:
            save_figure5(used, self.out / "metaepochs.png")
        if used and not self.interrupted:
            final = self.last(label_sets(len(self.data), first, leaves), protocol)
            lineages.save(final.table, final.out / "population.png", "mig of surrogate labels")
            show(final.best, self.data, self.out)
        return RPU(self.out, self.table(), labels, final, stop, first.history)

    def leaf_run(self, first: MetaEpoch, leaf: int) -> Sequence[MetaEpoch]:
        """Reduce the data, train, label the remaining images, and repeat; gives the metaEpochs whose labels count."""
        epochs: list[MetaEpoch] = []
        before, choice = first, leaf - 1
        while not self.interrupted and not self.over(SHARES[1]):
            reduction = reduce(before.labels, self.config.reduction, choice)
            epoch = MetaEpoch(leaf, before.number + 1, before.rows[reduction.rows], stop=reduction.stop)
            if not (picture := self.out / epoch.name / "reduction.png").exists():
                save_reduction(reduction, before, picture)
            if reduction.stop:
                self.note(epoch)
                return epochs
            epoch = self.meta_epoch(leaf, epoch.number, epoch.rows)
            if epoch.stop:
                return epochs
            epochs.append(epoch)
            before, choice = epoch, 0
        return epochs

    def meta_epoch(self, leaf: int, number: int, rows: Array) -> MetaEpoch:
        """Train a population on these rows, and label them with its best model."""
        epoch = MetaEpoch(leaf, number, rows)
        rules = (self.config.leaf if leaf else None) or self.config.population
        history = self.evolve(
            Subset(self.data, torch.from_numpy(rows)) if leaf else self.data,
            replace(rules, seed=self.seed(number, f"leaf-run {leaf}")),
            f"{epoch.name}/population",
            score="udr",
            protocol=None,
            samples=len(rows),
            latest=True,
            stop_at=self.time_at(SHARES[1] if leaf else SHARES[0]),
        )
        encoded = history.best.representation()
        assert encoded.whole
        assert encoded.logvar is not None
        codes = encoded.codes.numpy()
        kl = mean_kl(codes, encoded.logvar.numpy())
        latents = active_latents(kl, self.config.reduction.active)
        epoch = MetaEpoch(
            leaf, number, rows, history, kl, tuple(latents), codes[:, latents], best_factors(encoded, latents)
        )
        if epoch.udr is not None and epoch.udr < self.config.threshold:
            epoch = replace(epoch, stop=f"the best UDR is {epoch.udr:.3f}, below {self.config.threshold}")
        elif not latents:
            most = f"their largest KL is {kl.max():.3f}, not above {self.config.reduction.active}"
            epoch = replace(epoch, stop=f"no latent is active: {most}")
        self.note(epoch)
        return epoch

    def last(self, sets: Sequence[Array], protocol: ProtocolLike | None) -> History:
        """The last population: its fitness is the median over label sets of MIG."""
        config = replace(self.config.final, seed=self.seed(0, "final"))
        out = f"final{self.config.leaf_runs}"
        options = {"score": "mig", "label_sets": sets, "protocol": protocol, "stop_at": self.time_at(1.0)}
        return self.evolve(self.data, config, out, **options)

    def evolve(self, data: FactorData, config: PopulationConfig, out: str, **options: Any) -> History:
        def run() -> History:
            return evolve(
                self.method, data, config, self.out / out, **options, **self.engine,
                say=lambda line: self.say(f"{out.removesuffix('/population')}: {line}"),
            )  # fmt: skip

        try:
            history = run()
        except OtherPopulationError as error:
            if not {"data.selection", "labels"}.issuperset(error.names):
                raise
            self.say(f"{out} was trained on other labels; set aside as {_set_aside(self.out / out).name}")
            history = run()
        self.interrupted = history.stopped.startswith("stopped")
        return history

    def time_at(self, share: float) -> float | None:
        """When so much of the time is over; None where there is no limit."""
        return None if self.seconds is None else self.begun + share * self.seconds

    def over(self, share: float) -> bool:
        end = self.time_at(share)
        return end is not None and time.monotonic() > end

    def seed(self, number: int, stream: str) -> int:
        return step_seed(self.config.seed, number, stream) % 2**31

    def note(self, epoch: MetaEpoch) -> None:
        """Write down what a metaEpoch has learned."""
        from unbraid.search import lineages  # a second of start-up

        self.seen.append(epoch)
        folder = self.out / epoch.name
        if epoch.history is not None:
            save_labels(epoch, folder / "labels.npz")
            if not (folder / "traversals.png").exists():
                save_traversals(epoch, folder / "traversals.png")
                lineages.save(epoch.history.table, folder / "population.png", "udr")
        self.write_csv("metaepochs.csv", self.table())
        learned = "; ".join(f"latent {z} {note}" for z, note in zip(epoch.latents, epoch.notes, strict=True))
        self.say(f"{epoch.name}: {len(epoch.rows):,} images, {epoch.stop or learned}")

    def table(self) -> pd.DataFrame:
        return pd.DataFrame([epoch.row() for epoch in self.seen])

    def write_csv(self, name: str, table: pd.DataFrame) -> None:
        with replacing(self.out / name) as part:
            table.to_csv(part, index=False)
