"""`unbraid compare`: a fair comparison of methods in one command."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._flags import setting
from unbraid.cli._group import PATH, command_line, say
from unbraid.cli._tables import console, plain_table
from unbraid.cli._tracking import TRACK, following
from unbraid.errors import InputError
from unbraid.jobs.schedule import run as run_jobs
from unbraid.jobs.schedule import tally
from unbraid.jobs.study_folder import StudyFolder
from unbraid.own import known, label
from unbraid.pictures.names import method_name
from unbraid.runs.folder import Folder
from unbraid.runs.tracking import TRACKERS
from unbraid.studies import write_report
from unbraid.studies.comparison import NAME, Comparison, Forecast, read_plan, sweep, typed, write_plan

PAGE_ONLY = ("baseline",)  # what may change without training anything again
_BEFORE = ("slurm", *TRACKERS)  # what may be in the folder before there is a plan


@click.command("compare")
@click.argument("method")
@click.option("--against", required=True, metavar="A,B,…", help="The methods to compare it with.")
@click.option("--data", required=True, metavar="A,B,…", help="The data sets; `unbraid data list` shows them.")
@click.option("--seeds", type=int, default=5, help="Compared models per method and data set.")
@click.option("--minutes", type=float, default=60.0, help="Time that the whole comparison may take on this machine.")
@click.option("--steps", type=int, help="Training steps of each model, in place of --minutes.")
@click.option("--strengths", type=int, default=3, help="Values of each method's strength to choose from.")
@click.option("--sweep-seeds", type=int, default=2, help="Models per strength, from which the strength is chosen.")
@click.option("--choose-by", default="mig", metavar="SCORE", help="The score by which strengths are chosen.")
@click.option("--baseline", metavar="METHOD", help="What the page compares with.  [default: first of --against]")
@click.option("--resolution", type=int, default=32, help="Side of the images in pixels.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="A setting of every method that has it, such as network=small.")  # fmt: skip
@click.option("--protocol", default=NAME, help="How to score the codes: a protocol's name.")
@click.option("--metrics", metavar="A,B,…", help="Score by these metrics alone, in place of --protocol.")
@click.option("--samples", type=int, default=20_000, help="Images of each model that are encoded and scored.")
@click.option("--out", type=PATH, help="The comparison's folder.  [default: runs/compare-METHOD]")
@click.option("--forecast", is_flag=True, help="Print what would be trained and how long it takes, and stop.")
def command(
    method: str,
    against: str,
    data: str,
    seeds: int,
    minutes: float,
    steps: int | None,
    strengths: int,
    sweep_seeds: int,
    choose_by: str,
    baseline: str | None,
    resolution: int,
    settings: tuple[str, ...],
    protocol: str,
    metrics: str | None,
    samples: int,
    out: Path | None,
    forecast: bool,
    track: str | None,
    **engine: Any,
) -> None:
    """Compare a method with others in one command, and write a page about it.

    All methods get the same networks, steps, data and seeds. Each is first trained at several strengths; the best
    strength is trained again with other seeds, and these models are compared. The speed of this machine is measured
    first, to find how many steps fit into --minutes. If the command is stopped, run it again to resume.
    """
    methods = (method, *_names(against))
    plan = Comparison(
        methods, _names(data), steps or 1, seeds, sweep_seeds, strengths, resolution,
        typed(methods, dict(setting(text) for text in settings)),
        {name: {} for name in _names(metrics)} if metrics else protocol, samples, choose_by, baseline or "",
    )  # fmt: skip
    folder = out or Path("runs") / f"compare-{method_name(method)}"
    begun = _resumed(folder, plan, steps)
    try:
        own = [source for key in sorted(plan.code) if (source := known(key))]
        with following(track, folder), started(folder, modules=own, **engine) as (executor, workers):
            if begun is None:
                say(_measurement(plan, workers))
                measured = Forecast.measured(plan, executor, workers)
                plan = plan if steps else replace(plan, steps=measured.steps(plan, minutes))
                _print_forecast(plan, measured)
            else:
                plan = begun
                say(f"resuming the comparison in {folder}, with {plan.steps:,} steps per model")
                _print_rest(plan, folder, workers)
            if forecast:
                say(f"to train them: {command_line('--forecast')}")
                return
            write_plan(folder, plan)
            study, jobs = StudyFolder(folder), plan.jobs()
            study.begin(NAME, "", jobs)
            result = run_jobs(jobs, folder, executor=executor, workers=workers, say=say)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from error
    click.echo(f"{folder}  {result}")
    click.echo(write_report(folder, folder / "report"))
    if result.states["failed"]:
        say(f"`unbraid runs {folder} --where state=failed` shows why models failed")
        raise click.exceptions.Exit(1)


command.params += [*ENGINE, TRACK]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _resumed(folder: Path, plan: Comparison, steps: int | None) -> Comparison | None:
    """The comparison that a folder holds, where it is this one, with the steps that were settled then."""
    if not Folder(folder).path(NAME).exists():
        if folder.exists() and any(path.name not in _BEFORE for path in folder.iterdir()):
            raise InputError(f"{folder} holds something other than a comparison; choose another --out")
        return None
    begun = read_plan(folder)
    asked = replace(plan, steps=steps or begun.steps)
    before, now = _settled(begun), _settled(asked)
    differing = [name for name in now if now[name] != before[name] and name not in PAGE_ONLY]
    if differing:
        name = differing[0]
        raise InputError(
            f"{folder} holds another comparison: {name} is {_word(before[name])}, not {_word(now[name])}; "
            "choose another --out"
        )
    if asked.code - begun.code:
        say(f"your code changed since {folder} was begun; the models that use it are trained again")
    return asked


def _settled(plan: Comparison) -> dict[str, Any]:
    """What must not change: one's own code by its name alone, whose digest is in the ids of jobs."""
    return {**asdict(plan), "methods": tuple(map(label, plan.methods)), "data": tuple(map(label, plan.data))}


