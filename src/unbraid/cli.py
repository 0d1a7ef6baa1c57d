"""The command `unbraid`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from unbraid import pictures
from unbraid.data import catalogue, files
from unbraid.errors import InputError, nearest

console = Console() if sys.stdout.isatty() else Console(width=160)  # a pipe has no width of its own
PATH = click.Path(path_type=Path)


class _Group(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise InputError(f"there is no command '{args[0]}'{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="unbraid", message="unbraid %(version)s")
def app() -> None:
    """A laboratory for disentangled representation learning."""


@app.command()
@click.option("--out", type=PATH, default=Path("demo"), show_default=True, help="Folder for the picture.")
@click.option("--resolution", type=int, default=64, show_default=True, help="Side of the images in pixels.")
def demo(out: Path, resolution: int) -> None:
    """Draw every embedded data set into one picture."""
    sheets = []
    images = 0
    for name in catalogue.DRAWN:
        opened = catalogue.load(name, resolution)
        images += len(opened)
        sheets.append(pictures.contact_sheet(name, opened, columns=10))
    path = pictures.save(pictures.beside(sheets, columns=2), out / "data.png")
    click.echo(f"{len(sheets)} data sets, {images:,} images: {path}")


@app.group(cls=_Group)
def data() -> None:
    """List, look at and fetch data sets."""


@data.command("list")
def data_list() -> None:
    """All data sets: factors, sizes, images, source, and whether they are on this machine."""
    table = Table("data set", "factors", "images", "source", "here", box=None, pad_edge=False)
    for declared in catalogue.CATALOGUE.values():
        factors = ", ".join(f"{name} {size}" for name, size in zip(declared.names, declared.sizes, strict=True))
        table.add_row(declared.name, factors or "none", f"{declared.images:,}" if declared.images else "any",
                      declared.source, "yes" if declared.here else "no")
    console.print(table)


@data.command("show")
@click.argument("name")
@click.option("--resolution", type=int, default=64, show_default=True, help="Side of the images in pixels.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random images.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, such as path=FOLDER.")
@click.option("--out", type=PATH, help="The picture to write.  [default: NAME.png]")
def data_show(name: str, resolution: int, seed: int, settings: tuple[str, ...], out: Path | None) -> None:
    """Write a contact sheet: random images, and one row per factor that moves only that factor."""
    opened = catalogue.load(name, resolution, **dict(_setting(text) for text in settings))
    click.echo(pictures.save(pictures.contact_sheet(name, opened, seed), out or Path(f"{name}.png")))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--set got '{text}'; expected NAME=VALUE")
    return name, value


@data.command("get")
@click.argument("name")
@click.option("--from", "source", type=PATH, help="Take this local copy: a file, or a folder that holds it.")
def data_get(name: str, source: Path | None) -> None:
    """Download a data set's official files, resuming where a download broke off, and verify them."""
    declared = catalogue.declared(name)
    if not declared.files:
        raise InputError(f"'{name}' needs no file: it is {declared.source}")
    for file in declared.files:
        path = files.get(file) if source is None else files.take(file, source)
        click.echo(f"{path}")


def main() -> None:
    """Run the command; a mistake of the user's becomes one line and exit code 2."""
    warnings.showwarning = lambda message, *_, **__: click.echo(f"unbraid: {message}", err=True)
    try:
        app(standalone_mode=False)
    except InputError as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("unbraid: stopped", err=True)
        sys.exit(130)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)


def _fail(message: str) -> None:
    click.echo(f"unbraid: {' '.join(message.split())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
