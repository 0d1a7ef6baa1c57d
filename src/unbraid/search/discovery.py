"""Factors of pictures without labels, in a given time: a few models side by side, and what they agree on.

Models of a few strengths, two seeds of each, are trained in stages. Those that agree best with others continue
(successive halving, at equal steps), and the last two have more than half of the time. Each model is seen along its own
axes or along independent ones, whichever others agree with more. A factor is a latent of the best model that other
models have found too. Stages are jobs: what was stopped resumes, with the same time or with more.

The folder holds

    discovery.json   what it is about, the stages so far and the seconds used
    jobs/, leases/   as in a study; every model after every stage is a run
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid.arguments import need_number
from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.jobs.engines.local import given_or_local
from unbraid.jobs.schedule import Say
from unbraid.jobs.schedule import run as run_jobs
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train, Trained
from unbraid.methods import Method
from unbraid.methods.gaussian import kl_per_latent
from unbraid.runs.folder import Folder, refuse_run
from unbraid.runs.run import Run
from unbraid.search.axes import Axes, independent_axes, turned
from unbraid.search.judgement import improvement
from unbraid.search.shared_factors import Array, Factor, Member, Model, agreement, along_shared_axes, trust
from unbraid.search.speed import BESIDE, duration, seconds_per_step
from unbraid.training.representation import represent

STRENGTHS = (2.0, 4.0, 8.0, 16.0)
"""β of β-TCVAE, for pictures that are worth GAIN."""
SEEDS = 2
GAIN = 1_000.0  # nats by which perfect reconstructions are better than the mean picture
HEAVIEST = 50.0  # weight of a pixel: pictures that hardly differ are not magnified without end
LEARNING_RATE = 2e-3
RATES = ((0.0, 1.0), (0.45, 0.5), (0.75, 0.25))  # from which share of the time on, which share of the learning rate
COMPARED = 2_000  # pictures on which models are compared
NARROW = (0.2, 0.45)  # shares of the time after which half of the models, and then a quarter, continue
LONGEST, SHORTEST = 150.0, 30.0  # seconds of a stage
START = 8.0  # seconds in which workers start
PAGE = 20.0  # seconds kept for the results
FEW = 500  # pictures below which there are few
TRAINED = 500  # steps below which a model is no result
YOUNG = 2_000  # steps below which a model is hardly trained
STILL = 5.0  # nats: a model that improved by more is not trained to the end


def model_settings(
    data: FactorData, network: str = "patches", latents: int = 10, learning_rate: float = LEARNING_RATE
) -> dict[str, Any]:
    """Settings of β-TCVAE for these pictures, whatever their contrast and size."""
    rows = torch.linspace(0, len(data) - 1, min(len(data), COMPARED)).long()
    weight = pixel_weight(data.images_at(rows))
    return {"network": network, "latents": latents, "learning_rate": learning_rate, "pixel_weight": weight}


def pixel_weight(images: Tensor) -> float:
    """How much a pixel must count for pictures to be worth GAIN, so that a strength means the same for all of them.

    `images` are uint8 (n, C, H, W). With Bernoulli pixels, knowing a picture saves the entropy of the mean picture less
    its own.
    """
    pixels = images.double() / 255
    gain = float((_entropy(pixels.mean(0)) - _entropy(pixels).mean(0)).sum())
    return round(min(HEAVIEST, GAIN / max(gain, 1e-9)), 4)


def _entropy(p: Tensor) -> Tensor:
    """Of Bernoulli pixels, in nats."""
    return -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p))


@dataclass(frozen=True)
class Setup:
    """What all models have in common."""

    data: Mapping[str, Any]
    """The arguments of `catalogue.load`."""
    settings: Mapping[str, Any]
    method: str = "beta_tc_vae"
    strengths: tuple[float, ...] = STRENGTHS
    seeds: int = SEEDS
    trained: int = field(default_factory=lambda: TRAINED)
    """Steps from which a model counts."""

    @property
    def members(self) -> list[Member]:
        return [Member(strength, seed) for strength in self.strengths for seed in range(self.seeds)]

    def record(self, data: FactorData) -> dict[str, Any]:
        """What decides the results, but not how far they are."""
        return {
            "data": dict(data.describe()), "settings": dict(self.settings), "method": self.method,
            "strengths": list(self.strengths), "seeds": self.seeds,
        }  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """The members that train on, how many steps they have taken when it is over, and at which learning rate."""

    steps: int
    members: tuple[Member, ...]
    rate: float

    @property
    def record(self) -> dict[str, Any]:
        members = [[member.strength, member.seed] for member in self.members]
        return {"steps": self.steps, "members": members, "rate": self.rate}

    @classmethod
    def read(cls, record: Any) -> Stage:
        members = tuple(Member(float(strength), int(seed)) for strength, seed in record["members"])
        return cls(int(record["steps"]), members, float(record["rate"]))


@dataclass(frozen=True)
class Pace:
    """How fast stages go."""

    step: float
    """Seconds of a step of one worker."""
    overhead: float
    """Seconds of a stage beside its steps."""
    workers: int

    def steps(self, seconds: float, members: int) -> int:
        """The steps that so many members can take, one worker each, in a stage of this length."""
        rounds = math.ceil(members / self.workers)
        return max(20, int((seconds - self.overhead) / (rounds * self.step)))


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
    """Nats by which the last third of its training lowered the best model's loss."""
    seconds: float
    pictures: int
    axes: Axes | None = None
    """Those of the factors, where they are not the model's own."""

    def method(self) -> Method:
        """The best model, along the axes of the factors."""
        method = self.run.method()
        if self.axes is None:
            return method
        result = turned(method, self.axes)
        assert result is not None, "such axes are not chosen"
        return result

    @property
    def trusted(self) -> list[Factor]:
        return [factor for factor in self.factors if factor.trusted]

    def advice(self) -> list[str]:
        """What stands against the result, and what to do about it."""
        advice = []
        if not self.trusted:
            advice.append("The models agree on no factor: the page shows the best model's own latents.")
        if self.steps < YOUNG:
            advice.append(f"The best model has taken only {self.steps:,} steps: give it more minutes.")
        elif self.improving > STILL:
            advice.append(
                f"The loss still fell by {self.improving:.0f} nats in the last third of the training: give it more "
                "minutes."
            )
        if self.pictures < FEW:
            advice.append(f"{self.pictures:,} pictures are few: with some thousands, models agree better.")
        if self.models < 3:
            advice.append("Fewer than three models have learned something: their agreement says little yet.")
        if mixed := [factor for factor in self.trusted if not factor.alone]:
            advice.append(
                f"{len(mixed)} factor{'s are' if len(mixed) > 1 else ' is'} confirmed only as a mixture: other models "
                "spread the same over several latents, as for a hue that goes all the way round."
            )
        doubtful = len(self.factors) - len(self.trusted)
        if self.trusted and doubtful:
            more = "1 more latent is active, but other models do not confirm it."
            several = f"{doubtful} more latents are active, but other models do not confirm them."
            advice.append(more if doubtful == 1 else several)
        return advice


