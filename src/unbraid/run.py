"""One run from its settings to its folder: train, encode, record; and go on where it was stopped."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from unbraid.data import FactorData, catalogue
from unbraid.errors import InputError, nearest
from unbraid.methods import Method, build
from unbraid.metrics import PROTOCOLS, score
from unbraid.progress import progress
from unbraid.record import Run, RunConfig, full_settings, now
from unbraid.represent import represent
from unbraid.train import DivergedError, resolve_device, resolve_precision, step_seed
from unbraid.train import train as steps_of

Say = Callable[[str], None]


def train(
    method: str,
    data: str | FactorData,
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
    protocol: str | None = "dlib",
    say: Say = lambda line: None,
    **settings: Any,
) -> Run:
    """Train a method and keep everything in the folder `out` (by default `runs/METHOD-DATA-ID`).

    Run again with the same settings, it goes on from its last checkpoint, or does nothing where it is done. `every`
    is how many steps lie between two lines of the log, `checkpoint_seconds` how much time between two checkpoints;
    `samples` how many images are encoded at the end, `protocol` how their codes are scored where the data has factors
    (None for not at all). `say` gets a line for whatever a person should know.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; expected at least 1")
    if protocol is not None and protocol not in PROTOCOLS:
        raise InputError(f"there is no protocol '{protocol}'{nearest(protocol, PROTOCOLS)}")
    if every < 1:
        raise InputError(f"every is {every}; expected at least 1")
    opened = catalogue.load(data, resolution) if isinstance(data, str) else data
    place = resolve_device(device)
    config = RunConfig(
        method, full_settings(method, settings), opened.describe(), steps, seed, resolve_precision(precision, place)
    )
    learner = _build(config, opened).prepare(place, config.precision)
    run = Run(out if out is not None else Path("runs") / f"{method}-{config.data['data']}-{config.id}")
    try:
        run.begin(config, opened)
        _execute(run, config, learner, opened, every, checkpoint_seconds, samples, say)
        if protocol is not None and opened.names and run.state["state"] == "done" and not run.path("scores").exists():
            representation = run.representation()
            run.save_scores(score(representation.codes, representation.factors, protocol=protocol, rng=seed))
    except OSError as error:
        raise InputError(f"cannot write to {run.folder}: {error.strerror or error}") from error
    return run


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
    every: int,
    checkpoint_seconds: float,
    samples: int | None,
    say: Say,
) -> None:
    before = run.state
    if before["state"] in ("done", "diverged"):
        say(f"{run.folder} is {before['state']} already")
        return
    start, faults = run.load_checkpoint(method)
    for fault in faults:
        say(f"{fault}; going on from step {start}")
    if start:
        say(f"going on from step {start} of {config.steps}")
    run.cut_log(start)
    begun, spent, started = time.monotonic(), float(before.get("seconds", 0.0)), before.get("started") or now()

    def standing() -> dict[str, Any]:
        return {"started": started, "seconds": round(spent + time.monotonic() - begun, 1)}

    run.set_state("running", step=start, **standing())
    saved, terms = time.monotonic(), dict[str, float]()
    try:
        with progress(f"training {config.method}", config.steps, delay=0) as advance:
            advance(start)
            for report in steps_of(method, data, steps=config.steps, seed=config.seed, every=every):
                advance(report.step - start, note="  ".join(f"{name} {v:.4g}" for name, v in report.terms.items()))
                start, terms = report.step, report.terms
                run.append_log(report.step, report.terms)
                if time.monotonic() - saved >= checkpoint_seconds and report.step < config.steps:
                    run.save_checkpoint(method)
                    run.set_state("running", step=report.step, terms=terms, **standing())
                    saved = time.monotonic()
        run.finish(method, represent(method, data, step_seed(config.seed, 0, "represent"), samples=samples))
        run.set_state("done", step=config.steps, terms=terms, **standing(), finished=now())
    except DivergedError as error:
        run.set_state("diverged", step=error.step, term=error.term, reason=str(error), terms=terms, **standing())
        say(f"diverged: {error}")
    except Exception as error:
        trace = None if isinstance(error, InputError) else traceback.format_exc()
        run.set_state("failed", reason=f"{type(error).__name__}: {error}", traceback=trace, **standing())
        raise
