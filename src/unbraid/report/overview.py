"""A report on runs that belong to no study: their scores, their terms, what their latents do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from PIL import Image

from unbraid.data.reading import picture
from unbraid.errors import InputError
from unbraid.own import label as label_of
from unbraid.pictures import style
from unbraid.pictures.names import direction, method_name
from unbraid.pictures.style import label
from unbraid.report.comparison import comparison
from unbraid.report.parts import Figure, Picture, Section, Table
from unbraid.report.runs import PICTURES, choose, main_scores, names, pictures, reasons

FEW = 8  # runs that a chart tells apart one by one
MANY = 50  # runs of a kind above which a chart shows their quartiles
ROWS = 20  # runs, or reasons, that a table lists one by one
STANDING = ("done", "queued", "running")  # states of runs that nothing is wrong with
SHOWN = 12  # runs whose pictures are on the page
UNFOLDED = 4  # of them, whose pictures show at once
_TITLES = {"unit_traversals": "Traversals from −1 to 1", "umap": "UMAP of the codes"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5d5d5d", "#882255")  # by Okabe and Ito


def overview(
    runs: pd.DataFrame,
    out: Path | None = None,
    draw: int = SHOWN,
    baseline: str | None = None,
    chosen_by: str | None = None,
) -> list[Section]:
    """Sections on any folder of runs. Up to `draw` finished runs without pictures get them, in the folder `out`.

    Of several methods first their comparison, with `baseline` and `chosen_by` as in `comparison`.
    """
    runs = runs.reset_index(drop=True)
    sections = comparison(runs, baseline, chosen_by)
    if main_scores(runs):
        sections.append(_scores(runs))
    terms = [name for name in runs.columns if str(name).startswith("terms.") and runs[name].notna().any()]
    if terms:
        sections.append(_terms(runs, terms))
    if shown := _pictures(runs, out, draw):
        sections.append(shown)
    if "state" in runs and (~runs["state"].isin(STANDING)).any():
        sections.append(_unfinished(runs))
    return sections


def _scores(runs: pd.DataFrame) -> Section:
    scores = main_scores(runs)
    scored = runs[runs[scores].notna().any(axis=1)]
    if len(scored) <= FEW:
        groups, text = pd.Series(names(scored), index=scored.index), "One dot per run."
    else:
        groups, text = _kinds(scored), "One dot per run; runs of one method share a line and a colour."
        if groups.value_counts().max() > MANY:
            text = "Of the runs of one method: the median (dot), the quartiles (thick line) and the range (thin line)."
    directions = {direction(score) for score in scores}
    text += f" {directions.pop().capitalize()} in each of them." if len(directions) == 1 else ""
    figure = Figure("scores", "Scores of the runs", dots(scored, scores, groups), "One panel per score.")
    return Section("Scores", text, [figure])


def _kinds(runs: pd.DataFrame) -> pd.Series[Any]:
    """What each run is: its method, and its data where that differs."""
    methods = _named(runs["method"])
    if "data" in runs and runs["data"].nunique() > 1:
        kinds = methods + ", " + _named(runs["data"])
        if kinds.nunique() <= 12:
            return kinds
    return methods


def _named(column: pd.Series[Any]) -> pd.Series[Any]:
    """Methods or data sets; of the user's own the name alone, and where versions differ the digest of each too."""
    names = column.astype(str)
    own = {name: label_of(name) for name in names.unique()}
    several = {name for name in own.values() if list(own.values()).count(name) > 1}
    return names.map({name: f"{short} ({name[-12:]})" if short in several else short for name, short in own.items()})


