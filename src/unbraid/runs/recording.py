"""One run from its settings to its folder: train, encode, score, record; and resume where it was stopped."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from unbraid.arguments import checked, need_number, need_whole
from unbraid.data import FactorData, catalogue
from unbraid.errors import InputError, shown
from unbraid.methods import GROUP, METHODS, Method, build
from unbraid.metrics import METRICS, Protocol, ProtocolLike, ScoreTable, as_protocol, score
from unbraid.metrics.declaration import Size
from unbraid.metrics.elbo import evidence, held_out_errors
from unbraid.metrics.protocols import SAMPLED, refer_protocol
from unbraid.metrics.scoring import forecast
from unbraid.own import keys_in, label, refer, refer_all
from unbraid.progress import progress
from unbraid.runs.folder import now
from unbraid.runs.identity import full_settings, plain, run_id
from unbraid.runs.lease import NoLocksError, holder, lease
from unbraid.runs.record import LEASE, RunConfig
from unbraid.runs.run import SCORE_LOG, Run
from unbraid.runs.stopping import deferred
from unbraid.runs.tracking import Follower, Tracking, active
from unbraid.training.device import resolve_device, resolve_precision
from unbraid.training.loop import DivergedError, step_seed
from unbraid.training.loop import train as steps_of
from unbraid.training.representation import Representation, represent

Say = Callable[[str], None]
OnReport = Callable[[Run, int, dict[str, float]], None]
"""Called with the run, the step and the mean of each term since the last report."""


@checked
def train(
    method: str | type[Method],
    data: str | FactorData | Callable[..., FactorData],
    *,
    steps: int,
    seed: int = 0,
    out: Path | str | None = None,
    resolution: int = 64,
    precision: str = "auto",
    device: str = "auto",
    every: int = 100,
    checkpoint_seconds: float = 30.0,
    samples: int | None = None,
    protocol: ProtocolLike | None = "dlib",
    start: Path | str | None = None,
    keep_state: bool = False,
    id: str | None = None,
    say: Say = lambda line: None,
    on_report: OnReport | None = None,
    evaluate_every: int | None = None,
    track: str | None = None,
    **settings: Any,
) -> Run:
    """Train a method and keep everything in the folder `out` (by default `runs/METHOD-DATA-ID`).

    Method, data, networks and metrics are built-in names, or your own: a class or function of a file, or
    `path/to/file.py:Name`. A digest of that file is part of the run's id, and a copy is kept in its folder.

    Run again with the same settings, it resumes from its last checkpoint, or does nothing where it is done. `every`
    is how many steps lie between two lines of the log, `checkpoint_seconds` how much time between two checkpoints;
    `samples` how many images are encoded at the end, `protocol` how their codes are scored (None for not at all):
    against the factors where the data has any, and by `evidence` where the encoder is Gaussian. `start` is the folder
    of a run to begin with: weights, optimisers and the count of steps are that run's, the settings this one's, and
    `steps` counts those of both. It must have been made with `keep_state`. `id` is that of the job that the run is,
    by default of the job `Train` with the same arguments. `say` gets each message for the user. `on_report(run, step,
    terms)` is called with each line of the log. Every `evaluate_every` steps, a multiple of `every`, the codes are
    scored; `run.score_log` has these scores. `track` names a tracker that follows the run: `tensorboard`, `trackio`,
    `wandb` or `mlflow`, or `NAME=FOLDER`. None of the three changes the run.
    """
    steps, seed = need_whole("steps", steps, 1, MOST_STEPS), need_whole("seed", seed)
    every = need_whole("every", every, 1)
    need_number("checkpoint_seconds", checkpoint_seconds, 0)
    samples = None if samples is None else need_whole("samples", samples, 1)
    protocol = refer_protocol(protocol)
    if protocol is not None:
        as_protocol(protocol)  # a wrong one is an error before training, not after
    if evaluate_every is not None and need_whole("evaluate_every", evaluate_every, 1) % every:
        raise InputError(f"evaluate_every is {evaluate_every}; expected a multiple of every, which is {every}")
    if evaluate_every is not None and protocol is None:
        raise InputError("evaluate_every needs a protocol to score by; there is none")
    if not isinstance(out, str | Path | None) or not str("runs" if out is None else out):
        raise InputError(f"out is {shown(out)}; expected the path of a folder")
    method = refer(method, GROUP) if method not in METHODS else method
    settings = refer_all(settings)
    opened = data if isinstance(data, FactorData) else catalogue.load(data, resolution)
    target = resolve_device(device)
    parent = None if start is None else Run(start)
    if parent is not None and parent.config.steps > steps:
        raise InputError(f"steps is {steps}; {parent.folder} has taken {parent.config.steps} already")
    choice: dict[str, Any] = {
        "steps": steps, "seed": seed, "precision": resolve_precision(precision, target), "samples": samples,
        "protocol": plain(protocol), "start": None if parent is None else parent.config.id,
    }  # fmt: skip
    id = run_id(method, settings, opened, **choice) if id is None else id
    config = RunConfig(id, method, full_settings(method, settings), opened.describe(), **choice)
    learner = _build(config, opened).prepare(target, config.precision)
    check_needs(method, learner.needs, opened)
    name = f"{label(method)}-{label(config.data['data'])}"
    run = Run(out if out is not None else Path("runs") / f"{name}-{config.id}")
    tracking = active() if track is None else Tracking.of(track, run.folder.absolute().parent)
    if track is not None and tracking is not None:
        tracking.prepare()
    if changes := changed_code(run, config, name):
        say(changes)
    try:
        if _finished(run, config, say):
            return run
        with _alone(run, say):
            run.begin(config, opened)
            if not _finished(run, config, say):  # another process may have trained it meanwhile
                follower = None if tracking is None else Follower(tracking, say)
                watch = _Watch(every, checkpoint_seconds, say, on_report, evaluate_every, follower)
                _execute(run, config, learner, opened, parent, protocol, watch, keep_state)
    except OSError as error:
        raise InputError(f"cannot write to {run.folder}: {error.strerror or error}") from error
    return run


@dataclass(frozen=True)
class _Watch:
    """What happens beside the steps: how often it is logged, saved and scored, and who hears of it."""

    every: int
    checkpoint_seconds: float
    say: Say
    on_report: OnReport | None
    evaluate_every: int | None
    follower: Follower | None

    def report(self, run: Run, step: int, terms: dict[str, float]) -> None:
        for hear in (self.on_report, self.follower):
            if hear is not None:
                hear(run, step, dict(terms))

    def evaluates(self, step: int) -> bool:
        return self.evaluate_every is not None and step % self.evaluate_every == 0


MOST_STEPS = 10**12


def check_needs(method: str, needs: Iterable[str], data: FactorData) -> None:
    """An InputError that names the settings of the data that a method needs, before there is a folder of the run."""
    missing = [name for name in needs if name not in data.batch_at([0], 0)]
    if not missing:
        return
    chosen = [wrapper for wrapper in catalogue.WRAPPERS if wrapper.gives in missing]
    flags = [f"--{name.replace('_', '-')}" for wrapper in chosen for name in list(wrapper.help)[:1]]
    added = f"; add {' or '.join(flags)}" if flags else ""
    raise InputError(f"{method} needs {', '.join(missing)}, which the data does not provide{added}")


def _finished(run: Run, config: RunConfig, say: Say) -> bool:
    """Whether the folder holds this run, done or diverged."""
    state = run.state["state"]
    if state not in ("done", "diverged") or not run.path("config").exists() or run.config != config:
        return False
    say(f"{run.folder} is {state} already")
    return True


@contextmanager
def _alone(run: Run, say: Say) -> Iterator[None]:
    """Keep other processes from training the same run, where the file system has locks."""
    path = run.folder / LEASE
    with ExitStack() as stack:
        try:
            leased = stack.enter_context(lease(path, keep=False))
        except NoLocksError:
            say(f"{run.folder} is on a file system without file locks: do not train this run twice at once")
            leased = True
        if not leased:
            raise InputError(f"{run.folder} is being trained by {holder(path)}; wait for it, or use another --out")
        yield


def changed_code(run: Run, config: RunConfig, name: str) -> str:
    """Says so where a new run differs from one beside it in nothing but the user's own code."""
    if not keys_in(config) or run.path("config").exists():
        return ""
    for other in sorted(run.folder.parent.glob(f"{name}-*")):
        with suppress(InputError):
            differences = Run(other).config.differences(config)
            if differences and all(difference.startswith("your ") for difference in differences):
                return f"{'; '.join(differences)}, {other}; training it again in {run.folder}"
    return ""


