"""`unbraid retrieve`: which images are alike in one feature."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._group import PATH
from unbraid.cli._trust import TRUST
from unbraid.pictures.neighbours import retrieve
from unbraid.runs.run import Run


@click.command("retrieve")
@click.argument("run", type=PATH)
@click.option(
    "--query", "queries", multiple=True, required=True, metavar="IMAGE", help="A picture, or a row; may be repeated."
)
@click.option("--count", type=int, default=6, help="Neighbours to show for each feature.")
@click.option("--out", type=PATH, help="The picture to write.  [default: neighbours.png in the run's folder]")
@TRUST
def command(run: Path, queries: tuple[str, ...], count: int, out: Path | None) -> None:
    """Show the nearest neighbours of images by each feature of a run's codes."""
    click.echo(retrieve(Run(run), queries, out, count=count))
