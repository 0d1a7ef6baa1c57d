"""`unbraid demo`: draw data, train three methods, look at what they learned, read a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unbraid.cli._group import PATH
from unbraid.cli._tables import print_runs
from unbraid.data import catalogue
from unbraid.pictures import sheets
from unbraid.pictures.traversals import show
from unbraid.runs.recording import train
from unbraid.runs.table import load_runs
from unbraid.studies import write_report

# One desk setting for all: dSprites at 32x32, a small network, and a learning rate that makes few steps count.
SHARED: dict[str, Any] = {
    "resolution": 32,
    "network": "small",
    "learning_rate": 1e-3,
    "samples": 20_000,
    "protocol": "fast",
}
METHODS: dict[str, dict[str, Any]] = {
    "beta_vae": {"beta": 4.0},
    "beta_tc_vae": {"beta": 6.0},
    "factor_vae": {"gamma": 10.0, "discriminator_layers": 2, "discriminator_width": 256},
}


@click.command("demo")
@click.option("--out", type=PATH, default=Path("demo"), help="Folder for runs and pictures.")
@click.option("--steps", type=int, default=4000, help="Training steps of each method.")
def command(out: Path, steps: int) -> None:
    """Train three methods on data drawn here, and show what they learned.

    Draws every embedded data set into one picture, trains β-VAE, β-TCVAE and FactorVAE on dSprites, writes pictures
    and scores of each, and a report of all three.
    """
    click.echo(f"data: {draw_data(out / 'data.png')}")
    for name, settings in METHODS.items():
        run = train(name, "dsprites", steps=steps, out=out / f"{name}-{steps}", say=click.echo, **SHARED, **settings)
        reconstructions, traversals, animation = show(run)
        click.echo(f"{name}: {reconstructions}, {traversals.name}, {animation.name}")
    click.echo(f"report: {write_report(out, out / 'report')}")
    print_runs(load_runs(out))


def draw_data(path: Path, resolution: int = 64) -> Path:
    """Every embedded data set on one page."""
    drawn = [sheets.contact_sheet(name, catalogue.load(name, resolution), columns=10) for name in catalogue.DRAWN]
    return sheets.save(sheets.beside(drawn, columns=2), path)