def _build(config: RunConfig, data: FactorData) -> Method:
    """The method with its first weights, which come from the seed."""
    with torch.random.fork_rng():
        torch.manual_seed(step_seed(config.seed, 0, "weights"))
        return build(config.method, data, config.settings)


def _execute(
    run: Run,
    config: RunConfig,
    method: Method,
    data: FactorData,
    start: Run | None,
    protocol: ProtocolLike | None,
    watch: _Watch,
    keep_state: bool,
) -> None:
    """Train, encode and score what is missing, keeping the state beside it."""
    before = run.state
    begun, spent, started = time.monotonic(), float(before.get("seconds", 0.0)), before.get("started") or now()
    terms: dict[str, float] = before.get("terms", {})

    def progressed() -> dict[str, Any]:
        return {"terms": terms, "started": started, "seconds": round(spent + time.monotonic() - begun, 1)}

    try:
        representation = _trained(run, method, config.steps)
        if representation is None:
            for terms, saved in _steps(run, config, method, data, start, protocol, watch):  # noqa: B007
                if saved:
                    run.set_state("running", step=method.steps, **progressed())
            representation = represent(method, data, step_seed(config.seed, 0, "represent"), samples=config.samples)
            resumable = start is None or start.path("checkpoint").exists()  # else it began with weights alone
            run.finish(method, representation, keep_state and resumable)
            run.set_state("running", step=config.steps, **progressed())
        if protocol is not None:
            if data.names:
                watch.say(_scoring(data, representation, as_protocol(protocol)))
            table = _scores(config, method, data, representation, as_protocol(protocol))
            if table:
                run.save_scores(table)
        run.set_state("done", step=config.steps, **progressed(), finished=now())
    except DivergedError as error:
        run.set_state("diverged", step=error.step, term=error.term, reason=str(error), **progressed())
        watch.say(f"diverged: {error}")
    except Exception as error:
        trace = None if isinstance(error, InputError) else traceback.format_exc()
        run.set_state("failed", reason=f"{type(error).__name__}: {error}", traceback=trace, **progressed())
        raise
    finally:
        if watch.follower is not None:
            watch.follower.close(run)


def _trained(run: Run, method: Method, steps: int) -> Representation | None:
    """The codes of a run that was stopped after its training, with the weights in `method`; None of any other run."""
    try:
        representation = run.representation()  # written last: the files before it are whole
        run.restore(method)
    except InputError:
        return None
    run.cut_log(steps)
    return representation


def _steps(
    run: Run,
    config: RunConfig,
    method: Method,
    data: FactorData,
    start: Run | None,
    protocol: ProtocolLike | None,
    watch: _Watch,
) -> Iterator[tuple[dict[str, float], bool]]:
    """Train from the last checkpoint to the end, logging; yields the terms and whether a checkpoint was saved."""
    step, faults = run.load_checkpoint(method)
    if not step and start is not None:
        step = _take_over(start, method, config.steps)
    for fault in faults:
        watch.say(f"{fault}; resuming from step {step}")
    if step:
        watch.say(f"resuming from step {step} of {config.steps}")
    run.cut_log(step)
    yield dict(run.last_terms()), True
    clock = time.monotonic()
    what = f"training {label(config.method)}"
    while step < config.steps:  # once, or again after a signal whose handler returns
        with deferred(watch.say) as stopped, progress(what, config.steps, delay=0) as advance:
            advance(step)
            for report in steps_of(method, data, steps=config.steps, seed=config.seed, every=watch.every):
                advance(report.step - step, note="  ".join(f"{name} {v:.4g}" for name, v in report.terms.items()))
                step = report.step
                run.append_log(report.step, report.terms)
                last = report.step == config.steps
                if protocol is not None and watch.evaluates(step) and not last:
                    codes = represent(method, data, step_seed(config.seed, 0, "represent"), samples=config.samples)
                    scores = _scores(config, method, data, codes, as_protocol(protocol))
                    run.append_log(report.step, scores, SCORE_LOG)
                    if watch.follower is not None:
                        watch.follower.scored(run, report.step, scores)
                watch.report(run, report.step, report.terms)
                due = stopped() or (time.monotonic() - clock >= watch.checkpoint_seconds and not last)
                if due:
                    run.save_checkpoint(method)
                    clock = time.monotonic()
                yield report.terms, due
                if stopped():
                    watch.say(f"stopped at step {step} of {config.steps}, which is saved in {run.folder}")
                    break


