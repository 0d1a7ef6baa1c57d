"""Factors of pictures without labels, in a given time: a few models side by side, and what they agree on.

Models of a few strengths, two seeds of each, are trained in stages. After each stage those strengths continue whose
models agree best (successive halving, at equal steps), and in the end one strength has most of the time. A factor is a
latent of the best model that the other models have found too. Stages are jobs: what was stopped resumes, with the same
time or with more.

The folder holds

    discovery.json   what it is about, the stages so far and the seconds used
    jobs/, leases/   as in a study; every model after every stage is a run
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.arguments import need_number
from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.jobs.engines.local import given_or_local
from unbraid.jobs.schedule import Say
from unbraid.jobs.schedule import run as run_jobs
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train, Trained
from unbraid.methods import build
from unbraid.methods.gaussian import kl_per_latent
from unbraid.runs.folder import Folder, refuse_run
from unbraid.runs.run import Run
from unbraid.training.loop import train
from unbraid.training.representation import represent

Array = np.ndarray[Any, Any]
STRENGTHS = (2.0, 4.0, 8.0, 16.0)
"""β of β-TCVAE, for images of 64x64; smaller ones count each pixel as many times as are missing."""
SEEDS = 2
ACTIVE = 0.1  # nats of mean KL from which a latent says something
TRUSTED = 0.6  # rank correlation with a latent of most other models from which a latent is a factor
COMPARED = 2_000  # pictures on which models are compared
NARROW = (0.3, 0.6)  # shares of the time after which half of the strengths, and then one, continue
LONGEST, SHORTEST = 180.0, 40.0  # seconds of a stage
BESIDE = 1.25  # how much slower a step is beside other workers and with all that a job costs besides
PAGE = 20.0  # seconds kept for the results
FEW = 500  # pictures below which there are few
STILL = 0.02  # of the loss: a model that improved by more is not trained to the end


@dataclass(frozen=True)
class Setup:
    """What all models have in common."""

    data: Mapping[str, Any]
    """The arguments of `catalogue.load`."""
    settings: Mapping[str, Any]
    method: str = "beta_tc_vae"
    strengths: tuple[float, ...] = STRENGTHS
    seeds: int = SEEDS

    @property
    def members(self) -> list[Member]:
        return [Member(strength, seed) for strength in self.strengths for seed in range(self.seeds)]

    def record(self, data: FactorData) -> dict[str, Any]:
        """What decides the results, but not how far they are."""
        return {
            "data": dict(data.describe()), "settings": dict(self.settings), "method": self.method,
            "strengths": list(self.strengths), "seeds": self.seeds,
        }  # fmt: skip


@dataclass(frozen=True, order=True)
class Member:
    """A strength and a seed."""

    strength: float
    seed: int


@dataclass(frozen=True)
class Stage:
    """The members that train on, and how many steps they have taken when it is over."""

    steps: int
    members: tuple[Member, ...]

    @property
    def record(self) -> dict[str, Any]:
        return {"steps": self.steps, "members": [[member.strength, member.seed] for member in self.members]}

    @classmethod
    def read(cls, record: Any) -> Stage:
        return cls(
            int(record["steps"]), tuple(Member(float(strength), int(seed)) for strength, seed in record["members"])
        )


@dataclass(frozen=True)
class Model:
    """What is known of a trained member: its codes of the pictures that are compared, and the KL of each latent."""

    member: Member
    run: Run
    codes: Array
    kl: Array

    @property
    def steps(self) -> int:
        return self.run.config.steps

    @property
    def active(self) -> Array:
        """The latents that say something, most first."""
        order = np.argsort(-self.kl, kind="stable")
        return order[self.kl[order] > ACTIVE]


@dataclass(frozen=True)
class Factor:
    """A latent of the best model."""

    latent: int
    kl: float
    trust: float
    """The median over the other models of its rank correlation with the latent there that is most like it."""

    @property
    def trusted(self) -> bool:
        return self.trust >= TRUSTED


@dataclass(frozen=True)
class Discovery:
    """The best model so far and its active latents, most trusted first."""

    run: Run
    member: Member
    factors: list[Factor]
    models: int
    """How many were trained."""
    steps: int
    improving: float
    """The share by which the last third of its training lowered the best model's loss."""
    seconds: float
    pictures: int

    @property
    def trusted(self) -> list[Factor]:
        return [factor for factor in self.factors if factor.trusted]

    def advice(self) -> list[str]:
        """What stands against the result, and what to do about it."""
        found = []
        if not self.trusted:
            found.append("No factor was found that the models agree on: what follows are the best model's own latents.")
        if self.improving > STILL:
            share = f"{self.improving:.0%}"
            found.append(f"The loss still fell by {share} in the last third of the training: give it more minutes.")
        if self.pictures < FEW:
            found.append(f"{self.pictures:,} pictures are few: with some thousands, models agree better.")
        if self.models < 3:
            found.append("Fewer than three models are trained: their agreement says little yet.")
        doubtful = len(self.factors) - len(self.trusted)
        if self.trusted and doubtful:
            found.append(f"{doubtful} more of the model's latents say something that other models do not confirm.")
        return found


