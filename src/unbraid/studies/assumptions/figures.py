"""The figures of the assumptions report: panels by data set and metric, one colour per method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from unbraid.pictures import style
from unbraid.pictures.names import data_name, method_name
from unbraid.pictures.style import method_colour
from unbraid.report.estimates import Array
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, Models, quietly, rank_matrix

SMALLEST = 1e-4  # a total correlation below this is drawn as this: the axes are logarithmic


def against_strength(models: Models, score: str, methods: Sequence[str]) -> Drawing:
    drawing, axes = style.wrapped(len(models.data_sets))
    for index, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        _strength_lines(axis, models, score, data, methods, SMALLEST)
        style.logarithmic(axis)
        axis.set_title(data_name(data), fontsize=9)
        if index % 4 == 0:
            axis.set_ylabel("total correlation", fontsize=8)
    drawing.supxlabel("strength of the regularisation (rank)", fontsize=8)
    style.legend(drawing, methods, lines=True)
    return drawing


def _strength_lines(
    axis: Axes, models: Models, score: str, data: str, methods: Iterable[str], smallest: float = -np.inf
) -> None:
    """Medians over seeds, from the weakest regularisation to the strongest."""
    most = 1
    for method in methods:
        medians = np.maximum(_medians(models.scores(score, data, method)), smallest)
        known = np.isfinite(medians)
        style.line(axis, np.flatnonzero(known) + 1, medians[known], method)
        most = max(most, len(medians))
    axis.set_xticks(range(1, most + 1))
    axis.set_xlim(0.7, most + 0.3)


def _medians(scores: Array) -> Array:
    return np.asarray(quietly(np.nanmedian, scores, -1))


def mean_against_sampled(models: Models) -> Drawing:
    drawing, axes = style.wrapped(len(models.data_sets))
    for index, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        _clouds(axis, models, data, SAMPLED, MEAN, log=True)
        axis.axline((0, 0), slope=1, color=style.FAINT, linewidth=0.8, zorder=1)
        axis.set_title(data_name(data), fontsize=9)
        if index % 4 == 0:
            axis.set_ylabel("log TC (mean)", fontsize=8)
    drawing.supxlabel("log TC (sampled)", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def _clouds(axis: Axes, models: Models, data: str, x: str, y: str, log: bool = False) -> None:
    """One dot per model, coloured by method."""
    for method in models.methods:
        both = models.rows([x, y], data, method)
        both = np.log(np.clip(both, SMALLEST, None)) if log else both
        style.dots(axis, both[:, 0], both[:, 1], method, runs=models.runs(data, method))


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
    correlations = {
        data_name(data): rank_matrix(models.rows(rows, data), models.rows(columns, data)) for data in models.data_sets
    }
    return matrices(correlations, list(rows.values()), list(columns.values()), width, height, across)


def matrices(
    panels: Mapping[str, Array], rows: Sequence[str], columns: Sequence[str], width: float, height: float, across: int
) -> Drawing:
    """Matrices of correlations by name, rows named at the left and columns below."""
    drawing, axes = style.wrapped(len(panels), across, width, height, head=0.6)
    last = (len(panels) - 1) // across
    for index, (axis, (name, matrix)) in enumerate(zip(axes, panels.items(), strict=True)):
        named = index // across >= last - (len(panels) % across > 0)  # with nothing below, or a row that is not full
        style.correlations(axis, matrix, rows if index % across == 0 else [], columns if named else [])
        axis.set_title(name, fontsize=9)
    return drawing


def _grid(rows: Sequence[str], metrics: Mapping[str, str], sharey: str = "none") -> tuple[Drawing, Array]:
    """A panel for each data set (row) and metric (column), named at the left and at the top."""
    drawing, axes = style.panels(len(rows), len(metrics), 1.75, 1.5, 0.7, sharey=sharey)
    for column, name in enumerate(metrics.values()):
        axes[0, column].set_title(name, fontsize=9)
    for row, data in enumerate(rows):
        axes[row, 0].set_ylabel(data_name(data), fontsize=8)
    return drawing, axes


def scores_by_method(models: Models) -> Drawing:
    """Medians over seeds of every setting (section 5.4)."""
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics, "col")
    rng = np.random.default_rng(0)
    for (row, column), axis in np.ndenumerate(axes):
        for position, method in enumerate(models.methods):
            medians = _medians(models.scores(list(metrics)[column], models.data_sets[row], method))
            _distribution(axis, medians[np.isfinite(medians)], position, method, rng)
        axis.set_xticks([])
        axis.set_xlim(-0.6, len(models.methods) - 0.4)
    style.legend(drawing, models.methods)
    return drawing


def _distribution(axis: Axes, values: Array, position: int, method: str, rng: np.random.Generator) -> None:
    """A violin of many values, the values themselves where they are few, and a bar at the median."""
    if not len(values):
        return
    if len(values) >= 30 and np.ptp(values) > 0:
        for body in axis.violinplot(values, [position], widths=0.85, showextrema=False)["bodies"]:  # type: ignore[attr-defined]
            body.set_facecolor(method_colour(method))
            body.set_alpha(0.7)
    else:
        style.dots(axis, position + rng.uniform(-0.2, 0.2, len(values)), values, method)
    middle = float(np.median(values))
    (bar,) = axis.plot([position - 0.33, position + 0.33], [middle, middle], color="black", linewidth=1.0)
    style.label(bar, method_name(method))


def scores_by_strength(models: Models) -> Drawing:
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics, "col")
    for (row, column), axis in np.ndenumerate(axes):
        _strength_lines(axis, models, list(metrics)[column], models.data_sets[row], models.methods)
    drawing.supxlabel("strength of the regularisation (rank)", fontsize=8)
    style.legend(drawing, models.methods, lines=True)
    return drawing


def scatter_of_settings(models: Models) -> Drawing:
    metrics, others = models.known(METRICS), models.data_sets[1:]
    drawing, axes = _grid(others, metrics)
    for (row, column), axis in np.ndenumerate(axes):
        medians = _medians(models.by_setting(list(metrics)[column]))
        for method in models.methods:
            own = np.array([name == method for name, _ in models.settings])
            style.dots(axis, medians[0][own], medians[row + 1][own], method, 16)
    drawing.supxlabel(f"score on {data_name(models.data_sets[0])}", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def efficiency(models: Models, score: str) -> Drawing:
    metrics = models.known(METRICS)
    drawing, axes = _grid(models.data_sets, metrics)
    for (row, column), axis in np.ndenumerate(axes):
        _clouds(axis, models, models.data_sets[row], list(metrics)[column], score)
    drawing.supxlabel("metric", fontsize=8)
    drawing.supylabel("statistical efficiency", fontsize=8)
    style.legend(drawing, models.methods)
    return drawing


def theorem(models: Models, metrics: Mapping[str, str]) -> Drawing:
    """Scores of trained codes, and of codes with the same marginals that are entangled: one line per model."""
    drawing, axes = style.panels(len(models.data_sets), len(metrics), 1.5, 1.5, 0.7, sharey="all")
    for (row, column), axis in np.ndenumerate(axes):
        data, metric = models.data_sets[row], list(metrics)[column]
        for method in models.methods:
            pairs = models.rows([f"theorem_1.{codes}.{metric}" for codes in ("codes", "entangled")], data, method)
            known = np.isfinite(pairs).all(1)
            for pair, run in zip(pairs[known], np.asarray(models.runs(data, method))[known], strict=True):
                style.line(axis, np.arange(2), pair, method, [run, run])
        axis.set_xticks([0, 1], ["codes", "entangled"])
        axis.set_xlim(-0.3, 1.3)
        if row == 0:
            axis.set_title(metrics[metric], fontsize=9)
        if column == 0:
            axis.set_ylabel(data_name(data), fontsize=8)
    style.legend(drawing, models.methods, lines=True)
    return drawing