def _word(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _measurement(plan: Comparison, workers: int) -> str:
    """What is measured before anything is trained, and how long that takes."""
    trials = len(plan.methods) * len(plan.data)
    return (
        f"measuring speed first: {trials} short trials ({len(plan.methods)} methods on "
        f"{', '.join(map(label, plan.data))}, and scoring), {min(trials, workers)} at a time, "
        f"about {Forecast.duration(plan, workers):.0f} seconds"
    )


def _print_forecast(plan: Comparison, measured: Forecast) -> None:
    """What is trained, and how long it takes."""
    jobs = plan.jobs()
    table = plain_table("method", "strengths", *(f"ms per step, {data}" for data in plan.data))
    for name in plan.methods:
        from unbraid.methods import method_class

        strength, values = sweep(method_class(name), plan.strengths)
        words = f"{strength} {', '.join(f'{value:g}' for value in values)}" if len(values) > 1 else "as it is"
        speeds = (f"{1000 * measured.speeds[name, data].step:.0f}" for data in plan.data)
        table.add_row(method_name(name), words, *speeds)
    console.print(table)
    for name, missing in plan.lacking().items():
        say(f"{method_name(name)} has no setting {', '.join(missing)}; it keeps its own")
    each = sum(measured.speeds[pair].rest for pair in measured.speeds) / len(measured.speeds)
    minutes = measured.seconds(jobs) / 60
    click.echo(
        f"{len(jobs)} models of {plan.steps:,} steps, {measured.workers} at a time, "
        f"{each:.0f} seconds to score each: about {minutes:.0f} minutes"
    )


def _print_rest(plan: Comparison, folder: Path, workers: int) -> None:
    """What is done of a comparison that was begun before, and how long the rest takes."""
    states = tally(plan.jobs(), folder)
    rest = "" if not states.unfinished else f", about {math.ceil(states.seconds_remaining / workers / 60)} minutes"
    click.echo(f"{states.total} models: {states}{rest}")