def dots(runs: pd.DataFrame, scores: list[str], groups: pd.Series[Any]) -> Drawing:
    """A panel for each score, and in it a line of dots for each group of runs."""
    distinct = list(dict.fromkeys(groups))
    head = 0.3 + 0.2 * -(-len(distinct) // 3)
    drawing, axes = style.wrapped(len(scores), 3, 2.9, 0.85 + 0.16 * len(distinct), head)
    known = all(group in style.STYLES for group in distinct)
    for axis, score in zip(axes, scores, strict=True):
        for line, group in enumerate(distinct):
            colour = style.method_colour(group) if known else COLOURS[line % len(COLOURS)]
            name = style.words(method_name(str(group)))
            own = runs[(groups == group) & runs[score].notna()]
            _line(axis, own[score], line, 5 if len(runs) <= FEW else 3.6, colour, name)
            label(axis.lines[-1], name, list(own.get("run", [])) if len(own) <= MANY else [])
        axis.set_title(style.words(score.removeprefix("scores.")), fontsize=9)
        axis.set_xlabel(direction(score), fontsize=8, color=style.FAINT)
        axis.set_yticks([])
        axis.set_ylim(len(distinct) - 0.4, -0.6)
        axis.spines["left"].set_visible(False)
        if runs[score].min() >= 0 and runs[score].max() <= 1:
            axis.set_xlim(-0.02, 1.02)
    handles = axes[0].get_legend_handles_labels()[0]
    drawing.legend(
        handles=handles, loc="outside upper left", ncols=min(3, len(handles)), fontsize=9, frameon=False,
        handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
    return drawing


def _line(axis: Axes, values: pd.Series[Any], height: float, size: float, colour: str, name: str) -> None:
    """Dots, or for many runs their range, their quartiles and their median: a page cannot hold a dot for each."""
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": colour, "label": name}
    if len(values) <= MANY:
        alpha = 0.9 if len(values) < 10 else 0.6
        axis.plot(values, [height] * len(values), ms=size, mew=0, alpha=alpha, **dots)
        return
    low, first, median, third, high = values.quantile([0, 0.25, 0.5, 0.75, 1])
    axis.plot([low, high], [height] * 2, lw=0.8, color=colour, solid_capstyle="butt")
    axis.plot([first, third], [height] * 2, lw=3, color=colour, solid_capstyle="butt")
    axis.plot([median], [height], ms=5, mew=1, mec="#ffffff", **dots)


def _terms(runs: pd.DataFrame, terms: list[str]) -> Section:
    labels = {name: name.removeprefix("terms.") for name in terms}
    runs = runs[runs[terms].notna().any(axis=1)].reset_index(drop=True)
    if len(runs) <= ROWS:
        frame = runs[terms].rename(columns=labels)
        frame.insert(0, "run", names(runs))
        return Section("Terms", "The last that each run logged.", [Table("terms", "Terms of the runs", frame)])
    kinds = _kinds(runs).rename("runs of")
    frame = runs[terms].rename(columns=labels).groupby(kinds).mean()
    frame.insert(0, "runs", kinds.value_counts().reindex(frame.index))
    text = "The mean of the last that each run logged."
    return Section("Terms", text, [Table("terms", "Terms of the runs", frame)])


def _pictures(runs: pd.DataFrame, out: Path | None, draw: int) -> Section | None:
    """Traversals and reconstructions of up to a dozen runs."""
    labels = names(runs)
    items = []
    for number, row in enumerate(choose(runs, SHOWN)):
        paths, _ = pictures(Path(runs["run"][row]), out, make=number < draw)
        for name in PICTURES:
            if name in paths:
                image = _opened(paths[name])
                if image is not None:
                    title = f"{_TITLES.get(name, name.capitalize())} of {labels[row]}"
                    items.append(Picture(f"{name}-{number + 1}", title, image, folded=number >= UNFOLDED))
    if not items:
        return None
    text = "Each row of a traversal moves one latent of the same image."
    return Section("Traversals and reconstructions", text, items)


def _opened(path: Path) -> Image.Image | None:
    try:
        with picture(path, path, ("PNG",)) as image:
            return image.copy()
    except InputError:
        return None  # half a file is no picture


def _unfinished(runs: pd.DataFrame) -> Section:
    """Runs that ended before they were done, by what ended them."""
    frame = pd.DataFrame({
        "state": runs["state"],
        "reason": reasons(runs) if "reason" in runs else "",
        "such as": names(runs),
    })  # fmt: skip
    frame = frame[~frame["state"].isin(STANDING)].fillna({"reason": ""})
    grouped = frame.groupby(["state", "reason"])["such as"].agg(["size", "first"]).reset_index()
    grouped = grouped.sort_values("size", ascending=False, kind="stable", ignore_index=True)
    text = "" if len(grouped) <= ROWS else f"The {ROWS} most frequent of {len(grouped):,} reasons."
    shown = grouped.head(ROWS).rename(columns={"size": "runs", "first": "such as"})
    return Section("Runs that did not finish", text, [Table("unfinished", "Why they did not finish", shown)])
