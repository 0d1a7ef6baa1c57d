"""`unbraid explore`: a page with sliders."""

from __future__ import annotations

from pathlib import Path

import click

from unbraid.cli._browser import open_page
from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._group import PATH, say
from unbraid.cli._trust import TRUST


@click.command("explore")
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="The page to write.  [default: explorer.html in the run's folder]")
@click.option("--names", type=PATH, help="A names.json that a page has saved.  [default: the one in the run's folder]")
@click.option("--serve", is_flag=True, help="Serve the page on this machine instead, and decode with PyTorch.")
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the page in a browser.")
@DATA_PATH
@TRUST
def command(runs: tuple[Path, ...], out: Path | None, names: Path | None, serve: bool, opens: bool) -> None:
    """Open a run as a page with sliders, or several as a gallery.

    A folder stands for the runs below it, hf://USER/NAME for a run on the Hugging Face Hub, reference/NAME for one that
    comes with the package. The page is one file that needs no network.
    """
    from unbraid.explorer import page

    if serve:
        _serve(runs, names, opens)
        return
    path = page.explore(runs[0] if len(runs) == 1 else runs, out, names=names)
    click.echo(path)
    if opens:
        open_page(path.resolve().as_uri())


def _serve(runs: tuple[Path, ...], names: Path | None, opens: bool) -> None:
    from unbraid.explorer import page
    from unbraid.explorer.server import Server

    chosen = page.runs_of(runs)
    contents = page.contents_of(chosen, names=names, served=True)
    text = page.page_of(contents, labels=[run.folder.name for run in chosen], served=True)
    with Server(text, contents) as server:
        click.echo(server.address)
        say("serving until you press Ctrl-C")
        if opens:
            open_page(server.address)
        server.serve_forever()