class Search:
    """A discovery in a folder: `run` trains, `result` says what was found so far."""

    def __init__(
        self,
        setup: Setup,
        data: FactorData,
        out: Path | str,
        say: Say = lambda line: None,
        loading: float = 0.0,
    ) -> None:
        """`loading` is how many seconds it took to open the data: they count, and each worker needs them once."""
        self.setup, self.data, self.say, self.loading = setup, data, say, loading
        self.study = StudyFolder(out)
        self.stages: list[Stage] = []
        self._made: dict[tuple[Member, int], Train] = {}
        self._seen: dict[Path, list[Model]] = {}
        self.seconds = self.budget = 0.0
        self._begin()
        self.seconds += loading

    def _begin(self) -> None:
        folder, record = Folder(self.study.out), self.setup.record(self.data)
        refuse_run(self.study.out)
        if not folder.path("discovery").exists():
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
        self.study.out.mkdir(parents=True, exist_ok=True)
        Folder(self.study.out).write_json("discovery", record)

    def measure(self, workers: int) -> Pace:
        """How fast stages will go, from a few steps taken now."""
        begun = time.monotonic()
        settings = {**self.setup.settings, "beta": self.setup.strengths[0]}
        step = BESIDE * seconds_per_step(self.setup.method, self.data, settings)
        self.seconds += time.monotonic() - begun
        return Pace(step, START + self.loading, workers)

    def forecast(self, minutes: float, pace: Pace) -> int:
        """The steps of the best model when the time is over."""
        budget, used, steps = _budget(minutes), self.seconds, self.stages[-1].steps if self.stages else 0
        while (seconds := stage_seconds(used, budget, first=not steps)) is not None:
            kept = members_at(used / budget, len(self.setup.members), pace.workers)
            steps, used = steps + pace.steps(seconds, kept), used + seconds
        return steps

    def run(
        self, minutes: float, executor: Executor | None = None, workers: int | None = None, pace: Pace | None = None
    ) -> None:
        """Train until so many minutes are used, those of earlier calls included. A stopped stage comes first."""
        self.budget = budget = _budget(need_number("minutes", minutes, 0))
        with given_or_local(executor, workers) as (pool, count):
            pace = pace or self.measure(count)
            if self.stages and self._missing(self.stages[-1]):
                pace = self._train(self.stages[-1], pool, pace)
            while (stage := self._timed_next(budget, pace)) is not None:
                self.stages.append(stage)
                self._save()
                pace = self._train(stage, pool, pace)

    def _timed_next(self, budget: float, pace: Pace) -> Stage | None:
        """`_next`; comparing models takes time too."""
        begun = time.monotonic()
        stage = self._next(budget, pace)
        self.seconds += time.monotonic() - begun
        return stage

    def _next(self, budget: float, pace: Pace) -> Stage | None:
        """The next stage, or None when there is no time for one, or nothing to train."""
        seconds = stage_seconds(self.seconds, budget, first=not self.stages)
        if seconds is None:
            return None
        used = self.seconds / budget
        members = self._continuing(members_at(used, len(self.setup.members), pace.workers))
        if not members:
            raise InputError("every model diverged; choose another --out and a smaller --learning-rate")
        share = next(share for start, share in reversed(RATES) if used >= start)
        before = self.stages[-1].steps if self.stages else 0
        rate = float(self.setup.settings["learning_rate"]) * share
        return Stage(before + pace.steps(seconds, len(members)), members, rate)

    def _continuing(self, wanted: int) -> tuple[Member, ...]:
        """The members of the next stage: as many as wanted that share most factors with others, no diverged ones."""
        if not self.stages:
            return tuple(self.setup.members)
        last = len(self.stages) - 1
        before = tuple(one for one in self.stages[-1].members if self.study.state(self.job(one, last)) == "done")
        if len(before) <= wanted:
            return before
        models = [model for model in self.latest() if model.member in before]
        if len(models) < wanted:
            return before
        shared = dict(zip((model.member for model in models), agreement(models), strict=True))
        kept = sorted(shared, key=lambda member: -shared[member])[:wanted]
        listed = ", ".join(f"{shared[member]:.1f} (β {member.strength:g})" for member in sorted(shared))
        best = ", ".join(f"{member.strength:g}" for member in sorted(kept))
        self.say(f"factors that models share: {listed}; those with β {best} continue")
        return tuple(member for member in before if member in kept)

    def job(self, member: Member, stage: int) -> Train:
        """The job that trains a member up to the end of a stage; made once, since its id reads all pictures' dates."""
        if (member, stage) not in self._made:
            self._made[member, stage] = self._make(member, stage)
        return self._made[member, stage]

    def _make(self, member: Member, stage: int) -> Train:
        start = self.job(member, stage - 1) if stage else None
        return Train(
            self.setup.method,
            self.setup.data["name"],
            steps=self.stages[stage].steps,
            seed=self.setup.members.index(member),  # no two share weights or batches: they would agree by that alone
            settings={**self.setup.settings, "beta": member.strength, "learning_rate": self.stages[stage].rate},
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

    def _train(self, stage: Stage, executor: Executor, pace: Pace) -> Pace:
        """Run what is missing of a stage; gives the pace that it showed."""
        jobs = [job for job in self._jobs(stage) if not self._done(job)]
        number = self.stages.index(stage)
        end = f" ({duration(self.budget - self.seconds)} to the end)" if self.budget > self.seconds else ""
        label = f"stage {number + 1}{end}: {len(stage.members)} models to {stage.steps:,} steps"
        begun, before = time.monotonic(), self.seconds
        try:
            run_jobs(
                jobs, self.study.out, executor=executor, workers=pace.workers, retry=True, label=label, say=self.say
            )
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
        return self._pace(jobs, time.monotonic() - begun, pace)

    def _pace(self, jobs: Sequence[Train], seconds: float, before: Pace) -> Pace:
        """The pace of jobs that took so many seconds together."""
        own = [float(self.study.status(job).get("seconds", 0.0)) for job in jobs if self.study.state(job) == "done"]
        if not own or not sum(own):
            return before
        step = sum(own) / sum(job.new_steps for job in jobs if self.study.state(job) == "done")
        rounds = math.ceil(len(jobs) / before.workers)
        return Pace(step, max(0.0, seconds - rounds * sum(own) / len(own)), before.workers)

    def latest(self) -> list[Model]:
        """Every member as far as it is trained; those in which no latent says anything, or hardly trained, left out."""
        jobs: dict[Member, Train] = {}
        for index, stage in enumerate(self.stages):
            trained = {member: self.job(member, index) for member in stage.members}
            jobs |= {member: job for member, job in trained.items() if self.study.state(job) == "done"}
        jobs = {member: job for member, job in jobs.items() if job.steps >= self.setup.trained}
        for member, job in jobs.items():
            if (folder := self.study.folder(job)) not in self._seen:  # a finished run does not change
                self._seen[folder] = self._along_axes(member, Run(folder))
        models = [self._seen[self.study.folder(job)] for job in jobs.values()]
        return along_shared_axes([candidates for candidates in models if len(candidates[0].active)])

    def _along_axes(self, member: Member, run: Run) -> list[Model]:
        """A model along its own axes, and along independent ones where it can be turned to them."""
        method = run.method()
        encoded = represent(method, self.data, 0, samples=COMPARED)
        assert encoded.logvar is not None
        codes, logvar = encoded.codes.numpy(), encoded.logvar.numpy()
        own = Model(member, run, codes, _kl(codes, logvar))
        axes = independent_axes(codes, logvar, own.active)
        if axes is None or turned(method, axes) is None:
            return [own]
        codes, logvar = axes.codes(codes), axes.logvar(logvar)
        return [own, Model(member, run, codes, _kl(codes, logvar), axes)]

    def result(self) -> Discovery | None:
        """The discovery so far; None where no model is trained far enough, or none has learned anything."""
        models = self.latest()
        if not models:
            return None
        longest = max(model.steps for model in models)
        judged = {
            index: trust(model, [other for other in models if other is not model])
            for index, model in enumerate(models)
            if model.steps == longest
        }
        best = max(judged, key=lambda index: sum(factor.trust for factor in judged[index] if factor.trusted))
        return Discovery(
            models[best].run, models[best].member, judged[best], len(models), longest,
            improvement(models[best].run), self.seconds, len(self.data), models[best].axes,
        )  # fmt: skip


def _kl(codes: Array, logvar: Array) -> Array:
    """Mean KL of each latent: (d,)."""
    return kl_per_latent(torch.from_numpy(codes), torch.from_numpy(logvar)).mean(0).numpy()


def _budget(minutes: float) -> float:
    """The seconds for training, without those for the results."""
    return max(60 * minutes - PAGE, 1.0)


def stage_seconds(used: float, budget: float, *, first: bool = False) -> float | None:
    """The length of the next stage when so many seconds are used; None when there is no time for one.

    Stages end where models are dropped. The first is not left out, however little time there is.
    """
    remaining = budget - used
    if remaining < min(SHORTEST, 0.1 * budget):
        return max(remaining, 5.0) if first else None
    goal = next(share * budget for share in (*NARROW, 1.0) if share * budget - used >= min(SHORTEST, remaining))
    seconds = (goal - used) / math.ceil((goal - used) / LONGEST)
    return remaining if remaining - seconds < SHORTEST else seconds


def members_at(used: float, count: int, workers: int) -> int:
    """How many of the members train on when this share of the time is used: at least two, and one per worker."""
    wanted = count
    for share in NARROW:
        wanted = math.ceil(wanted / 2) if used >= share - 0.02 else wanted
    return min(count, max(wanted, workers, 2))
