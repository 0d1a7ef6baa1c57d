"""`unbraid study`: run, watch and list studies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from rich.live import Live
from rich.table import Table

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._group import PATH, Group, say
from unbraid.cli._tables import console, plain_table
from unbraid.cli._tracking import TRACK, following
from unbraid.cli._trust import TRUST
from unbraid.errors import InputError, printable
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.schedule import TALLIED, Tally, folder_tallies, tallies
from unbraid.jobs.schedule import run as run_jobs
from unbraid.jobs.study_folder import Planned, StudyFolder
from unbraid.runs.folder import Folder
from unbraid.studies import STUDIES, Study, open_study, study_in


@click.group("study", cls=Group)
def command() -> None:
    """Run, watch and list studies."""


@command.command("run")
@click.argument("name", metavar="NAME|PATH")
@click.option("--scale", default="smoke", help="smoke, desk, paper, or another that the study has.")
@click.option("--out", type=PATH, help="The study's folder.  [default: runs/NAME-SCALE]")
@click.option("--jobs", "numbers", metavar="A-B", help="Only these jobs, such as 17 or 0-99, and what they need.")
@click.option("--retry", type=click.Choice(["failed"]), help="Run failed jobs again.")
@click.option("--verify", is_flag=True, help="Read every file of finished jobs, even if size and time are unchanged.")
@click.option("--memory-limit", type=float, metavar="GB", help="Memory that each job may use, locally or on SLURM.")
def run(
    name: str,
    scale: str,
    out: Path | None,
    numbers: str | None,
    retry: str | None,
    verify: bool,
    memory_limit: float | None,
    track: str | None,
    **engine: Any,
) -> None:
    """Run the missing jobs of a study. If it is stopped or killed, run it again."""
    if engine["workers"] is not None and engine["workers"] < 1:  # before anything is written
        raise InputError(f"workers is {engine['workers']}; expected at least 1")
    opened = open_study(name)
    jobs = opened.jobs(scale)
    chosen = _chosen(jobs, numbers)
    folder = StudyFolder(out or _default_out(opened, scale))
    try:
        folder.begin(opened.name, scale, jobs, opened.modules[0].key if opened.modules else None)
        placed = started(folder.out, modules=opened.modules, memory_limit=memory_limit, **engine)
        with following(track, folder.out), placed as (executor, count):
            result = run_jobs(
                chosen,
                folder.out,
                executor=executor,
                workers=count,
                retry=retry == "failed",
                among=jobs,
                thorough=verify,
                say=say,
            )
    except OSError as error:
        raise InputError(f"cannot write to {folder.out}: {error.strerror or error}") from error
    click.echo(f"{folder.out}  {result}")
    if result.states["failed"]:
        say("`unbraid runs` shows why jobs failed; `--retry failed` runs them again")
        raise click.exceptions.Exit(1)


run.params += [*ENGINE, TRACK]


def _default_out(opened: Study, scale: str) -> Path:
    return Path("runs") / f"{Path(opened.name).stem}-{scale}"


def _chosen(jobs: Sequence[Job], numbers: str | None) -> Sequence[Job]:
    """Jobs by number, as `study list` counts them: from 0, in the study's own order."""
    if numbers is None:
        return jobs
    first, dash, last = numbers.partition("-")
    try:
        start, end = int(first), int(last if dash else first)
    except ValueError:
        raise InputError(f"--jobs got '{numbers}'; expected a number or a range, such as 17 or 0-99") from None
    if not 0 <= start <= end < len(jobs):
        raise InputError(f"--jobs got '{numbers}'; expected numbers from 0 to {len(jobs) - 1}")
    return jobs[start : end + 1]


@command.command("status")
@click.argument("folder", type=PATH)
@click.option("--once", is_flag=True, help="Print the table once, even on a terminal.")
@click.option("--study", "file", type=PATH, help="The study's own file, where it has changed.")
@TRUST
def status(folder: Path, once: bool, file: Path | None) -> None:
    """Show the status of a study's jobs until all are finished."""
    record = Folder(folder).read_json("study")
    jobs: Sequence[Job | Planned] | None = None if file else StudyFolder(folder).planned()
    if jobs is None:  # its plan does not say enough
        opened, note = study_in(folder, file)
        if note:
            say(note)
        jobs = None if opened is None else ordered(opened.jobs(str(record.get("scale") or "")))
    title = printable(f"{record.get('name')}, {folder}")

    def look() -> dict[str, Tally]:
        return folder_tallies(folder) if jobs is None else tallies(jobs, folder)

    if once or not console.is_terminal:
        console.print(_table(title, look()))
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            counts = look()
            live.update(_table(title, counts), refresh=True)
            if not any(tally.states["remaining"] or tally.states["running"] for tally in counts.values()):
                return
            time.sleep(2)


def _table(title: str, counts: Mapping[str, Tally]) -> Table:
    """One row per label, unless there are too many to read, and one for all jobs."""
    shown = plain_table("jobs", *TALLIED, "core time remaining", title=title)
    if len(counts) <= 40:
        for label, tally in sorted(counts.items()):
            _add_row(shown, label, tally)
    _add_row(shown, "all", sum(counts.values(), Tally()), style="bold")
    return shown


def _add_row(shown: Table, label: str, tally: Tally, style: str | None = None) -> None:
    remaining = str(timedelta(seconds=round(tally.seconds_remaining))) if tally.seconds_remaining else ""
    shown.add_row(label, *(str(tally.states[name] or "") for name in TALLIED), remaining, style=style)


@command.command("list")
def list_studies() -> None:
    """List the studies: how many jobs each has at each scale, and about how long they take on one core."""
    table = plain_table("study", "scale", "jobs", "core hours, about", "title")
    for name in STUDIES:
        opened = open_study(name)
        for scale in opened.scales():
            jobs = ordered(opened.jobs(scale))
            hours = sum(job.seconds for job in jobs) / 3600
            about = f"{hours:,.2f}" if hours < 10 else f"{hours:,.0f}"
            table.add_row(name, scale, f"{len(jobs):,}", about, opened.title)
    console.print(table)
