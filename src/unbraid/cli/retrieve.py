"""`unbraid retrieve`: which images are alike in one feature."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._files import written
from unbraid.cli._group import PATH
from unbraid.cli._pictures import pictures_for
from unbraid.cli._trust import TRUST
from unbraid.errors import InputError, printable
from unbraid.pictures.neighbours import Retrieval, retrieve, save_neighbours
from unbraid.runs.run import Run

SUFFIXES = (".png", ".csv", ".html")


@click.command("retrieve")
@click.argument("run", type=PATH)
@click.option(
    "--query", "queries", multiple=True, required=True, metavar="IMAGE",
    help="A picture of the data by its name or its row, or the path of another; may be repeated.",
)  # fmt: skip
@click.option("--count", type=int, default=6, help="Neighbours to show for each feature.")
@click.option("--pictures", type=PATH, help="Search this folder or .npz, instead of the run's own data.")
@click.option("--all", "everything", is_flag=True, help="Compare by all latents, not only the active ones.")
@click.option(
    "--out", type=PATH,
    help="The file to write: .png for a sheet, .csv for a table, .html for a page; all three without an ending.  "
    "[default: neighbours in the run's folder]",
)  # fmt: skip
@DATA_PATH
@TRUST
def command(
    run: Path, queries: tuple[str, ...], count: int, pictures: Path | None, everything: bool, out: Path | None
) -> None:
    """Show the nearest neighbours of images by each feature of a run's codes.

    Features are the active latents (by their KL), and all of them together. The neighbours' files are printed and
    in the table.
    """
    target = out or run / "neighbours"
    if target.suffix and target.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out is {out}; expected a name that ends in {', '.join(SUFFIXES)}, or without an ending")
    trained = Run(run)
    data = None if pictures is None else pictures_for(trained, pictures)
    retrieval = retrieve(trained, queries, count=count, data=data, everything=everything)
    for one in retrieval.neighbours:
        names = ", ".join(retrieval.name(row) for row in one.rows)
        click.echo(printable(f"{one.query.name}  {one.feature}: {names}"))
    for suffix in [target.suffix] if target.suffix else SUFFIXES:
        click.echo(_write(retrieval, target.with_suffix(suffix)))


def _write(retrieval: Retrieval, path: Path) -> Path:
    if path.suffix.lower() == ".png":
        return save_neighbours(retrieval, path)
    if path.suffix.lower() == ".csv":
        with written(path) as part:
            retrieval.table().to_csv(part, index=False)
        return path
    from unbraid.explorer.retrieved import write_page

    return write_page(retrieval, path)
