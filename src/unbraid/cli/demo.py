"""`unbraid demo`: draw data, train four models, open them as a page with sliders, read a report."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import click

from unbraid.arguments import need_whole
from unbraid.cli._browser import open_page
from unbraid.cli._engine import started
from unbraid.cli._files import writing
from unbraid.cli._group import PATH
from unbraid.cli._tables import print_runs
from unbraid.data import catalogue
from unbraid.explorer import explore
from unbraid.jobs.training import Train
from unbraid.pictures import sheets
from unbraid.pictures.contact_sheets import contact_sheet
from unbraid.pictures.traversals import show
from unbraid.progress import progress
from unbraid.runs.run import Run
from unbraid.runs.table import load_runs
from unbraid.studies import write_report

# One desk setting for all: 32x32 images, a small network, and a learning rate that makes few steps count. Jobs train in
# fp32, so the numbers do not depend on what the CPU is fastest in.
SHARED: dict[str, Any] = {"resolution": 32, "samples": 10_000, "protocol": "fast"}
SETTINGS: dict[str, Any] = {"network": "small", "learning_rate": 1e-3}
DATA = ("shapes3d", "dsprites")
METHODS: dict[str, dict[str, Any]] = {"beta_vae": {"beta": 4.0}, "beta_tc_vae": {"beta": 6.0}}
PAGES = 20.0  # seconds for the data's pictures, the explorer and the report
TRAINING = 0.9  # the part of a model's time that is training; encoding, scores and pictures are the rest


@click.command("demo")
@click.option("--out", type=PATH, default=Path("demo"), help="Folder for runs, pictures and pages.")
@click.option("--steps", type=int, default=2000, help="Training steps of each model.")
@click.option("--workers", type=int, help="Models to train at a time.  [default: one per core of this machine]")
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the explorer in a browser.")
def command(out: Path, steps: int, workers: int | None, opens: bool) -> None:
    """Train two methods on two data sets drawn here, and open the models as a page with sliders.

    Draws the data sets, trains β-VAE and β-TCVAE on Shapes3D and dSprites, and writes pictures and scores of each, a
    report, and the explorer.
    """
    need_whole("steps", steps, 1)
    jobs = {out / f"{job.label}-{steps}": job for job in _jobs(steps)}
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    missing = {folder: job for folder, job in jobs.items() if Run(folder).state["state"] != "done"}
    for folder in jobs:
        if folder not in missing:
            click.echo(f"{folder} is done already")
    with started(out, engine="local", workers=workers) as (executor, count):
        if missing:
            click.echo(_forecast(missing.values(), min(count, len(missing))))
        click.echo(f"data: {_draw(DATA, out / 'data.png')}")
        models = {executor.submit(_make, job, folder): folder for folder, job in missing.items()}
        click.echo(f"every data set that needs no download: {_draw(catalogue.DRAWN, out / 'all_data.png')}")
        _follow(models, steps)
    print_runs(load_runs(out))
    page = explore(list(jobs), out / "explorer.html")
    click.echo(f"report: {write_report(out, out / 'report')}")
    click.echo(f"explorer, with sliders for each model: {page}")
    if opens:
        open_page(page.resolve().as_uri())


def _jobs(steps: int) -> list[Train]:
    """Each method on each data set."""
    return [
        Train(method, data, steps=steps, settings={**SETTINGS, **settings}, **SHARED)
        for data in DATA
        for method, settings in METHODS.items()
    ]


def _forecast(jobs: Collection[Train], workers: int) -> str:
    minutes = math.ceil((sum(job.seconds for job in jobs) / workers + PAGES) / 60)
    cores = "one core" if workers == 1 else f"{workers} cores"
    return f"{len(jobs)} models: about {minutes} minute{'s' if minutes > 1 else ''} on {cores}"


def _make(job: Train, folder: Path) -> list[Path]:
    """Train a model, in a process of its own, and draw pictures of it."""
    job.execute(folder, ())
    return show(Run(folder))


def _follow(models: Mapping[Future[list[Path]], Path], steps: int) -> None:
    """Show the progress of models until all are done, and their pictures as they come."""
    done: dict[Path, int] = dict.fromkeys(models.values(), 0)
    with progress(f"training {len(models)} models", steps * len(models), delay=0) as advance:
        waiting = set(models)
        while waiting:
            finished, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for folder in [models[future] for future in waiting]:
                log = Run(folder).log
                step = 0 if log.empty else int(TRAINING * log["step"].iloc[-1])
                advance(step - done[folder])
                done[folder] = step
            for future in finished:
                first, *others = future.result()
                advance(steps - done[models[future]])
                click.echo(", ".join([str(first), *(path.name for path in others)]))


def _draw(names: Iterable[str], path: Path) -> Path:
    """Data sets on one page, as small as the models see them: the first time, larger ones take half a minute."""
    drawn = [contact_sheet(name, catalogue.load(name, SHARED["resolution"]), columns=10) for name in names]
    return sheets.save(sheets.beside(drawn, columns=2), path)
