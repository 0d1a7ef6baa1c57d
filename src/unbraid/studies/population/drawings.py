"""The study's figures as drawings, each a function of the models. A dot is a model; bars are means over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from unbraid.pictures import style
from unbraid.pictures.style import data_name
from unbraid.report.estimates import Array, known, mean
from unbraid.studies.population.models import BY_DCI, BY_FEW, BY_MIG, BY_UDR, METRICS, NAMES, RPU, Models

COLOURS = {RPU: "#B03A2E", BY_MIG: "#0072B2", BY_DCI: "#E69F00", BY_FEW: "#56B4E9", BY_UDR: "#CC79A7"}
SEED_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#B03A2E")
PLAIN, INK = "#777777", "#222222"


def scores(models: Models, approaches: Sequence[str], data_sets: Sequence[str]) -> Drawing:
    """A row a data set, a column a metric: the models of each approach, with their mean and its interval."""
    width = 1.6 + 0.42 * len(approaches)
    drawing, axes = style.panels(len(data_sets), len(METRICS), width, 2.9, 0.1)
    for row, data in enumerate(data_sets):
        there = [approach for approach in approaches if len(models.of_approach(approach, data))]
        for axis, (column, metric) in zip(axes[row], METRICS.items(), strict=True):
            for place, approach in enumerate(there):
                _column(axis, place, models.scores(approach, data, column), COLOURS.get(approach, PLAIN))
            names = [NAMES.get(approach, approach) for approach in there]
            axis.set_xticks(range(len(there)), names, rotation=38, ha="right", rotation_mode="anchor")
            axis.set_xlim(-0.6, max(len(there), 1) - 0.4)
            axis.set_ylim(bottom=0)
            axis.grid(axis="x", visible=False)
            axis.set_title(f"{metric}, {data_name(data)}" if len(data_sets) > 1 else metric, fontsize=9)
    return drawing


def _column(axis: Axes, place: float, values: Array, colour: str) -> None:
    """Values beside each other so that none hides another, their mean as a bar, its interval as a line."""
    found = known(values)
    if not len(found):
        return
    beside = place + 0.34 * ((np.arange(len(found)) + 0.5) / len(found) - 0.5)
    axis.plot(beside, found, "o", color=colour, markersize=3.4, alpha=0.65, markeredgewidth=0, zorder=3)
    middle = mean(found)
    axis.plot([place - 0.3, place + 0.3], [middle.value] * 2, color=INK, linewidth=1.6, zorder=4)
    if np.isfinite(middle.low):
        axis.plot([place] * 2, [max(middle.low, 0), middle.high], color=INK, linewidth=0.8, zorder=2)


def leaf_runs(models: Models, data_sets: Sequence[str]) -> Drawing:
    """A row a data set, a column a metric: scores against the number of leaf-runs, a line a seed and their mean."""
    drawing, axes = style.panels(len(data_sets), len(METRICS), 2.9, 2.3, 0.35)
    for row, data in enumerate(data_sets):
        for axis, (column, metric) in zip(axes[row], METRICS.items(), strict=True):
            table = models.leaf_scores(data, column)
            for line in table.to_numpy(float):
                axis.plot(table.columns, line, "o-", color=COLOURS[RPU], alpha=0.35, markersize=3, linewidth=0.9)
            axis.plot(table.columns, table.mean(), color=INK, linewidth=1.8, marker="_", markersize=12, zorder=4)
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.set_xlabel("leaf-runs", fontsize=8)
            axis.set_title(f"{metric}, {data_name(data)}" if len(data_sets) > 1 else metric, fontsize=9)
    _legend(drawing, {"a seed": COLOURS[RPU], "mean": INK})
    return drawing


def hyperparameters(histories: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Drawing:
    """A panel for the best score and one for each hyperparameter: the members' geometric mean and range by generation.

    A colour for each history.
    """
    drawing, axes = style.wrapped(len(names) + 1, 2, 3.3, 2.0, 0.45)
    for (title, table), colour in zip(histories.items(), SEED_COLOURS * len(histories), strict=False):
        rows = table.dropna(subset=["score"]).groupby("generation")
        at = np.array(sorted(rows.groups)) + 1
        axes[0].plot(at, rows["score"].max(), "o-", color=colour, markersize=3, linewidth=1.2, label=title)
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
    _legend(drawing, dict(zip(histories, SEED_COLOURS * len(histories), strict=False)))
    return drawing


def known_factors(models: Models, data: str) -> Drawing:
    """A cell a metaEpoch and factor: the largest share that one active latent tells; a panel a seed and leaf-run."""
    epochs = models.epochs_of(data)
    paths = [
        (seed, leaf, rows[rows["leaf"].isin([0, leaf])])
        for seed, rows in epochs.groupby("seed")
        for leaf in (sorted(set(rows["leaf"]) - {0}) or [0])
    ]
    factors = next(list(told[0]) for told in epochs["knows"] if told)
    drawing, axes = style.wrapped(len(paths), 3, 2.5, 1.9, 0.1)
    for axis, (seed, leaf, rows) in zip(axes, paths, strict=True):
        shown = rows[rows["latents"].map(len) > 0]
        cells = np.array([[max(latent[name] for latent in told) for name in factors] for told in shown["knows"]])
        cells = cells.reshape(len(shown), len(factors))
        fixed = np.array([[values[name] == 1 for name in factors] for values in shown["values"]]).reshape(cells.shape)
        axis.imshow(np.where(fixed, np.nan, cells), cmap="Greens", vmin=0, vmax=1, aspect="auto")
        axis.set_facecolor("#e2e2e2")
        axis.grid(False)
        for (row, column), value in np.ndenumerate(cells):
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
