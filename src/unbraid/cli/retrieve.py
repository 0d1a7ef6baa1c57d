"""`unbraid retrieve`: which images are alike in one feature."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._group import PATH
from unbraid.pictures.neighbours import retrieve as retrieve_from
from unbraid.runs.run import Run


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--query", "queries", multiple=True, required=True, metavar="IMAGE", help="A picture, or a row; may be repeated."
)
@click.option("--count", type=int, default=6, show_default=True, help="Neighbours to show by each feature.")
@click.option("--out", type=PATH, help="The picture to write.  [default: neighbours.png in the run's folder]")
def retrieve(run: Path, queries: tuple[str, ...], count: int, out: Path | None) -> None:
    """Show the nearest neighbours of a query by each feature of the codes of a run."""
    click.echo(retrieve_from(Run(run), queries, out, count=count))
