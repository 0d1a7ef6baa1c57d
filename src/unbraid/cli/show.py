"""`unbraid show`: pictures of a run."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._group import PATH
from unbraid.cli._trust import TRUST
from unbraid.pictures.traversals import show
from unbraid.runs.run import Run


@click.command("show")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Where to write the pictures.  [default: the run's folder]")
@click.option("--seed", type=int, default=0, help="Seed that chooses the images.")
@DATA_PATH
@TRUST
def command(run: Path, out: Path | None, seed: int) -> None:
    """Write pictures of a run: reconstructions, and what each latent does.

    The effects of the latents are drawn as a picture and as an animation.
    """
    for path in show(Run(run), out=out, rng=seed):
        click.echo(path)
