"""The picture of a population's history: scores and hyperparameters by generation, and where the winner came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.pictures.style import FAINT, logarithmic, wrapped
from unbraid.search.history import hyperparameter_names, lineage

WINNER, OTHERS, COPY = "#0072B2", "#b8b8b8", "#E69F00"


def draw(table: pd.DataFrame, score: str = "score") -> Drawing:
    """A panel for the score and one for each hyperparameter; a line for each member, joined to the one it copied."""
    names = ["score", *hyperparameter_names(table)]
    drawing, axes = wrapped(len(names), columns=2 if len(names) <= 4 else 3, width=3.6, height=2.3, head=0.55)
    rows = table.set_index(["generation", "member"])
    line = lineage(table)
    chosen = set(line)
    for axis, name in zip(axes, names, strict=True):
        for (generation, member), row in rows.iterrows():
            if generation:
                parent = int(row["parent"])
                ends = [rows.loc[(generation - 1, parent), name], row[name]]
                line_style = _OWN if parent == member else _COPIED
                axis.plot([generation, generation + 1], ends, zorder=1, **line_style)
            if (generation, member) not in chosen:
                axis.plot(generation + 1, row[name], ".", color=OTHERS, markersize=3.5, zorder=2)
        values = [rows.loc[key, name] for key in line]
        axis.plot([key[0] + 1 for key in line], values, "o-", color=WINNER, markersize=3.5, linewidth=1.6, zorder=3)
        axis.set_title(score if name == "score" else name.replace("_", " "), fontsize=9, loc="left")
        axis.set_xlabel("generation", fontsize=7, color=FAINT)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if name == "score":
            medians = table.groupby("generation")["score"].median()
            axis.plot(medians.index + 1, medians, color="#333333", linewidth=1.0, linestyle=":", zorder=2)
        elif (table[name] > 0).all() and table[name].max() > table[name].min():
            logarithmic(axis)
    _legend(drawing)
    return drawing


_OWN: dict[str, Any] = {"color": OTHERS, "linewidth": 0.8}
_COPIED: dict[str, Any] = {"color": COPY, "linewidth": 0.8, "linestyle": "--"}


def _legend(drawing: Drawing) -> None:
    styles: dict[str, dict[str, Any]] = {
        "the best and its ancestors": {"color": WINNER, "marker": "o", "markersize": 3.5, "linewidth": 1.6},
        "a member": {"color": OTHERS, "marker": ".", "linewidth": 0.8},
        "copies another": _COPIED,
        "median": {"color": "#333333", "linestyle": ":", "linewidth": 1.0},
    }
    handles = [Line2D([], [], label=label, **line_style) for label, line_style in styles.items()]
    drawing.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8, frameon=False)


def save(table: pd.DataFrame, path: Path, score: str = "score") -> Path:
    """Draw a history into a PNG, whole or not at all."""
    try:
        with replacing(path) as part:
            draw(table, score).savefig(part, format="png", dpi=150)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path
