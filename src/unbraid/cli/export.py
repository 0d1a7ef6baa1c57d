"""`unbraid export`: a model to take elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._group import PATH
from unbraid.cli._trust import TRUST


@click.command("export")
@click.argument("run", type=PATH)
@click.option("--to", "form", type=click.Choice(["onnx"]), required=True, help="The format.")
@click.option("--out", type=PATH, help="The folder to write to.  [default: the run's]")
@TRUST
def command(run: Path, form: str, out: Path | None) -> None:
    """Write the encoder and the decoder of a run for use elsewhere, checked against PyTorch."""
    from unbraid.explorer.onnx import export_onnx
    from unbraid.runs.run import Run

    for path in export_onnx(Run(run), out):
        click.echo(path)
