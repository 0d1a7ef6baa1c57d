"""A fair comparison of methods as a study: the same networks, steps, data and seeds; each method's own strengths.

On the first seeds every method is trained at several strengths. On the other seeds it is trained at the one that did
best, and only these models are compared: no number on the page comes from a model that had a part in the choice.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.data import catalogue
from unbraid.errors import InputError, nearest
from unbraid.jobs.choice import Chosen
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.methods import GROUP, METHODS, Method, build, method_class
from unbraid.metrics import PROTOCOLS, Protocol, ProtocolLike, as_protocol, score
from unbraid.metrics.elbo import evidence
from unbraid.metrics.overview import USUAL
from unbraid.metrics.scoring import forecast
from unbraid.own import keys_in, label, refer
from unbraid.pictures.names import method_name
from unbraid.progress import progress
from unbraid.runs.folder import Folder
from unbraid.runs.kept_code import admit
from unbraid.training.loop import train
from unbraid.training.representation import represent

if TYPE_CHECKING:
    from unbraid.report.run_table import RunTable

NAME = "comparison"
"""Of the study, and of the file in its folder that says what is compared."""
# the metrics of `dlib` on half the rows: about ten seconds per model
PROTOCOL = Protocol(NAME, PROTOCOLS["dlib"].metrics, train=5_000, test=2_500, seconds=10.0)
SHARED: Mapping[str, Any] = {"network": "patches", "learning_rate": 1e-3}
"""What all methods are trained with unless you say otherwise: for small images on a desk."""
ADVERSARY: Mapping[str, Any] = {
    "discriminator_layers": 3, "discriminator_width": 256, "discriminator_learning_rate": 1e-3,
}  # fmt: skip
"""An adversary that suits small networks, for methods that have one."""
CAPACITY = 3  # a capacity that grows with training has grown when a third of it is over
FEWEST = 100  # steps below which a comparison says nothing
PAGE = 30.0  # seconds for the page
SPARE = 0.9  # of the minutes asked for, to plan with
TRIAL = 1.5  # seconds that a method is trained to measure its speed
STARTED = 6.0  # seconds until a worker has begun
OPENED = 3.0  # seconds to open data, build a method and take its first steps


@dataclass(frozen=True)
class Comparison:
    """What is compared, on what, and for how long."""

    methods: tuple[str, ...]
    """The first is the one in question; the others are what it is compared with."""
    data: tuple[str, ...]
    steps: int
    seeds: int = 5
    """That methods are compared on."""
    sweep_seeds: int = 2
    """That strengths are chosen on."""
    strengths: int = 3
    resolution: int = 32
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For every method that has them, in place of SHARED."""
    protocol: str | Mapping[str, Mapping[str, Any]] = NAME
    """The name of a protocol, or metrics with their settings."""
    samples: int = 20_000
    chosen_by: str = "mig"
    baseline: str = ""
    """That others are compared with on the page; by default the second method."""

    def __post_init__(self) -> None:
        """Put references in place of the user's own code, as jobs have them."""
        for name, known, group in (("methods", METHODS, GROUP), ("data", catalogue.CATALOGUE, catalogue.GROUP)):
            names = tuple(one if one in known else refer(one, group) for one in getattr(self, name))
            object.__setattr__(self, name, names)
        for name, fewest in (("steps", 1), ("seeds", 1), ("sweep_seeds", 1), ("strengths", 1)):
            if getattr(self, name) < fewest:
                raise InputError(f"{name} is {getattr(self, name)}; expected at least {fewest}")
        if len(self.methods) < 2:
            raise InputError("there is one method; expected at least one other to compare it with")
        for noun, names in (("method", self.methods), ("data set", self.data)):
            if not names:
                raise InputError(f"there is no {noun} to compare on")
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError(f"the {noun} '{twice[0]}' is given twice")
        if self.baseline:
            object.__setattr__(self, "baseline", self._named(self.baseline))
        self.scored_by()  # a wrong name is an error now, not in a worker

    def _named(self, baseline: str) -> str:
        """The method of this name; of one's own, the name of the class will do."""
        wanted = baseline if baseline in METHODS else refer(baseline, GROUP)
        for method in self.methods:
            if wanted in (method, label(method)):
                return method
        raise InputError(f"the baseline '{baseline}' is not compared{nearest(baseline, map(label, self.methods))}")

    @property
    def code(self) -> set[str]:
        """The keys of the user's own code that is compared."""
        return keys_in([*self.methods, *self.data, dict(self.settings)])

    @property
    def title(self) -> str:
        first, *others = map(method_name, self.methods)
        against = f"{', '.join(others[:-1])} and {others[-1]}" if len(others) > 1 else others[0]
        return f"{first} against {against}"

    def scored_by(self) -> ProtocolLike:
        return PROTOCOL if self.protocol == NAME else as_protocol(self.protocol)

    def jobs(self) -> list[Job]:
        """Seed by seed, so that a comparison that is stopped has the same models of every method."""
        groups = [self._models(method, data) for data in self.data for method in self.methods]
        return [job for row in itertools.zip_longest(*groups) for job in row if job is not None]

    def _models(self, method: str, data: str) -> list[Job]:
        name, values = sweep(method_class(method), self.strengths)
        compared = [self.model(method, data, self.sweep_seeds + seed) for seed in range(self.seeds)]
        if name is None or len(values) < 2:
            return list(compared)
        candidates = tuple(
            self.model(method, data, seed, {name: value}) for seed in range(self.sweep_seeds) for value in values
        )
        return [*candidates, *(Chosen.of(model, candidates, name, self.chosen_by) for model in compared)]

    def model(self, method: str, data: str, seed: int = 0, strength: Mapping[str, float] | None = None) -> Train:
        return Train(
            method,
            data,
            steps=self.steps,
            seed=seed,
            settings={**self.settings_of(method), **(strength or {})},
            resolution=self.resolution,
            samples=self.samples,
            protocol=self.scored_by(),
        )

    @property
    def shared(self) -> dict[str, Any]:
        """What all methods are trained with. An image weighs as one of 64x64, so that the papers' strengths hold."""
        return {**SHARED, "pixel_weight": (64 / self.resolution) ** 2, **self.settings}

    def settings_of(self, method: str) -> dict[str, Any]:
        """The shared settings, as far as a method has them, and those that suit short training of small networks."""
        growing = {"threshold": max(1, self.steps // CAPACITY)}
        names = {one.name for one in dataclasses.fields(method_class(method).config_class)}
        return {name: value for name, value in {**ADVERSARY, **growing, **self.shared}.items()
                if name in names}  # fmt: skip

    def lacking(self) -> dict[str, list[str]]:
        """The shared settings that some methods do not have, by method: there, those are not trained alike."""
        return {
            method: missing
            for method in self.methods
            if (missing := [name for name in self.shared if name not in self.settings_of(method)])
        }


def sweep(method: type[Method], most: int) -> tuple[str | None, tuple[float, ...]]:
    """The setting that a method is swept by, and up to `most` values of it, weakest first.

    Those that the method declares, evenly thinned out; of a method that declares none, a quarter of the default, the
    default and four times that. None for a method without a strength, or with a strength of 0.
    """
    if not method.strength:
        return None, ()
    name = method.strength[0]
    default: Any = next(one.default for one in dataclasses.fields(method.config_class) if one.name == name)
    values = method.sweep or tuple(default * factor for factor in (0.25, 1, 4))
    allowed = sorted({value for value in values if value and _allowed(method, name, value)})
    if not allowed:
        return None, ()
    count = min(most, len(allowed))
    if count == 1:
        return name, (allowed[len(allowed) // 2],)
    positions = [round(index * (len(allowed) - 1) / (count - 1)) for index in range(count)]
    return name, tuple(allowed[position] for position in positions)


def _allowed(method: type[Method], name: str, value: float) -> bool:
    try:
        method.config_class.make({name: value})
    except InputError:
        return False
    return True


def typed(methods: Sequence[str], given: Mapping[str, str]) -> dict[str, Any]:
    """Settings from words, of the type that a method which has them says; one that no method has is an InputError."""
    known: dict[str, dataclasses.Field[Any]] = {}
    for method in methods:
        known |= {one.name: one for one in dataclasses.fields(method_class(method).config_class)}
    settings: dict[str, Any] = {}
    for name, word in given.items():
        if name not in known:
            raise InputError(f"none of the methods has a setting '{name}'{nearest(name, known)}")
        convert: Any = type(known[name].default)
        try:
            settings[name] = word == "true" if convert is bool and word in ("true", "false") else convert(word)
        except ValueError:
            raise InputError(f"{name} is '{word}'; expected {_KINDS.get(convert, convert.__name__)}") from None
    return settings


_KINDS = {int: "a whole number", float: "a number"}


# How long it takes


@dataclass(frozen=True)
class Speed:
    """What a model costs on one core, measured."""

    step: float
    """Seconds of a training step."""
    rest: float
    """Seconds to encode and score."""


def measure(model: Train, scoring: bool, seconds: float = TRIAL) -> Speed:
    """Train a model for a moment, and encode and score it if asked to."""
    data = model.open()
    method = build(model.method, data, model.settings)
    clock, first = math.nan, 0
    for report in train(method, data, steps=10**9, seed=model.seed, every=16):  # batches are drawn 16 at a time
        if math.isnan(clock):
            clock, first = time.perf_counter(), report.step  # the first ones also set things up
        elif time.perf_counter() - clock >= seconds:
            break
    step = (time.perf_counter() - clock) / (report.step - first)
    if not scoring:
        return Speed(step, 0.0)
    clock = time.perf_counter()
    codes = represent(method, data, 0, samples=model.samples)
    if data.names and model.protocol is not None:
        score(codes.codes, codes.factors, protocol=model.protocol)
    evidence(method, data, codes, 0)
    return Speed(step, time.perf_counter() - clock)


@dataclass(frozen=True)
class Forecast:
    """How long a comparison takes, from the measured speed of each method on each data set."""

    speeds: Mapping[tuple[str, str], Speed]
    workers: int

    @classmethod
    def measured(cls, comparison: Comparison, executor: Executor, workers: int) -> Forecast:
        """Measured by the workers that will do the work, all of them at once, as they will."""
        pairs = list(itertools.product(comparison.data, comparison.methods))
        futures = {
            (method, data): executor.submit(measure, comparison.model(method, data), method == comparison.methods[0])
            for data, method in pairs
        }
        with progress("measuring speed", len(futures)) as advance:
            for future in as_completed(futures.values()):
                future.result()  # a trial that fails ends the others
                advance()
        speeds = {pair: future.result() for pair, future in futures.items()}
        rest = {data: speeds[comparison.methods[0], data].rest for data in comparison.data}
        return cls({(method, data): Speed(one.step, rest[data]) for (method, data), one in speeds.items()}, workers)

    @staticmethod
    def duration(comparison: Comparison, workers: int) -> float:
        """The seconds that measuring takes, roughly: nothing is known yet but what is measured."""
        protocol, trials = as_protocol(comparison.scored_by()), len(comparison.methods) * len(comparison.data)
        train = min(protocol.train, comparison.samples * protocol.train // (protocol.train + protocol.test))
        scoring = forecast(protocol, dataclasses.replace(USUAL, rows=train))
        work = trials * (OPENED + TRIAL) + len(comparison.data) * scoring
        return STARTED + work / min(workers, trials)

    def seconds(self, jobs: Iterable[Job], steps: int | None = None) -> float:
        """Of all jobs that are models, on all workers, with the page."""
        models = [job for job in jobs if isinstance(job, Train)]
        each = [self.speeds[job.method, job.data] for job in models]
        training = sum(
            one.step * (job.steps if steps is None else steps) for job, one in zip(models, each, strict=True)
        )
        return (training + sum(one.rest for one in each)) / self.workers + PAGE

    def steps(self, comparison: Comparison, minutes: float) -> int:
        """As many as fit, to two digits; an InputError where that is too few to learn anything."""
        jobs = comparison.jobs()
        fixed, each = self.seconds(jobs, 0), self.seconds(jobs, 1) - self.seconds(jobs, 0)
        steps = (SPARE * minutes * 60 - fixed) / each
        if steps < FEWEST:
            needed = math.ceil((fixed + 1000 * each) / SPARE / 60)
            raise InputError(
                f"{minutes:g} minutes are too few for {len(jobs)} models; 1,000 steps of each take about {needed}. "
                "Give more --minutes, or fewer seeds, strengths, data sets or methods"
            )
        digits = 10 ** (int(math.log10(steps)) - 1)
        return int(steps // digits * digits)


# Its folder


def write_plan(folder: Path, comparison: Comparison) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Folder(folder).write_json(NAME, asdict(comparison))


def read_plan(folder: Path) -> Comparison:
    """What the folder of a comparison says that it compares."""
    known = {one.name for one in dataclasses.fields(Comparison)}
    record = Folder(folder).read_json(NAME)
    admit(folder, record, trust=False)
    if unknown := [name for name in record if name not in known]:
        raise InputError(f"{Folder(folder).path(NAME)} has '{unknown[0]}', which is not part of a comparison")
    given: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in record.items()}
    return Comparison(**given)


def table(folder: Path) -> RunTable:
    """The models, in the order of the methods; the candidates of a choice are not encoders of the chosen model."""
    from unbraid.report.run_table import RunTable

    runs = RunTable.read(folder)
    frame = runs.frame.drop(columns=[name for name in ("encoder", "encoder_seed") if name in runs.frame])
    if "method" in frame:
        order = {method: index for index, method in enumerate(read_plan(folder).methods)}
        frame = frame.sort_values("method", key=lambda column: column.map(order), kind="stable", ignore_index=True)
    return dataclasses.replace(runs, frame=frame)