def agreement(models: Sequence[Model]) -> Array:
    """How many factors each model shares with the others: (m,).

    The sum over its active latents of max²/sum, over the latents of another model, of absolute rank correlations; the
    median over the other models. It is UDR without its last mean: a model that has found one factor and agrees about it
    does not outrank one that has found four.
    """
    shared = [
        [float(_one_to_one(_correlations(one, other)).sum()) for other in models if other is not one] for one in models
    ]
    return np.array([np.median(row) if row else 0.0 for row in shared])


def trust(model: Model, others: Sequence[Model]) -> list[Factor]:
    """The active latents of a model, most trusted first."""
    best = [np.abs(_correlations(model, other)).max(1, initial=0.0) for other in others]
    medians = np.median(best, 0) if best else np.zeros(len(model.active))
    factors = [Factor(int(z), float(model.kl[z]), float(value)) for z, value in zip(model.active, medians, strict=True)]
    return sorted(factors, key=lambda factor: -factor.trust)


def _correlations(left: Model, right: Model) -> Array:
    """Absolute rank correlations of active latents: (left, right)."""
    from scipy.stats import rankdata

    ranks = [rankdata(one.codes[:, one.active], axis=0) for one in (left, right)]
    scaled = [(table - table.mean(0)) / np.maximum(table.std(0), 1e-12) for table in ranks]
    return np.asarray(np.abs(scaled[0].T @ scaled[1]) / len(left.codes))


def _one_to_one(matrix: Array) -> Array:
    """max²/sum of each row; 0 of a row without any correlation."""
    if not matrix.shape[1]:
        return np.zeros(len(matrix))
    total = matrix.sum(1)
    return np.asarray(np.divide(matrix.max(1) ** 2, total, out=np.zeros_like(total), where=total > 0))


def measure_speed(setup: Setup, data: FactorData, seconds: float = 2.0) -> float:
    """Seconds that a step takes on this machine as busy as it is, from a few steps taken now."""
    method = build(setup.method, data, {**setup.settings, "beta": setup.strengths[0]})
    steps = train(method, data, steps=10**6, seed=0, every=5)
    next(steps)
    begun, first = time.monotonic(), method.steps
    while time.monotonic() - begun < seconds:
        next(steps)
    return (time.monotonic() - begun) / (method.steps - first)


