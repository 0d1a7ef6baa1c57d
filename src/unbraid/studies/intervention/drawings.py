"""The study's figures as drawings, each a function of the models or of arrays. Error bars are 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from scipy.stats import spearmanr

from unbraid.pictures import style
from unbraid.pictures.style import data_name
from unbraid.report.estimates import Array, mean
from unbraid.studies.intervention import paper
from unbraid.studies.intervention.models import (
    COMPARED,
    CORRELATED,
    DIFFICULT,
    INDEPENDENT,
    METRICS,
    OURS,
    PLAIN,
    WEIGHTED,
    Models,
)

COLOURS = {INDEPENDENT: "#0072B2", CORRELATED: "#D55E00"}
INK = "#222222"


def _legend(drawing: Drawing, handles: Sequence[Line2D]) -> None:
    drawing.legend(handles=list(handles), loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False)


def _dot(colour: str, label: str, mark: str = "o") -> Line2D:
    return Line2D([], [], color=colour, linestyle="none", marker=mark, markersize=4.5, label=label)


def _paper() -> Line2D:
    return Line2D([], [], color=INK, linestyle="none", marker="D", markersize=4, fillstyle="none", label="paper")


def scores(models: Models) -> Drawing:
    """Tables 1 to 3: a row a data set, a panel a metric, a line a model; independent and correlated factors."""
    rows = [data for data in models.data_sets if models.metrics(data)]
    drawing, axes = style.panels(max(len(rows), 1), len(METRICS), 2.7, 1.75, 0.5, sharex="col")
    for row, data in enumerate(rows):
        for place, (column, metric) in enumerate(METRICS.items()):
            axis = axes[row, place]
            if place and column not in models.metrics(data):
                axis.set_axis_off()
                continue
            axis.set_title(f"{data_name(data)}, {metric}", fontsize=8)
            for line, kind in enumerate(COMPARED):
                for side, relation in ((-0.16, INDEPENDENT), (0.16, CORRELATED)):
                    values = models.scores(column, kind, relation)[models.data_sets.index(data)]
                    said = paper.said(data, kind.name, relation, metric)
                    _marks(axis, line + side, values, said, COLOURS[relation])
            axis.set_ylim(len(COMPARED) - 0.5, -0.5)
            axis.set_xlim(0, 1)
            names = [kind.name for kind in COMPARED] if place == 0 else [""] * len(COMPARED)
            axis.set_yticks(range(len(COMPARED)), names, fontsize=7)
    _legend(drawing, [_dot(COLOURS[INDEPENDENT], INDEPENDENT), _dot(COLOURS[CORRELATED], CORRELATED), _paper()])
    return drawing


def _marks(axis: Axes, y: float, values: Array, said: float | None, colour: str) -> None:
    """Seeds as faint dots, their mean with its interval, the paper's mean as a diamond."""
    found = mean(values)
    if found.known:
        known = values[np.isfinite(values)]
        axis.plot(known, [y] * len(known), "o", color=colour, markersize=2.5, alpha=0.45, markeredgewidth=0)
        axis.plot([found.value], [y], "o", color=colour, markersize=4.5)
        if np.isfinite(found.low):
            axis.plot([max(found.low, 0), min(found.high, 1)], [y, y], color=colour, linewidth=1)
    if said is not None:
        axis.plot([said], [y], "D", color=colour, fillstyle="none", markersize=4, markeredgewidth=0.8)


def rank_matrices(models: Models) -> Drawing:
    """Figure 3: rank correlations of difficulty and scores over FactorVAE models, a panel a data set."""
    shown = models.ranked
    drawing, axes = style.wrapped(len(shown), 3, 2.3, 2.2, 0.2)
    names = ["difficulty", *METRICS.values()]
    for axis, data in zip(axes, shown, strict=True):
        table = models.factor_vaes(data)
        columns = [table[name].to_numpy(float) if name in table else np.nan for name in (DIFFICULT, *METRICS)]
        matrix = np.array([[_spearman(a, b) for b in columns] for a in columns])
        style.correlations(axis, matrix, names, names)
        axis.set_title(f"{data_name(data)}, {len(table)} models", fontsize=8)
    return drawing


def _spearman(a: Array | float, b: Array | float) -> float:
    first, second = np.asarray(a, float), np.asarray(b, float)
    if first.shape != second.shape or first.ndim == 0:
        return float("nan")
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3 or np.ptp(first[both]) == 0 or np.ptp(second[both]) == 0:
        return float("nan")
    return float(spearmanr(first[both], second[both]).statistic)


