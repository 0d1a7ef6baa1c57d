"""`plot`: a picture of a run or of data, for notebooks."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from PIL import Image

from unbraid.arguments import checked
from unbraid.data import FactorData
from unbraid.errors import InputError, nearest
from unbraid.metrics import Protocol, score
from unbraid.pictures.contact_sheets import contact_sheet
from unbraid.pictures.matrices import save_matrices
from unbraid.pictures.names import direction
from unbraid.pictures.traversals import show
from unbraid.runs.run import Run

FILES = ("traversals", "reconstructions", "exchanges", "unit_traversals", "umap")
"""Pictures that `unbraid show` draws."""
KINDS = (*FILES, "importance", "terms", "scores")
IMPORTANCE = Protocol("importance", {"mig": {}, "dci": {}}, train=2_000, test=1_000)
_PANELS = 9  # scores that are drawn at most


@checked
def plot(thing: Run | FactorData, what: str = "") -> Image.Image:
    """A picture of a run or of data, which a notebook shows and `save` writes to a file.

    Of a run: `traversals` (the default), `reconstructions`, `importance` (how much each code says about each factor),
    `terms` (the learning curve) or `scores` (over steps, where it was trained with `evaluate_every`); and where it has
    them `exchanges`, `unit_traversals` and `umap`. Of data: a contact sheet.
    """
    if isinstance(thing, FactorData):
        if what:
            raise InputError(f"a data set has one picture, without a name; '{what}' is one of a run")
        name = str(thing.opened["name"]) if thing.opened else type(thing).__name__
        return contact_sheet(name, thing)
    what = what or "traversals"
    if what not in KINDS:
        raise InputError(f"there is no picture '{what}'{nearest(what, KINDS)}")
    if what == "terms":
        return _curves(thing.log, thing, {})
    if what == "scores":
        return _curves(thing.score_log, thing, {name: direction(name) for name in thing.scores})
    return _importance(thing) if what == "importance" else _drawn(thing, what)


def _drawn(run: Run, what: str) -> Image.Image:
    """One of the pictures that `show` draws: the one in the run's folder, else drawn now and kept nowhere."""
    kept = run.folder / f"{what}.png"
    if kept.is_file():
        return _opened(kept)
    with tempfile.TemporaryDirectory() as folder:
        paths = {path.stem: path for path in show(run, out=Path(folder)) if path.suffix == ".png"}
        if what not in paths:
            raise InputError(f"there is no picture '{what}' of this run{nearest(what, paths)}")
        return _opened(paths[what])


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as file:
        return file.copy()


def _importance(run: Run) -> Image.Image:
    kept = run.representation()
    if not kept.names:
        raise InputError(f"{run.folder} was trained on data without factors; there is no importance to draw")
    table = score(kept.codes.numpy(), kept.known_factors().numpy(), protocol=IMPORTANCE, names=kept.names)
    with tempfile.TemporaryDirectory() as folder:
        return _opened(save_matrices(table, Path(folder) / "importance.png"))


def _curves(log: pd.DataFrame, run: Run, directions: Mapping[str, str]) -> Image.Image:
    """One panel per column over steps."""
    from unbraid.pictures import style  # matplotlib is slow to import

    columns = [str(name) for name in log if name != "step"][:_PANELS]
    if not columns:
        raise InputError(f"{run.folder} has logged nothing yet")
    drawing, axes = style.wrapped(len(columns), 3, 2.4, 1.7, head=0.1)
    for axis, name in zip(axes, columns, strict=True):
        axis.plot(log["step"], log[name], color="#0072B2", lw=1.2, marker="o" if len(log) < 30 else None, ms=3)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(f"step; {directions[name]}" if name in directions else "step", fontsize=8, color=style.FAINT)
    file = io.BytesIO()
    drawing.savefig(file, format="png", dpi=110)
    return Image.open(file)