def _take_over(start: Run, method: Method, steps: int) -> int:
    """Put another run's weights, optimisers and count of steps into a method, whose hyperparameters stay its own."""
    hp, taken = method.hp, start.config.steps
    step, faults = start.load_checkpoint(method)
    if step != taken:
        if taken != steps:
            raise InputError(f"{start.folder} cannot be resumed: {next(iter(faults), 'it kept no state')}")
        start.restore(method)  # nothing remains to be trained: the weights are enough
        method.steps = taken
    method.hp = hp
    return taken


def _scoring(data: FactorData, representation: Representation, protocol: Protocol) -> str:
    """What is scored when training is over, and how long that takes."""
    count, codes = representation.codes.shape
    rows = min(protocol.train, count * protocol.train // (protocol.train + protocol.test))
    size = Size(rows, codes, len(data.names), sum(data.sizes))
    seconds = forecast(protocol, size)
    if representation.logvar is not None and protocol.sampled:
        seconds += forecast(protocol.sampled, size)
    by = ", ".join(map(label, protocol.metrics)) if protocol.name == "own" else f"protocol {protocol.name}"
    return f"trained; scoring {codes} codes of {count:,} images by {by}, about {max(1, round(seconds))} s on one core"


def _scores(
    config: RunConfig, method: Method, data: FactorData, representation: Representation, protocol: Protocol
) -> ScoreTable:
    """Score against the factors, if the data has any; by the ELBO, if the encoder is Gaussian; and on rows held out."""
    table = ScoreTable(seed=str(config.seed))
    if data.names:
        # labels of the user's keep their types; factors of built-in data are numbers, as in the papers' protocols
        typed = data.labels is not None
        factors = data.labels_at(representation.rows) if typed else representation.known_factors()
        table = score(representation.codes, factors, protocol=protocol, rng=config.seed)
        table |= _sampled_scores(config, representation, factors, protocol)
    settings = protocol.metrics.get("total_correlation", {})
    table |= evidence(method, data, representation, step_seed(config.seed, 0, "evidence"), **settings)
    table |= held_out_errors(method, data, step_seed(config.seed, 0, "held out"))
    for name, given in protocol.evaluators().items():
        own = label(name)
        scores = METRICS[name].function(method, data, representation, rng=step_seed(config.seed, 0, own), **given)
        table |= {own if one == own else f"{own}.{one}": value for one, value in scores.items()}
    return table


def _sampled_scores(
    config: RunConfig, representation: Representation, factors: Any, protocol: Protocol
) -> dict[str, float]:
    """The protocol's scores of codes drawn from q(z|x), on the same rows; none if the encoder is not Gaussian."""
    if representation.logvar is None or not protocol.sampled:
        return {}
    codes = representation.draw(step_seed(config.seed, 0, SAMPLED))
    same_rows = Protocol(SAMPLED, protocol.sampled, protocol.train, protocol.test)
    scores = score(codes, factors, protocol=same_rows, rng=config.seed)
    return {f"{SAMPLED}.{name}": value for name, value in scores.items()}