def rank_scatter(models: Models) -> Drawing:
    """The models behind figure 3: difficulty against each score, a row a data set."""
    shown = models.ranked
    drawing, axes = style.panels(max(len(shown), 1), len(METRICS), 2.5, 1.9, 0.5)
    strengths = sorted({gamma for data in shown for gamma in models.factor_vaes(data)["gamma"]})
    for row, data in enumerate(shown):
        table = models.factor_vaes(data)
        for place, (column, metric) in enumerate(METRICS.items()):
            axis = axes[row, place]
            if column in table:
                for relation, colour in COLOURS.items():
                    mine = table[table["relation"] == relation]
                    sizes = [8 + 12 * strengths.index(gamma) for gamma in mine["gamma"]]
                    axis.scatter(mine[DIFFICULT], mine[column], s=sizes, color=colour, alpha=0.6, linewidths=0)
            axis.set_ylabel(metric, fontsize=8)
            axis.set_xlabel(f"difficulty, {data_name(data)}", fontsize=7)
    _legend(drawing, [_dot(COLOURS[name], name) for name in (INDEPENDENT, CORRELATED)])
    return drawing


def joints(tables: Mapping[str, tuple[Array, str, str]]) -> Drawing:
    """Figure 6: how often two factors have these values together, the most frequent as 1; a panel a data set."""
    drawing, axes = style.wrapped(len(tables), 3, 2.4, 2.2, 0.2)
    for axis, (data, (table, across, down)) in zip(axes, tables.items(), strict=True):
        image = axis.imshow(table / max(table.max(), 1e-12), cmap="viridis", vmin=0, vmax=1, aspect="auto")
        axis.grid(False)
        axis.set_title(data_name(data), fontsize=8)
        axis.set_ylabel(down.replace("_", " "), fontsize=8)
        axis.set_xlabel(across.replace("_", " "), fontsize=8)
        drawing.colorbar(image, ax=axis, fraction=0.046).ax.tick_params(labelsize=6)
    return drawing


def importances(matrices: Mapping[str, Array], factors: Sequence[str], marked: Sequence[str]) -> Drawing:
    """Figure 4 (a): the importance of each code for each factor; correlated factors in red."""
    drawing, axes = style.wrapped(len(matrices), 3, 2.8, 2.6, 0.2)
    for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
        axis.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.grid(False)
        axis.set_title(name, fontsize=8)
        axis.set_xticks(range(len(factors)), [factor.replace("_", " ") for factor in factors], rotation=45, ha="right")
        for label, factor in zip(axis.get_xticklabels(), factors, strict=True):
            label.set_color("#C00000" if factor in marked else INK)
        axis.set_yticks(range(len(matrix)))
        axis.set_ylabel("code", fontsize=8)
        for (row, column), value in np.ndenumerate(matrix):
            if value >= 0.1:
                ink = "white" if value > 0.6 else "black"
                axis.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6, color=ink)
    return drawing


def two_samples(models: Models) -> Drawing:
    """Accuracies of the two-sample test without W's weights and with them; a line a seed."""
    drawing, axes = style.wrapped(len(models.data_sets), 3, 2.1, 1.9, 0.4, sharey=True)
    for axis, data in zip(axes, models.data_sets, strict=True):
        at = models.data_sets.index(data)
        for start, relation in ((0, INDEPENDENT), (3, CORRELATED)):
            plain, weighted = (models.scores(column, OURS, relation)[at] for column in (PLAIN, WEIGHTED))
            for pair in zip(plain, weighted, strict=True):
                axis.plot([start, start + 1], pair, "o-", color=COLOURS[relation], markersize=3.5, linewidth=1)
        axis.axhline(0.5, color=style.FAINT, linewidth=0.8, linestyle="--")
        axis.set_xticks([0, 1, 3, 4], ["plain", "W", "plain", "W"], fontsize=7)
        axis.set_xlim(-0.6, 4.6)
        axis.set_ylim(0.4, 1.02)
        axis.set_title(data_name(data), fontsize=8)
    axes[0].set_ylabel("accuracy", fontsize=8)
    _legend(drawing, [_dot(COLOURS[name], name) for name in (INDEPENDENT, CORRELATED)])
    return drawing
