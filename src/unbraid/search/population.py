"""Population based training (Jaderberg et al. 2017; population, sections 2.2, 3 and 4).

A population trains its members side by side. After each generation the worst copy weights, optimisers and
hyperparameters of one of the best, and change the hyperparameters they copied. Every generation is a list of jobs whose
results are in the folder, and pure functions of these (`exploit`, `explore`) make the next one: to resume after a kill
is to do the same again and find it done.

The folder holds

    population.json      what decides its history
    population.csv       its history: one row per member and generation
    jobs/, leases/, damaged/   as in a study; every model of every generation is a run
    rows-DIGEST.npy, labels-DIGEST.npz   the rows and the label sets that were passed to `evolve`, if any
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from unbraid.data import FactorData, catalogue
from unbraid.data.atomic import clear_parts, replacing
from unbraid.data.factors import digest
from unbraid.data.wrappers.subset import Subset
from unbraid.errors import InputError, shown
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.engines.local import given_or_local
from unbraid.jobs.job import Job
from unbraid.jobs.schedule import Say
from unbraid.jobs.schedule import run as run_jobs
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train, Trained
from unbraid.methods import GROUP, METHODS, Method, method_class
from unbraid.metrics import ProtocolLike, as_protocol
from unbraid.own import refer, refer_all
from unbraid.runs.folder import Folder, refuse_run
from unbraid.runs.identity import full_settings
from unbraid.runs.recording import check_needs
from unbraid.runs.run import Run
from unbraid.search.fitness import Score, check
from unbraid.search.fitness import label_sets as sets_of
from unbraid.search.history import History, read_history
from unbraid.search.hyperparameters import Hyperparameter
from unbraid.search.members import Fitness, LabelFile
from unbraid.search.rules import Grown, Member, PopulationConfig, converged, first, succeed
from unbraid.search.spaces import check_space, live_settings, search_space
from unbraid.search.speed import duration, images_per_second, population_images
from unbraid.training.loop import step_seed

Array = np.ndarray[Any, Any]
SAMPLES = 256  # images whose codes a member's run keeps; the best model is encoded as any run


def evolve(
    method: str | type[Method],
    data: str | FactorData,
    config: PopulationConfig,
    out: Path | str,
    *,
    score: str | Score = "udr",
    label_sets: Sequence[Array] | None = None,
    settings: Mapping[str, Any] | None = None,
    resolution: int = 64,
    precision: str = "fp32",
    protocol: ProtocolLike | None = "dlib",
    samples: int | None = None,
    latest: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    stop_at: float | None = None,
    attended: bool = False,
    say: Say = lambda line: None,
) -> History:
    """Train a population in the folder `out`; run again with the same arguments, it resumes where it was stopped.

    `data` is a data set's name, data that `unbraid.data.load` has opened, or a `Subset` of such data. `score` says what
    makes a member fit: `udr`, a metric, or a `Score` with its settings. `label_sets` are arrays (rows, k) of labels to
    measure a metric against in place of the factors, NaN where a row has none; the fitness is the median over them.
    `settings` are those of the method that are not searched. `protocol` and `samples` say how the best model is scored
    in the end (None for not at all); with `latest` that is the best of the last generation, not of all. Jobs run on
    the `executor`, at most `workers` at a time; by default on processes of this machine, one per core. No generation
    but the first begins that would not end before `stop_at`, a time of `time.monotonic`. `say` gets a line after each
    generation. Where it is `attended`, a forecast of the time comes first, and Ctrl-C after the first generation ends
    it with the best so far and closes the executor.

    Fewer `generations` than before are a stop, more a continuation.
    """
    if precision not in ("fp32", "bf16"):
        raise InputError(f"precision is {shown(precision)}; expected fp32 or bf16")
    if protocol is not None:
        as_protocol(protocol)  # a wrong one is an error before training, not after
    method = method if method in METHODS else refer(method, GROUP)
    study, fixed = StudyFolder(out), refer_all(dict(settings or {}))
    opened = _reopenable(catalogue.load(data, resolution) if isinstance(data, str) else data, study)
    assert opened.opened is not None
    check_needs(method, method_class(method).needs, opened)
    given = search_space(method, fixed) if config.space is None else config.space
    check_space(method, given, fixed)
    space = {name: given[name] for name in live_settings(method) if name in given}  # draws follow this order
    measure = Score(score) if isinstance(score, str) else score
    labels = None if label_sets is None else _label_file(label_sets, study)
    breeder = Breeder(method, fixed, opened.opened, len(opened), space, config, measure, labels, precision)
    check(measure, sets_of(measure, opened, label_sets, config.seed), breeder.models)
    members = first(space, config, breeder.models)
    try:
        _begin(study, breeder.record(opened))
        _keep(opened, labels, label_sets)
        with given_or_local(executor, workers) as (pool, count):
            loop = _Loop(study, breeder, pool, count, say)
            if attended and not loop.complete:
                say(_forecast(breeder, opened, count))
            done = loop.run(members, stop_at, attended)
            best = loop.finish(protocol, samples, latest)
    except OSError as error:
        raise InputError(f"cannot write to {study.out}: {error.strerror or error}") from error
    return History(study.out, loop.table(), best, done, loop.stopped)


@dataclass(frozen=True)
class Breeder:
    """What all members have in common, and makes the jobs of each."""

    method: str
    settings: Mapping[str, Any]
    """Those that are not searched."""
    data: Mapping[str, Any]
    """The arguments of `catalogue.load`."""
    rows: int
    space: Mapping[str, Hyperparameter]
    config: PopulationConfig
    score: Score
    labels: LabelFile | None
    precision: str

    @property
    def models(self) -> int:
        """How many a member has."""
        return self.config.models or (5 if self.score.metric == "udr" else 1)

    def job(self, member: Member[Train], generation: int) -> Fitness:
        """The job that scores a member after a generation, which needs those that train its models."""
        name = f"generation{generation:02}-member{member.number:02}"
        models = tuple(self._train(member, model, f"{name}-model{model}") for model in range(self.models))
        return Fitness(models, self.score, self.config.seed, self.labels, f"{name}-fitness")

    def _train(self, member: Member[Train], model: int, name: str) -> Train:
        types, start = live_settings(self.method), member.starts[model] if member.starts else None
        settings = {**self.settings, **{one: types[one](value) for one, value in member.hp.items()}}
        batch = int(full_settings(self.method, settings)["batch_size"])
        steps = self.config.steps or math.ceil((self.config.images or max(self.rows, 10_000)) / batch)
        return Train(
            self.method,
            self.data["name"],
            steps=(start.steps if start else 0) + steps,
            seed=step_seed(self.config.seed, member.number * self.models + model, f"try {member.tries[model]}") % 2**31,
            settings=settings,
            resolution=self.data["resolution"],
            data_settings=self.data["settings"],
            precision=self.precision,
            samples=SAMPLES,
            protocol=None,
            start=Trained.of(start) if start else None,
            keep_state=True,
            name=name,
        )

    def record(self, data: FactorData) -> dict[str, Any]:
        """What `population.json` says: all that decides the history, but not its length."""
        settings = full_settings(self.method, self.settings)
        record = {
            "method": self.method,
            **{f"settings.{name}": value for name, value in settings.items() if name not in self.space},
            **{f"data.{name}": value for name, value in data.describe().items()},
            "precision": self.precision,
            **{f"score.{name}": value for name, value in asdict(self.score).items()},
            "labels": self.labels.digest if self.labels else None,
            **{name: value for name, value in asdict(self.config).items() if name not in _ENDS},
            **{f"space.{name}": one.record for name, one in self.space.items()},
        }
        plain: dict[str, Any] = json.loads(json.dumps(record))
        return plain


_ENDS = ("generations", "patience", "tolerance", "space")  # settings that decide its length, and one that is flattened


class _Loop:
    """One `evolve`: generation after generation as lists of jobs."""

    def __init__(self, study: StudyFolder, breeder: Breeder, executor: Executor, workers: int, say: Say) -> None:
        self.study, self.breeder, self.executor, self.workers, self.say = study, breeder, executor, workers, say
        self.history: list[list[Grown[Train]]] = []
        self.bests: list[float] = []
        self.tried: list[list[Train]] = []
        """The models of each generation, those that diverged included."""
        self.seconds: list[float] = []
        """How long each generation took that this process ran."""
        self.stopped = ""
        """Why it ended early, if it did."""
        self.interrupted = False
        """Whether that was by hand: the executor is then closed."""

    @property
    def complete(self) -> bool:
        """Whether the folder holds all generations already."""
        path = self.study.out / "population.csv"
        return (
            path.exists()
            and int(read_history(self.study.out)["generation"].max()) + 1 >= self.breeder.config.generations
        )

    def run(self, members: Sequence[Member[Train]], stop_at: float | None, attended: bool) -> bool:
        """Run all generations; gives whether they stopped because the best score no longer moved."""
        config, bests = self.breeder.config, self.bests
        for generation in range(config.generations):
            if generation:
                members = succeed(self.history[-1], generation, self.breeder.space, config)
                if stop_at is not None and time.monotonic() + float(np.mean(self.seconds or [0.0])) > stop_at:
                    self.stopped = f"the time was over after {generation} of {config.generations} generations"
                    return False
            begun = time.monotonic()
            try:
                grown, ran = self._generation(members, generation)
            except KeyboardInterrupt:
                if not self.history or not attended:
                    raise
                self.executor.shutdown(cancel_futures=True)
                self.stopped, self.interrupted = f"stopped after {generation} of {config.generations} generations", True
                self.say(f"{self.stopped}; keeping the best so far")
                return False
            self.history.append(grown)
            bests.append(max((one.score for one in grown if not math.isnan(one.score)), default=math.nan))
            if math.isnan(bests[-1]):
                raise InputError(f"every member diverged in generation {generation + 1}; try smaller learning rates")
            if ran:
                self.seconds.append(time.monotonic() - begun)
                self.say(self._summary())
            with replacing(self.study.out / "population.csv") as part:
                self.table().to_csv(part, index=False)
            for model in self.tried[-3] if generation > 1 else []:  # no job needs its state any more
                Run(self.study.folder(model)).drop_state()
            if converged(bests, config.patience, config.tolerance):
                return True
        return False

    def _generation(self, members: Sequence[Member[Train]], generation: int) -> tuple[list[Grown[Train]], bool]:
        """A generation, and whether any of it had to be run. Models that diverge are tried again with other seeds."""
        grown, ran = dict[int, Grown[Train]](), False
        label = f"generation {generation + 1} of {self.breeder.config.generations}"
        label += f", best {self.bests[-1]:.3f}" if generation else ""
        self.tried.append([])
        for _ in range(self.breeder.config.attempts):
            jobs = [self.breeder.job(member, generation) for member in members]
            ran |= self._do(jobs, [model for member in members for model in member.starts], label)
            again = []
            for member, job in zip(members, jobs, strict=True):
                fitness = Folder(self.study.folder(job)).read_json("fitness")
                score = math.nan if fitness["diverged"] else float(fitness["score"])
                grown[member.number] = Grown(member, job.models, score, tuple(fitness["scores"] or ()))
                self.tried[-1] += job.models
                if fitness["diverged"]:
                    tries = tuple(count + (model in fitness["diverged"]) for model, count in enumerate(member.tries))
                    again.append(replace(member, tries=tries))
            members = again
            if not members:
                break
        return [grown[number] for number in sorted(grown)], ran

    def _do(self, jobs: Sequence[Job], before: Sequence[Job], label: str) -> bool:
        """Run what is missing of the jobs, and of those `before` that they start with; whether any was missing."""
        missing = [job for job in jobs if not self._intact(job)]
        if not missing:
            return False
        plan = [*(job for job in before if not self._intact(job)), *missing]
        executor = InlineExecutor() if self.interrupted else self.executor
        run_jobs(plan, self.study.out, executor=executor, workers=self.workers, retry=True, label=label, say=self.say)
        for job in (other for one in missing for other in (*one.needs, one)):
            if self.study.state(job) not in ("done", "diverged"):
                reason = " ".join(str(self.study.status(job).get("reason")).split())
                raise InputError(f"{job.label} failed: {reason}; run again to try once more")
        return True

    def _intact(self, job: Job) -> bool:
        return self.study.state(job) == "done" and not self.study.faults(job)

    def finish(self, protocol: ProtocolLike | None, samples: int | None, latest: bool) -> Run:
        """Encode and score the best model, which is trained already, in a run of its own."""
        among = self.history[-1:] if latest else self.history
        scored = [one for grown in among for one in grown if not math.isnan(one.score)]
        best = max(scored, key=lambda one: one.score)
        winner = best.models[best.best]
        job = replace(winner, start=Trained.of(winner), name="best", samples=samples, protocol=protocol)
        self._do([job], [winner], "the best")
        return Run(self.study.folder(job))

    def table(self) -> pd.DataFrame:
        rows = [self._row(generation, one) for generation, grown in enumerate(self.history) for one in grown]
        return pd.DataFrame(rows).astype({"parent": "Int64", "model": "Int64"})

    def _row(self, generation: int, one: Grown[Train]) -> dict[str, Any]:
        best = None if math.isnan(one.score) else one.best
        return {
            "generation": generation,
            "member": one.member.number,
            "parent": one.member.parent,
            "score": one.score,
            **one.member.hp,
            "steps": one.models[0].steps,
            "images": sum(model.images for model in one.models),
            "tries": sum(one.member.tries),
            "model": best,
            "run": None if best is None else f"jobs/{self.study.folder(one.models[best]).name}",
        }

    def _summary(self) -> str:
        """Generation, best, median, the spread of hyperparameters, and the time remaining."""
        grown, total = self.history[-1], self.breeder.config.generations
        scores = np.array([one.score for one in grown])
        diverged = int(np.isnan(scores).sum())
        spread = {name: [one.member.hp[name] for one in grown] for name in self.breeder.space}
        remaining = timedelta(seconds=round(float(np.mean(self.seconds)) * (total - len(self.history))))
        parts = [
            f"generation {len(self.history)} of {total}: best {np.nanmax(scores):.4f}",
            f"median {np.nanmedian(scores):.4f}",
            *([f"{diverged} diverged"] if diverged else []),
            *(f"{name} {min(values):.3g} to {max(values):.3g}" for name, values in spread.items()),
            *([f"about {remaining} remaining"] if remaining else []),
        ]
        return ", ".join(parts)


def _forecast(breeder: Breeder, data: FactorData, workers: int) -> str:
    """How long the population will take, from a few steps taken now."""
    config, models = breeder.config, breeder.models
    speed = workers * images_per_second(breeder.method, data, breeder.settings)
    images = population_images(config, models, breeder.rows)
    return (
        f"at most {duration(images / speed)}: {config.generations} generations of {config.size} members with {models} "
        f"model{'s' if models > 1 else ''} each, {images:,} images in all, {speed:,.0f} a second on {workers} workers. "
        "Ctrl-C stops it with the best so far"
    )


def _reopenable(data: FactorData, study: StudyFolder) -> FactorData:
    """Data that workers can open by name; a Subset by a file of its rows."""
    if data.opened is not None:
        return data
    rows, whole = torch.arange(len(data)), data
    while isinstance(whole, Subset):
        rows, whole = whole.rows[rows], whole.data
    wrapped = {name for wrapper in catalogue.WRAPPERS for name in wrapper.help}
    if whole.opened is None or whole.weights is not None or wrapped & whole.opened["settings"].keys():
        raise InputError("workers open the data by name; expected data from unbraid.data.load, or a Subset of it")
    subset, file = Subset(whole, rows), study.out.absolute() / f"rows-{digest(rows)}.npy"
    subset.opened = {**whole.opened, "settings": {**whole.opened["settings"], "row_file": str(file)}}
    return subset


def _label_file(sets: Sequence[Array], study: StudyFolder) -> LabelFile:
    content = digest(*(torch.from_numpy(np.ascontiguousarray(one)) for one in sets))
    return LabelFile(study.out.absolute() / f"labels-{content}.npz", content)


class OtherPopulationError(InputError):
    """A folder holds a population that differs in the settings `names`."""

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message)
        self.names = tuple(names)


def _begin(study: StudyFolder, record: Mapping[str, Any]) -> None:
    """Write what the population is, or check that the folder holds the same one."""
    folder = Folder(study.out)
    refuse_run(study.out)
    clear_parts(study.out)
    if folder.path("population").exists():
        present = folder.read_json("population")
        names = [name for name in sorted(present.keys() | record.keys()) if present.get(name) != record.get(name)]
        if names:
            differences = "; ".join(f"{name} is {present.get(name)}, not {record.get(name)}" for name in names)
            raise OtherPopulationError(f"{study.out} holds another population: {differences}", names)
        return
    study.out.mkdir(parents=True, exist_ok=True)
    folder.write_json("population", record)


def _keep(data: FactorData, labels: LabelFile | None, sets: Sequence[Array] | None) -> None:
    """Write the files of rows and labels that are missing."""
    assert data.opened is not None
    row_file = data.opened["settings"].get("row_file")
    if row_file and isinstance(data, Subset) and not Path(row_file).exists():
        with replacing(Path(row_file)) as part, part.open("wb") as file:
            np.save(file, data.rows.numpy())
    if labels is not None and sets is not None and not labels.path.exists():
        arrays: dict[str, Any] = {f"set{number}": np.asarray(one) for number, one in enumerate(sets)}
        with replacing(labels.path) as part, part.open("wb") as file:
            np.savez(file, **arrays)
