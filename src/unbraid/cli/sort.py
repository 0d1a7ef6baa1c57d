"""`unbraid sort`: pictures in the order of a factor."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import torch
from torch import Tensor

from unbraid.cli._files import beside
from unbraid.cli._group import PATH
from unbraid.cli._pictures import pictures_for
from unbraid.cli._trust import TRUST
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.pictures.sheets import Strip, save, sheet
from unbraid.runs.latents import find_latent, latents_of
from unbraid.runs.run import Run
from unbraid.search.circles import read_circles
from unbraid.training.representation import encode_all

COLUMNS, ROWS = 12, 10  # of a contact sheet


@click.command("sort")
@click.argument("folder", type=PATH)
@click.option(
    "--by",
    required=True,
    metavar="FACTOR",
    help="The factor, such as factor_1, z3, circle_4_5 or a name you gave.",
)
@click.option("--model", type=PATH, help="The run that encodes them.  [default: FOLDER-factors/model]")
@click.option("--links", type=PATH, help="Make a folder of links to the pictures, named in this order, instead.")
@click.option("--out", type=PATH, help="The picture to write.  [default: sorted-FACTOR.png beside the model]")
@TRUST
def command(folder: Path, by: str, model: Path | None, links: Path | None, out: Path | None) -> None:
    """Show the pictures of a folder in the order of a factor.

    FOLDER holds the pictures. The contact sheet shows them evenly spaced along the factor: the fastest way to see what
    the factor is.
    """
    run = Run(model or beside(folder, "-factors") / "model")
    name, values_of = _factor(run, by)
    data = pictures_for(run, folder)
    values = values_of(encode_all(run.method(), data))
    order = values.argsort(stable=True)
    if links is not None:
        click.echo(_link(folder, data, order.tolist(), links))
        return
    target = out or run.folder.parent / f"sorted-{name.replace(' ', '_').replace(os.sep, '_')}.png"
    shown = order[torch.linspace(0, len(order) - 1, min(len(order), COLUMNS * ROWS)).round().long()]
    strips = [
        Strip(f"{float(values[rows[0]]):.2f}", data.images_at(rows), f"to {float(values[rows[-1]]):.2f}")
        for rows in torch.split(shown, COLUMNS)
    ]
    title = f"{len(data):,} pictures by {name}"
    click.echo(save(sheet(title, "from the lowest value to the highest, row by row", strips), target))


def _factor(run: Run, by: str) -> tuple[str, Callable[[Tensor], Tensor]]:
    """The name of a factor, latent or circle, and what gives its values from codes; of a circle these are degrees."""
    latents = latents_of(run)
    circles = read_circles(run.folder, len(latents))
    spoken = by.replace(" ", "_").casefold()
    if spoken in circles:
        return spoken, lambda codes: torch.from_numpy(circles[spoken].degrees(codes.numpy()))
    latent = find_latent(latents, by, circles)
    return latent.name, lambda codes: codes[:, latent.index]


def _link(folder: Path, data: Pictures, order: list[int], links: Path) -> str:
    """Links named 00001-NAME, … in the order."""
    if not folder.is_dir():
        raise InputError(f"--links needs a folder of pictures; {folder} is not one")
    try:
        links.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"{links} exists already; choose another folder for --links") from None
    except OSError as error:
        raise InputError(f"cannot write {links}: {error.strerror or error}") from error
    digits = len(str(len(order)))
    for number, row in enumerate(order, 1):
        name = data.files[row]
        link = links / f"{number:0{digits}}-{Path(name).name}"
        try:
            link.symlink_to((folder / name).resolve())
        except OSError as error:
            shutil.rmtree(links)  # all of them, or none
            raise InputError(f"cannot write {link}: {error.strerror or error}") from error
    return f"{links}  {len(order):,} links"
