"""The look of all matplotlib drawings: names and colours of methods and data sets, panels, heat maps, legends.

Drawings are matplotlib Figures made without pyplot, so that nothing is kept open and nothing is global.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from unbraid.pictures.names import method_name

Array = np.ndarray[Any, Any]

# A method keeps its colour and its mark in every drawing; colour-blind readers can distinguish the colours.
STYLES = {
    "beta_vae": ("#0072B2", "o"),
    "factor_vae": ("#E69F00", "s"),
    "beta_tc_vae": ("#56B4E9", "^"),
    "dip_vae_i": ("#009E73", "D"),
    "dip_vae_ii": ("#CC79A7", "v"),
    "annealed_vae": ("#B03A2E", "P"),
    "autoencoder": ("#777777", "X"),
}
FAINT = "#888888"


def method_colour(method: str) -> str:
    return STYLES[method][0] if method in STYLES else "#333333"


def method_mark(method: str) -> str:
    return STYLES[method][1] if method in STYLES else "."


def words(text: str) -> str:
    """Text that Matplotlib shows as it is: names are anybody's, and may hold what it would take for mathematics."""
    return text.replace("$", r"\$") if text.count("$") > 1 else text


def panels(
    rows: int, columns: int, width: float = 2.0, height: float = 1.7, head: float = 0.5, **sharing: Any
) -> tuple[Drawing, Array]:
    """A drawing of rows × columns panels of this size in inches, with `head` inches above for a legend."""
    drawing = Drawing(figsize=(max(columns * width, 3.2) + 0.3, rows * height + head), dpi=120, layout="constrained")
    axes = drawing.subplots(rows, columns, squeeze=False, **sharing)
    for axis in axes.flat:
        plain(axis)
    return drawing, np.asarray(axes)


def wrapped(
    count: int, columns: int = 4, width: float = 2.6, height: float = 2.2, head: float = 0.5, **sharing: Any
) -> tuple[Drawing, list[Axes]]:
    """A drawing of `count` panels, at most `columns` per row; the rest of the last row stays blank."""
    columns = max(1, min(columns, count))
    rows = -(-max(1, count) // columns)
    drawing, axes = panels(rows, columns, width, height, head, **sharing)
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.remove()
    return drawing, flat[:count]


def plain(axis: Axes) -> None:
    """No box, small ticks, a faint grid behind."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=7, length=2, pad=2)
    axis.grid(color="#e6e6e6", linewidth=0.6)
    axis.set_axisbelow(True)


def logarithmic(axis: Axes) -> None:
    """A logarithmic y axis with plain numbers, at 1, 2 and 5 where it spans few powers of ten."""
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    narrow = math.log10(high / low) < 2.5
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())


def legend(drawing: Drawing, methods: Sequence[str], lines: bool = False) -> None:
    """The methods' names above all panels."""
    handles = [
        Line2D(
            [], [], color=method_colour(method), marker=method_mark(method), markersize=4.5,
            linestyle="-" if lines else "none", linewidth=1.2, label=method_name(method),
        )
        for method in methods
    ]  # fmt: skip
    if handles:
        wide = max(1, int(drawing.get_figwidth() / 1.15))
        drawing.legend(
            handles=handles, loc="outside upper center", ncols=min(len(handles), wide), fontsize=8, frameon=False
        )


def label(artist: Artist, series: str = "", runs: Sequence[str] = ()) -> None:
    """Say which entry of the legend an artist belongs to, and of which run each of its points is: the page reads it.

    Without a label an artist belongs to the entry that has its colour. `runs` are folders, as in the table of runs.
    """
    artist.set_gid(json.dumps({"series": series, "runs": [str(run) for run in runs]}))


def label_of(artist: Artist) -> tuple[str, list[str]]:
    """The series and the runs that `label` was given, empty where it was not called."""
    gid = artist.get_gid()
    record = json.loads(gid) if gid and gid.startswith("{") else {}
    return record.get("series", ""), record.get("runs", [])


def dots(axis: Axes, x: Array, y: Array, method: str, size: float = 9.0, runs: Sequence[str] | None = None) -> None:
    """A cloud of models, one run each where `runs` are given."""
    known = np.isfinite(x) & np.isfinite(y)
    cloud = axis.scatter(
        x[known], y[known], s=size, color=method_colour(method), marker=method_mark(method), alpha=0.65, linewidths=0
    )
    label(cloud, method_name(method), [] if runs is None else list(np.asarray(runs, object)[known]))


def line(axis: Axes, x: Array, y: Array, method: str, runs: Sequence[str] | None = None) -> None:
    """A method's values as a line with marks, one run each where `runs` are given."""
    (drawn,) = axis.plot(x, y, color=method_colour(method), marker=method_mark(method), markersize=3.2, linewidth=1.1)
    label(drawn, method_name(method), runs or ())


def correlations(axis: Axes, matrix: Array, rows: Sequence[str], columns: Sequence[str]) -> None:
    """A matrix of correlations as coloured cells with hundredths in them; grey where unknown."""
    axis.set_facecolor("#dddddd")
    axis.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    axis.grid(False)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)  # no names, no ticks
    axis.tick_params(labelsize=7, length=0)
    for (row, column), value in np.ndenumerate(matrix):
        text = f"{round(100 * value)}".replace("-", "−") if np.isfinite(value) else "–"
        ink = "white" if abs(value) > 0.6 else "black"
        axis.text(column, row, text, ha="center", va="center", fontsize=6.5, color=ink)