class Search:
    """A discovery in a folder: `run` trains, `result` says what was found so far."""

    def __init__(self, setup: Setup, data: FactorData, out: Path | str, say: Say = lambda line: None) -> None:
        self.setup, self.data, self.say = setup, data, say
        self.study = StudyFolder(out)
        self.stages: list[Stage] = []
        self.seconds = 0.0
        self._begin()

    def _begin(self) -> None:
        folder, record = Folder(self.study.out), self.setup.record(self.data)
        refuse_run(self.study.out)
        if not folder.path("discovery").exists():
            self.study.out.mkdir(parents=True, exist_ok=True)
            self._save()
            return
        present = folder.read_json("discovery")
        if (before := present.get("about")) != record:
            names = [name for name in record if not isinstance(before, dict) or before.get(name) != record[name]]
            raise InputError(
                f"{self.study.out} holds another discovery: {', '.join(names)} differ; choose another --out"
            )
        try:
            self.stages = [Stage.read(stage) for stage in present["stages"]]
            self.seconds = float(present["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{folder.path('discovery')} cannot be read as a discovery: {error}") from error

    def _save(self) -> None:
        record = {
            "about": self.setup.record(self.data), "stages": [stage.record for stage in self.stages],
            "seconds": round(self.seconds, 1),
        }  # fmt: skip
        Folder(self.study.out).write_json("discovery", record)

    def run(self, minutes: float, executor: Executor | None = None, workers: int | None = None) -> None:
        """Train until so many minutes are used, those of earlier calls included. A stopped stage comes first."""
        budget = 60 * need_number("minutes", minutes, 0) - PAGE
        with given_or_local(executor, workers) as (pool, count):
            if self.stages and self._missing(self.stages[-1]):
                self._train(self.stages[-1], pool, count)
            cost = BESIDE * measure_speed(self.setup, self.data)
            while (stage := self._next(budget, cost, count)) is not None:
                self.stages.append(stage)
                self._save()
                cost = self._train(stage, pool, count) or cost

    def _next(self, budget: float, cost: float, workers: int) -> Stage | None:
        """The next stage, or None when there is no time for one."""
        remaining = budget - self.seconds
        if remaining < min(SHORTEST, 0.1 * budget) and self.stages:
            return None
        members = self._continuing(self.seconds / budget)
        seconds = min(max(SHORTEST, min(LONGEST, 0.12 * budget)), max(remaining, 5.0))
        if remaining - seconds < SHORTEST:
            seconds = max(remaining, 5.0)  # the last
        rounds = math.ceil(len(members) / workers)
        steps = max(20, int(seconds / (rounds * cost)))
        return Stage((self.stages[-1].steps if self.stages else 0) + steps, members)

    def _continuing(self, used: float) -> tuple[Member, ...]:
        """The members of the next stage: all, those of the better half of the strengths, or of the best."""
        if not self.stages:
            return tuple(self.setup.members)
        before = self.stages[-1].members
        strengths = sorted({member.strength for member in before})
        wanted = len(self.setup.strengths)
        for share in NARROW:
            wanted = math.ceil(wanted / 2) if used >= share else wanted
        if len(strengths) <= wanted:
            return before
        models = [model for model in self.latest() if model.member in before]
        shared = _by_strength(models, strengths)
        kept = sorted(strengths, key=lambda strength: -shared[strength])[:wanted]
        listed = ", ".join(f"{shared[strength]:.1f} at β {strength:g}" for strength in strengths)
        self.say(f"factors that models agree on: {listed}; β {', '.join(f'{one:g}' for one in sorted(kept))} continues")
        return tuple(member for member in before if member.strength in kept)

    def job(self, member: Member, stage: int) -> Train:
        """The job that trains a member up to the end of a stage."""
        start = self.job(member, stage - 1) if stage else None
        return Train(
            self.setup.method,
            self.setup.data["name"],
            steps=self.stages[stage].steps,
            seed=member.seed,
            settings={**self.setup.settings, "beta": member.strength},
            resolution=self.setup.data["resolution"],
            data_settings=self.setup.data["settings"],
            samples=COMPARED,
            protocol=None,
            start=Trained.of(start) if start else None,
            keep_state=True,
            name=f"stage{stage + 1:02}-beta{member.strength:g}-seed{member.seed}",
        )

    def _missing(self, stage: Stage) -> bool:
        return any(not self._done(job) for job in self._jobs(stage))

    def _jobs(self, stage: Stage) -> list[Train]:
        return [self.job(member, self.stages.index(stage)) for member in stage.members]

    def _done(self, job: Train) -> bool:
        return self.study.state(job) in ("done", "diverged")

    def _train(self, stage: Stage, executor: Executor, workers: int) -> float | None:
        """Run a stage; gives the seconds per step of one worker, or None where there was nothing to do."""
        jobs = [job for job in self._jobs(stage) if not self._done(job)]
        if not jobs:
            return None
        number = self.stages.index(stage)
        label = f"stage {number + 1}: {len(stage.members)} models to {stage.steps:,} steps"
        begun, before = time.monotonic(), self.seconds
        try:
            run_jobs(jobs, self.study.out, executor=executor, workers=workers, retry=True, label=label, say=self.say)
        finally:
            self.seconds = before + time.monotonic() - begun
            self._save()
        for job in jobs:
            if not self._done(job):
                raise InputError(
                    f"{job.label} failed: {self.study.status(job).get('reason')}; run again to try once more"
                )
        for old in self._jobs(self.stages[number - 2]) if number > 1 else []:  # no job needs its state any more
            Run(self.study.folder(old)).drop_state()
        steps = stage.steps - (self.stages[number - 1].steps if number else 0)
        return (time.monotonic() - begun) / (math.ceil(len(jobs) / workers) * steps)

    def latest(self) -> list[Model]:
        """Every member as far as it is trained; those in which no latent says anything are left out."""
        jobs: dict[Member, Train] = {}
        for place, stage in enumerate(self.stages):
            trained = {member: self.job(member, place) for member in stage.members}
            jobs |= {member: job for member, job in trained.items() if self.study.state(job) == "done"}
        models = [self._model(member, Run(self.study.folder(job))) for member, job in jobs.items()]
        return [model for model in models if len(model.active)]

    def _model(self, member: Member, run: Run) -> Model:
        found = represent(run.method(), self.data, 0, samples=COMPARED)
        assert found.logvar is not None
        return Model(member, run, found.codes.numpy(), kl_per_latent(found.codes, found.logvar).mean(0).numpy())

    def result(self) -> Discovery | None:
        """What was found so far; None where no model is trained or none has learned anything."""
        models = self.latest()
        if not models:
            return None
        longest = max(model.steps for model in models)
        scores = agreement(models)
        best = max(
            (place for place, model in enumerate(models) if model.steps == longest), key=lambda place: scores[place]
        )
        others = [model for place, model in enumerate(models) if place != best]
        return Discovery(
            models[best].run, models[best].member, trust(models[best], others), len(models), longest,
            _improving(models[best].run), self.seconds, len(self.data),
        )  # fmt: skip


def _by_strength(models: Sequence[Model], strengths: Sequence[float]) -> dict[float, float]:
    """The mean agreement of the models of each strength; 0 where none of them is alive."""
    scores = agreement(models)
    members = [model.member.strength for model in models]
    return {
        strength: float(
            np.mean([score for score, own in zip(scores, members, strict=True) if own == strength] or [0.0])
        )
        for strength in strengths
    }


def _improving(run: Run) -> float:
    """The share by which the last third of a run's log lowered the loss; NaN where the log is short."""
    losses = run.log["loss"].to_numpy(dtype=float)
    third = len(losses) // 3
    if third < 2:
        return math.nan
    before, after = losses[-2 * third : -third].mean(), losses[-third:].mean()
    return float((before - after) / abs(before)) if before else 0.0
