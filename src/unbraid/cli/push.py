"""`unbraid push`: publish a run on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._group import PATH


@click.command("push")
@click.argument("run", type=PATH)
@click.argument("name", metavar="USER/NAME")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@click.option("--licence", metavar="NAME", help="Licence of the weights, by the Hub's name, such as cc-by-4.0.")
@click.option("--codes", type=int, default=5_000, help="How many codes to publish with the model.")
@click.option("--out", type=PATH, help="Write what would be published into this folder instead.")
def command(run: Path, name: str, private: bool, licence: str | None, codes: int, out: Path | None) -> None:
    """Publish a run on the Hugging Face Hub, with a model card made from its record.

    Log in first with `hf auth login`, or set HF_TOKEN. Others load it with unbraid.load("hf://USER/NAME").
    """
    from unbraid import hub

    if out is not None:
        click.echo(hub.prepare(run, name, out, licence=licence, codes=codes) / "README.md")
        return
    click.echo(hub.push_to_hub(run, name, private=private, licence=licence, codes=codes))
