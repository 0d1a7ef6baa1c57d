"""`unbraid reference`: the trained models that come with the package."""

from __future__ import annotations

import click

from unbraid.cli._bands import MAIN
from unbraid.cli._tables import console, plain_table
from unbraid.pictures.names import data_name, method_name
from unbraid.runs.remote import reference_names
from unbraid.runs.run import Run


@click.command("reference")
def command() -> None:
    """List the trained models that come with the package.

    Open one with `unbraid explore reference/NAME`, or load it with unbraid.load("reference/NAME").
    """
    table = plain_table("name", "method", "data", "images", "steps", "MIG", "DCI", "FactorVAE", "SAP", "kB")
    for name in reference_names():
        run = Run(f"reference/{name}")
        config, scores, (_, height, width) = run.config, run.scores, run.spec.image_shape
        size = sum(path.stat().st_size for path in run.folder.iterdir())
        values = [f"{scores[score]:.3f}" if score in scores else "" for score in MAIN]
        method, data = method_name(config.method), data_name(str(config.data["data"]))
        table.add_row(name, method, data, f"{height}x{width}", f"{config.steps:,}", *values, f"{size / 1000:.0f}")
    console.print(table)
