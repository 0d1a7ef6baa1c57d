"""`unbraid data`: list, show and fetch data sets."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._flags import setting
from unbraid.cli._group import PATH, Group
from unbraid.cli._tables import console, plain_table
from unbraid.data import catalogue, files
from unbraid.errors import InputError
from unbraid.pictures import sheets
from unbraid.pictures.contact_sheets import contact_sheet


@click.group("data", cls=Group)
def command() -> None:
    """List, show and fetch data sets."""


@command.command("list")
def list_sets() -> None:
    """List all data sets: factors, sizes, images, source, and whether they are on this machine."""
    table = plain_table("data set", "factors", "images", "source", "here")
    for declared in catalogue.CATALOGUE.values():
        factors = ", ".join(f"{name} {size}" for name, size in zip(declared.names, declared.sizes, strict=True))
        images = f"{declared.images:,}" if declared.images else "any"
        table.add_row(declared.name, factors or "none", images, declared.description, "yes" if declared.here else "no")
    console.print(table)


@command.command("show")
@click.argument("name")
@click.option("--resolution", type=int, default=64, help="Side of the images in pixels.")
@click.option("--seed", type=int, default=0, help="Seed of the random images.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, such as path=FOLDER.")
@click.option("--out", type=PATH, help="The picture to write.  [default: NAME.png]")
def show(name: str, resolution: int, seed: int, settings: tuple[str, ...], out: Path | None) -> None:
    """Write a contact sheet: random images, and one row per factor in which only that factor changes."""
    opened = catalogue.load(name, resolution, **dict(setting(text) for text in settings))
    click.echo(sheets.save(contact_sheet(name, opened, seed), out or Path(f"{name}.png")))


@command.command("get")
@click.argument("name")
@click.option("--from", "source", type=PATH, help="Take this local copy: a file, or a folder that holds it.")
def get(name: str, source: Path | None) -> None:
    """Download and verify the official files of a data set, resuming a download that broke off."""
    declared = catalogue.declared(name)
    if not declared.files:
        raise InputError(f"'{name}' needs no file: it is {declared.source}")
    for file in declared.files:
        click.echo(files.get(file) if source is None else files.take(file, source))
