"""`unbraid import`: results of disentanglement_lib as a table of models."""  # noqa: N999 (the command's name)

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._files import writing
from unbraid.cli._group import PATH
from unbraid.studies.assumptions.reference import read_reference


@click.command("import")
@click.argument("source", type=PATH)
@click.option("--out", type=PATH, required=True, help="The folder to write the table to.")
def command(source: Path, out: Path) -> None:
    """Read the results of disentanglement_lib into a table of models.

    SOURCE is the results.json that dlib_aggregate_results writes, or a folder with the library's output. Afterwards
    `unbraid report assumptions --results OUT` draws the study's report from it.
    """
    table = read_reference(source)
    with writing(out):
        table.save(out)
    words = [f"{count:,} of {method}" for method, count in table.frame["method"].value_counts(sort=False).items()]
    scores = [str(name) for name in table.frame if str(name).startswith("scores.")]
    click.echo(f"{out}  {len(table.frame):,} models with {len(scores)} scores: {', '.join(words)}")
