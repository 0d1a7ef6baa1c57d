"""The study's figures, each a function of the models, and the pictures that rPU-VAEs leave in their folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from PIL import Image, ImageDraw, ImageFont

from unbraid.data import reading
from unbraid.pictures import style
from unbraid.pictures.names import data_name
from unbraid.pictures.traversals import run_traversals
from unbraid.report.estimates import Array, known, mean
from unbraid.report.run_table import known_mean
from unbraid.runs.folder import unlinked
from unbraid.runs.run import Run
from unbraid.search.history import hyperparameter_names
from unbraid.studies.population.jobs import BY_UDR, RPU
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    METRICS,
    NAMES,
    Models,
    best_known,
)

COLOURS = {RPU: "#B03A2E", BY_MIG: "#0072B2", BY_DCI: "#E69F00", BY_FEW: "#56B4E9", BY_UDR: "#CC79A7"}
SEED_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#B03A2E")
PLAIN, INK = "#777777", "#222222"
SHEETS = 5  # pictures shown below each other at most


def scores(models: Models, approaches: Sequence[str], data_sets: Sequence[str]) -> Drawing:
    """One row per data set, one column per metric: the models of each approach, with their mean and its interval."""
    drawing, axes = style.panels(len(data_sets), len(METRICS), 1.6 + 0.42 * len(approaches), 2.9, 0.1)
    for row, data in enumerate(data_sets):
        present = models.present(approaches, data)
        for axis, (column, metric) in zip(axes[row], METRICS.items(), strict=True):
            for x, approach in enumerate(present):
                _column(axis, x, models.scores(approach, data, column), COLOURS.get(approach, PLAIN))
            names = [NAMES.get(approach, approach) for approach in present]
            axis.set_xticks(range(len(present)), names, rotation=38, ha="right", rotation_mode="anchor")
            axis.set_xlim(-0.6, max(len(present), 1) - 0.4)
            axis.set_ylim(bottom=0)
            axis.grid(axis="x", visible=False)
            axis.set_title(f"{metric}, {data_name(data)}" if len(data_sets) > 1 else metric, fontsize=9)
    return drawing


def _column(axis: Axes, x: float, values: Array, colour: str) -> None:
    """Values beside each other so that none hides another, their mean as a bar, its interval as a line."""
    finite = known(values)
    if not len(finite):
        return
    beside = x + 0.34 * ((np.arange(len(finite)) + 0.5) / len(finite) - 0.5)
    axis.plot(beside, finite, "o", color=colour, markersize=3.4, alpha=0.65, markeredgewidth=0, zorder=3)
    middle = mean(finite)
    axis.plot([x - 0.3, x + 0.3], [middle.value] * 2, color=INK, linewidth=1.6, zorder=4)
    if np.isfinite(middle.low):
        axis.plot([x] * 2, [max(middle.low, 0), middle.high], color=INK, linewidth=0.8, zorder=2)


def leaf_runs(models: Models, data_sets: Sequence[str]) -> Drawing:
    """Scores against the number of leaf-runs: one row per data set, one column per metric, one line per seed."""
    drawing, axes = style.panels(len(data_sets), len(METRICS), 2.9, 2.3, 0.35)
    for row, data in enumerate(data_sets):
        leaves = range(models.most_leaves(data) + 1)
        for axis, (column, metric) in zip(axes[row], METRICS.items(), strict=True):
            lines = np.stack([models.by_seed(RPU, data, column, count) for count in leaves], 1)  # (seeds, leaf-runs)
            for line in lines:
                axis.plot(leaves, line, "o-", color=COLOURS[RPU], alpha=0.35, markersize=3, linewidth=0.9)
            axis.plot(leaves, known_mean(lines, 0), color=INK, linewidth=1.8, marker="_", markersize=12, zorder=4)
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_xlabel("leaf-runs", fontsize=8)
            axis.set_title(f"{metric}, {data_name(data)}" if len(data_sets) > 1 else metric, fontsize=9)
    _legend(drawing, {"one seed": COLOURS[RPU], "mean": INK})
    return drawing


def hyperparameters(histories: Mapping[str, pd.DataFrame]) -> Drawing:
    """A panel for the best score and one for each hyperparameter: the members' geometric mean and range by generation.

    One colour per history; hyperparameters are those that all histories have.
    """
    tables = list(histories.values())
    names = [name for name in hyperparameter_names(tables[0]) if all(name in table for table in tables)]
    drawing, axes = style.wrapped(len(names) + 1, 2, 3.3, 2.0, 0.45)
    for table, colour in zip(tables, SEED_COLOURS * len(tables), strict=False):
        rows = table.dropna(subset=["score"]).groupby("generation")
        at = np.array(sorted(rows.groups)) + 1
        axes[0].plot(at, rows["score"].max(), "o-", color=colour, markersize=3, linewidth=1.2)
        for axis, name in zip(axes[1:], names, strict=True):
            values = rows[name]
            axis.plot(at, np.exp(values.apply(lambda one: np.log(one).mean())), color=colour, linewidth=1.4)
            axis.fill_between(at, values.min(), values.max(), color=colour, alpha=0.1, linewidth=0)
    for axis, name in zip(axes, ["best score", *names], strict=True):
        axis.set_title(name.replace("_", " "), fontsize=9, loc="left")
        axis.set_xlabel("generation", fontsize=7, color=style.FAINT)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axis in axes[1:]:
        style.logarithmic(axis)
    _legend(drawing, dict(zip(histories, SEED_COLOURS * len(tables), strict=False)))
    return drawing


def known_factors(models: Models, data: str) -> Drawing:
    """The largest share of each factor that one active latent tells: one panel per leaf-run, one row per metaEpoch."""
    epochs = models.epochs_of(data)
    paths = [
        (seed, leaf, rows[rows["leaf"].isin([0, leaf])])
        for seed, rows in epochs.groupby("seed")
        for leaf in (sorted(set(rows["leaf"]) - {0}) or [0])
    ]
    factors = next(list(knows[0]) for knows in epochs["knows"] if knows)
    drawing, axes = style.wrapped(len(paths), 3, 2.5, 1.9, 0.1)
    for axis, (seed, leaf, rows) in zip(axes, paths, strict=True):
        shown = rows[rows["latents"].map(len) > 0]
        shape = (len(shown), len(factors))
        shares = np.array([[best_known(knows)[name] for name in factors] for knows in shown["knows"]]).reshape(shape)
        fixed = np.array([[values[name] == 1 for name in factors] for values in shown["values"]], bool).reshape(shape)
        axis.imshow(np.where(fixed, np.nan, shares), cmap="Greens", vmin=0, vmax=1, aspect="auto")
        axis.set_facecolor("#e2e2e2")
        axis.grid(False)
        for (row, column), value in np.ndenumerate(shares):
            text = "fixed" if fixed[row, column] else f"{value:.2f}"
            axis.text(column, row, text, ha="center", va="center", fontsize=6, color="white" if value > 0.6 else INK)
        axis.set_xticks(range(len(factors)), factors, fontsize=7)
        axis.set_yticks(range(len(shown)), [f"{number}" for number in shown["metaepoch"]])
        axis.set_title(f"seed {seed}" + (f", leaf-run {leaf}" if leaf else ""), fontsize=8)
        axis.set_ylabel("metaEpoch", fontsize=7)
        axis.tick_params(length=0)
    return drawing


def _legend(drawing: Drawing, colours: Mapping[str, str]) -> None:
    handles = [Line2D([], [], color=colour, linewidth=1.6, label=name) for name, colour in colours.items()]
    drawing.legend(
        handles=handles, loc="outside upper center", ncols=max(1, min(len(handles), 5)), fontsize=8, frameon=False
    )


# Pictures from the study's folder


def first_epochs(models: Models, data: str) -> Image.Image | None:
    """Figure 2: traversals of the first metaEpoch of each seed, below each other."""
    paths = {seed: folder / "metaepoch1" / "traversals.png" for seed, folder in _folders(models, data).items()}
    existing = {seed: unlinked(path, path.parents[1]) for seed, path in paths.items() if path.is_file()}
    return below({f"seed {seed}": _opened(path) for seed, path in list(existing.items())[:SHEETS]})


def reduction(models: Models, data: str) -> Image.Image | None:
    """Figure 3, of the first seed whose data was reduced."""
    folder = _reduced(models, data)
    return None if folder is None else _opened(unlinked(min(folder.glob("leaf*/metaepoch2/reduction.png")), folder))


def meta_epochs(models: Models, data: str) -> Image.Image | None:
    """Figure 5, of the same seed."""
    folder = _reduced(models, data)
    return None if folder is None else _opened(unlinked(folder / "metaepochs.png"))


def final_model(models: Models, data: str, approach: str) -> Image.Image | None:
    """Figures 12 and 14: traversals of the model of the first seed; of rPU-VAE with the most leaf-runs."""
    rows = models.rows(approach, data)
    return None if models.table.folder is None or not len(rows) else run_traversals(Run(Path(rows["run"].iloc[0])))


def _folders(models: Models, data: str) -> dict[int, Path]:
    """The folder of each rPU-VAE, by seed."""
    epochs, study = models.epochs_of(data), models.table.folder
    if study is None or not len(epochs):
        return {}
    folders = {int(row.seed): study / "jobs" / str(row.job) / "rpu" for row in epochs.itertuples()}
    return {seed: unlinked(folder, study) for seed, folder in folders.items()}


def _reduced(models: Models, data: str) -> Path | None:
    """The first rPU-VAE that went on after its first metaEpoch."""
    for folder in _folders(models, data).values():
        if (folder / "metaepochs.png").is_file() and any(folder.glob("leaf*/metaepoch2/reduction.png")):
            return folder
    return None


def _opened(path: Path) -> Image.Image:
    with reading.picture(path, path, ("PNG",)) as image:
        return image.convert("RGB")


def below(sheets: Mapping[str, Image.Image]) -> Image.Image | None:
    """Pictures below each other, each under its name; None of none."""
    if not sheets:
        return None
    head, pictures = 30, list(sheets.values())
    width, height = max(picture.width for picture in pictures), sum(picture.height + head for picture in pictures)
    canvas = Image.new("RGB", (width, height), (255, 255, 255))
    pen, font, top = ImageDraw.Draw(canvas), ImageFont.load_default(19), 0
    for name, picture in sheets.items():
        pen.text((14, top + 8), name, (20, 20, 24), font)
        canvas.paste(picture, (0, top + head))
        top += head + picture.height
    return canvas
