"""The drawings of the assumptions report: panels by data set and metric, a colour a method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from unbraid.pictures import style
from unbraid.pictures.style import data_name, method_colour
from unbraid.report.estimates import Array
from unbraid.studies.assumptions.draws import rank_correlations
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, Models

SMALLEST = 1e-4  # a total correlation below this is drawn as this: the axes are logarithmic


def against_strength(models: Models, column: str, methods: Sequence[str]) -> Drawing:
    drawing, axes = style.wrapped(len(models.data_sets))
    medians = np.maximum(models.medians(column), SMALLEST)
    for place, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        _strength_lines(axis, models, medians, data, methods)
        style.logarithmic(axis)
        axis.set_title(data_name(data), fontsize=9)
        if place % 4 == 0:
            axis.set_ylabel("total correlation", fontsize=8)
    drawing.supxlabel("strength of the regularisation (rank)", fontsize=8)
    style.legend(drawing, methods, lines=True)
    return drawing


def _strength_lines(axis: Axes, models: Models, medians: Array, data: str, methods: Iterable[str]) -> None:
    most = 1
    for method in methods:
        cells, places = models.ranks(data, method)
        known = np.isfinite(medians[cells])
        style.line(axis, places[known], medians[cells][known], method)
        most = max(most, *places, 1)
    axis.set_xticks(range(1, most + 1))
    axis.set_xlim(0.7, most + 0.3)


def mean_against_sampled(models: Models) -> Drawing:
    drawing, axes = style.wrapped(len(models.data_sets))
    for place, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        _clouds(axis, models, data, SAMPLED, MEAN, log=True)
        axis.axline((0, 0), slope=1, color=style.FAINT, linewidth=0.8, zorder=1)
        axis.set_title(data_name(data), fontsize=9)
        if place % 4 == 0:
            axis.set_ylabel("log TC (mean)", fontsize=8)
    drawing.supxlabel("log TC (sampled)", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def _clouds(axis: Axes, models: Models, data: str, x: str, y: str, log: bool = False) -> None:
    """A dot a model, coloured by method."""
    for method in models.methods:
        both = models.rows([x, y], models.cells(data, method))
        both = np.log(np.clip(both, SMALLEST, None)) if log else both
        style.dots(axis, both[:, 0], both[:, 1], method)


def metric_pairs(models: Models, data: str) -> Drawing:
    columns = list(models.known(METRICS))
    size = len(columns) - 1
    drawing, axes = style.panels(size, size, 1.6, 1.4)
    for (row, column), axis in np.ndenumerate(axes):
        if column > row:
            axis.remove()
            continue
        _clouds(axis, models, data, columns[column], columns[row + 1])
        if column == 0:
            axis.set_ylabel(METRICS[columns[row + 1]], fontsize=8)
        if row == size - 1:
            axis.set_xlabel(METRICS[columns[column]], fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def by_data(
    models: Models, rows: Mapping[str, str], columns: Mapping[str, str], width: float = 2.5, height: float = 2.1,
    across: int = 4,
) -> Drawing:  # fmt: skip
    """A matrix of rank correlations for each data set."""
    found = {}
    for data in models.data_sets:
        cells = models.cells(data)
        found[data_name(data)] = rank_correlations(models.rows(rows, cells), models.rows(columns, cells))
    return matrices(found, list(rows.values()), list(columns.values()), width, height, across)


def matrices(
    found: Mapping[str, Array], rows: Sequence[str], columns: Sequence[str], width: float, height: float, across: int
) -> Drawing:
    """Matrices of correlations by name, rows named at the left and columns below."""
    drawing, axes = style.wrapped(len(found), across, width, height, head=0.6)
    last = (len(found) - 1) // across
    for place, (axis, (name, matrix)) in enumerate(zip(axes, found.items(), strict=True)):
        named = place // across >= last - (len(found) % across > 0)  # with nothing below, or a row that is not full
        style.correlations(axis, matrix, rows if place % across == 0 else [], columns if named else [])
        axis.set_title(name, fontsize=9)
    return drawing


def _grid(rows: Sequence[str], metrics: Mapping[str, str], sharey: str = "none") -> tuple[Drawing, Array]:
    """A panel for each data set (row) and metric (column), named at the left and at the top."""
    drawing, axes = style.panels(len(rows), len(metrics), 1.75, 1.5, 0.7, sharey=sharey)
    for place, name in enumerate(metrics.values()):
        axes[0, place].set_title(name, fontsize=9)
    for place, data in enumerate(rows):
        axes[place, 0].set_ylabel(data_name(data), fontsize=8)
    return drawing, axes


def scores_by_method(models: Models) -> Drawing:
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics, "col")
    rng = np.random.default_rng(0)
    for (row, column), axis in np.ndenumerate(axes):
        name = list(metrics)[column]
        for place, method in enumerate(models.methods):
            values = models.get(name)[models.cells(models.data_sets[row], method)]
            _distribution(axis, values[np.isfinite(values)], place, method, rng)
        axis.set_xticks([])
        axis.set_xlim(-0.6, len(models.methods) - 0.4)
    style.legend(drawing, models.methods)
    return drawing


def _distribution(axis: Axes, values: Array, place: int, method: str, rng: np.random.Generator) -> None:
    """A violin of many values, the values themselves where they are few, and a bar at the median."""
    if not len(values):
        return
    if len(values) >= 30 and np.ptp(values) > 0:
        for body in axis.violinplot(values, [place], widths=0.85, showextrema=False)["bodies"]:  # type: ignore[attr-defined]
            body.set_facecolor(method_colour(method))
            body.set_alpha(0.7)
    else:
        style.dots(axis, place + rng.uniform(-0.2, 0.2, len(values)), values, method)
    middle = float(np.median(values))
    axis.plot([place - 0.33, place + 0.33], [middle, middle], color="black", linewidth=1.0)


def scores_by_strength(models: Models) -> Drawing:
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics, "col")
    for (row, column), axis in np.ndenumerate(axes):
        _strength_lines(axis, models, models.medians(list(metrics)[column]), models.data_sets[row], models.methods)
    drawing.supxlabel("strength of the regularisation (rank)", fontsize=8)
    style.legend(drawing, models.methods, lines=True)
    return drawing


def scatter_of_settings(models: Models) -> Drawing:
    metrics, others = models.known(METRICS), models.data_sets[1:]
    drawing, axes = _grid(others, metrics)
    for (row, column), axis in np.ndenumerate(axes):
        medians = models.by_setting(models.medians(list(metrics)[column]))
        for method in models.methods:
            mine = np.array([setting[0] == method for setting in models.settings])
            style.dots(axis, medians[0][mine], medians[row + 1][mine], method, 16)
    drawing.supxlabel(f"score on {data_name(models.data_sets[0])}", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def efficiency(models: Models, column: str) -> Drawing:
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics)
    for (row, place), axis in np.ndenumerate(axes):
        _clouds(axis, models, models.data_sets[row], list(metrics)[place], column)
    drawing.supxlabel("metric", fontsize=8)
    drawing.supylabel("statistical efficiency", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing
