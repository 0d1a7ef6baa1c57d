"""The comparison of several methods as sections of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from unbraid.pictures import style
from unbraid.pictures.names import better, data_name, direction, method_name, metric_name
from unbraid.report.compared import ALL, Compared, compare
from unbraid.report.compared_tables import (
    caution,
    cost_table,
    differences_table,
    in_words,
    means_table,
    rule,
    sweep_words,
    wins_table,
)
from unbraid.report.estimates import Array, Estimate, average, mean
from unbraid.report.parts import Figure, Section, Table

TITLE = "Comparison of methods"
COLOURS = ("#009E73", "#882255", "#CC79A7", "#D55E00", "#5D5D5D", "#56B4E9", "#E69F00", "#0072B2")  # by Okabe and Ito
MARKS = "os^DvPX*"
DOTS = 20  # models of a setting above which a line spans them: a page cannot hold a dot for each of 12,600


def comparison(runs: pd.DataFrame, baseline: str | None = None, chosen_by: str | None = None) -> list[Section]:
    """Sections that compare the methods of a table of runs with one of them; none where there are fewer than two.

    `baseline` is by default the first method of the table, `chosen_by` the score by which the settings of a method are
    chosen, by default the first of the main scores.
    """
    compared = compare(runs, baseline, chosen_by)
    if compared is None:
        return []
    sections = [_differences(compared)]
    if curves := _curves(compared):
        sections.append(curves)
    return [*sections, _cost(compared)]


def _differences(compared: Compared) -> Section:
    base = method_name(compared.baseline)
    text = "\n\n".join(part for part in (in_words(compared), rule(compared), caution(compared)) if part)
    count = compared.comparisons
    wide = f"an interval wide enough that all {count} of a score cover the truth together in 95 of 100 studies"
    family = (
        f"Each method less {base}, seed by seed, with {wide if count > 1 else 'its 95 % interval'}; *better* and "
        "*worse* where it does not reach 0. The arrows point the way that is better."
    )
    alone = "The mean over seeds with its own 95 % interval. The arrows point the way that is better."
    items: list[Figure | Table] = [
        Figure(
            "differences", f"Differences from {base}", partial(_drawn_differences, compared),
            "One panel per score, one line per method and data set.",
        ),
        Table("differences-table", f"Differences from {base}", differences_table(compared), family),
        Figure("means", "Means by method and data set", partial(_drawn_means, compared), "With 95 % intervals."),
        Table("means-table", "Means by method and data set", means_table(compared), alone),
        Table("wins", f"Wins over {base}, and the best mean", wins_table(compared), "Seeds won, of those compared."),
    ]  # fmt: skip
    return Section(TITLE, text, items)


def _curves(compared: Compared) -> Section | None:
    """Scores over the settings of each method, where any has more than one."""
    swept = [data for data in compared.data_sets if any(
        len(trials.settings) > 1 for (_, one), trials in compared.trials.items() if one == data
    )]  # fmt: skip
    if not swept:
        return None
    sweeps = []
    for method in compared.methods:
        trials = [compared.trials[method, data] for data in swept if (method, data) in compared.trials]
        if trials:
            sweeps.append(f"- {method_name(method)}: {sweep_words(trials[0].settings)}")
    many = max(len(trials.seeds) for trials in compared.trials.values()) > DOTS
    models = f"A thin line spans the models of a setting with more than {DOTS}" if many else "A small dot is a model"
    text = (
        "The settings of each method from first to last, by position: the strengths of different methods are not on "
        f"one scale. {models}, a large dot the mean of a setting, with its 95 % interval from three seeds "
        "on. A ring marks the setting that is compared.\n\n" + "\n".join(sweeps)
    )
    items = [
        Figure(f"strengths-{number}", f"Scores by setting, {data_name(data)}", partial(_drawn_curves, compared, data),
               "One panel per score.", folded=number > 1)
        for number, data in enumerate(swept, 1)
    ]  # fmt: skip
    return Section("Strength", text, items)


def _cost(compared: Compared) -> Section:
    text = (
        "What the models took, on one core each unless they ran otherwise. Seconds are of training, encoding and "
        "scoring together."
    )
    return Section("Cost", text, [Table("cost", "Time and images by method and data set", cost_table(compared))])


# Drawings


def _looks(methods: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """The colour and the mark of each method: its own in all drawings, or one that no other here has."""
    taken = {style.STYLES[method] for method in methods if method in style.STYLES}
    colours = iter([one for one in COLOURS if one not in {colour for colour, _ in taken}] * len(methods))
    marks = iter([one for one in MARKS if one not in {mark for _, mark in taken}] * len(methods))
    return {
        method: style.STYLES[method] if method in style.STYLES else (next(colours), next(marks)) for method in methods
    }


def _interval(axis: Axes, entry: Estimate, height: float, look: tuple[str, str], name: str) -> None:
    """A value as a mark, its interval as a line."""
    if not entry.known:
        return
    colour, mark = look
    if entry.has_interval and np.isfinite([entry.low, entry.high]).all():
        axis.plot([entry.low, entry.high], [height] * 2, color=colour, lw=1.6, solid_capstyle="butt")
    (drawn,) = axis.plot([entry.value], [height], mark, color=colour, ms=5, mew=0, label=name)
    style.label(drawn, name)


def _lines(compared: Compared, methods: Sequence[str], together: bool) -> tuple[list[tuple[str, str, float]], list[
    tuple[str, float]
]]:  # fmt: skip
    """The height of the line of each data set and method, and of each data set's name."""
    lines, names, height = [], [], 0.0
    for data in compared.cases if together else compared.data_sets:
        names.append((data if data == ALL else data_name(data), height + (len(methods) - 1) / 2))
        for method in methods:
            lines.append((data, method, height))
            height += 1
        height += 0.7
    return lines, names


def _drawn_differences(compared: Compared) -> Drawing:
    return _drawn(compared, compared.others, True)


def _drawn_means(compared: Compared) -> Drawing:
    return _drawn(compared, compared.methods, False)


def _drawn(compared: Compared, methods: Sequence[str], differences: bool) -> Drawing:
    """One panel per score, with one line per data set and method: differences from the baseline, or means."""
    looks = _looks(compared.methods)
    lines, names = _lines(compared, methods, differences)
    tall = 0.75 + 0.17 * (lines[-1][2] + 1)
    drawing, axes = style.wrapped(len(compared.scores), 3, 2.9, tall, 0.45, sharey=True)
    for axis, score in zip(axes, compared.scores, strict=True):
        if differences:
            axis.axvline(0, color="#555555", lw=0.9, zorder=1)
        for data, method, height in lines:
            entry = (compared.difference if differences else compared.mean)(method, data, score)
            _interval(axis, entry, height, looks[method], method_name(method))
        axis.set_title(metric_name(score), fontsize=9)
        axis.set_xlabel(_way(score, compared.baseline if differences else None), fontsize=8, color=style.FAINT)
        axis.set_yticks([height for _, height in names], [name for name, _ in names], fontsize=8)
        axis.set_ylim(lines[-1][2] + 0.7, -0.7)
        axis.grid(False, axis="y")
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.tick_params(axis="y", length=0)
    _legend(drawing, methods, looks)
    return drawing


def _way(score: str, baseline: str | None) -> str:
    """Which way is better, for the axis of a score or of differences from the baseline."""
    if baseline is None:
        return direction(score)
    return {"higher": "better →", "lower": "← better", "neither": "neither way is better"}[better(score)]


def _drawn_curves(compared: Compared, data: str) -> Drawing:
    looks = _looks(compared.methods)
    drawing, axes = style.wrapped(len(compared.scores), 3, 2.9, 2.1, 0.45)
    shown = [method for method in compared.methods if (method, data) in compared.trials]
    for axis, score in zip(axes, compared.scores, strict=True):
        most = 1
        for index, method in enumerate(shown):
            trials = compared.trials[method, data]
            table = trials.scores(score)
            most = max(most, len(table))
            apart = 0.12 * (index - (len(shown) - 1) / 2)
            _curve(axis, table, apart, looks[method], method, compared.chosen.get((method, data)))
        axis.set_title(metric_name(score), fontsize=9)
        axis.set_xlabel(f"setting; {direction(score)}", fontsize=8, color=style.FAINT)
        axis.set_xticks(range(1, most + 1))
        axis.set_xlim(0.5, most + 0.5)
    _legend(drawing, shown, looks)
    return drawing


def _curve(axis: Axes, table: Array, apart: float, look: tuple[str, str], method: str, chosen: int | None) -> None:
    """A method's scores (settings, seeds) over the position of the setting."""
    colour, mark = look
    name = method_name(method)
    at = np.arange(1, len(table) + 1) + apart
    for x, row in zip(at, table, strict=True):
        values = row[np.isfinite(row)]
        if len(values) > DOTS:
            (models,) = axis.plot([x] * 2, [values.min(), values.max()], color=colour, lw=0.6, alpha=0.5)
        else:
            (models,) = axis.plot([x] * len(values), values, "o", color=colour, ms=2.2, mew=0, alpha=0.5)
        style.label(models, name)
        entry = mean(row)
        if entry.has_interval:
            axis.plot([x, x], [entry.low, entry.high], color=colour, lw=1.1, solid_capstyle="butt")
    means = np.array([average(row) for row in table])
    (line,) = axis.plot(at, means, mark, color=colour, ms=4.5, mew=0, ls="-", lw=1.1)
    style.label(line, name)
    if chosen is not None and len(table) > 1 and np.isfinite(means[chosen]):
        axis.plot([at[chosen]], [means[chosen]], "o", ms=9, mfc="none", mec=colour, mew=0.9)


def _legend(drawing: Drawing, methods: Sequence[str], looks: Mapping[str, tuple[str, str]]) -> None:
    handles = [
        Line2D([], [], color=looks[method][0], marker=looks[method][1], ms=5, mew=0, ls="none",
               label=method_name(method))
        for method in methods
    ]  # fmt: skip
    drawing.legend(
        handles=handles, loc="outside upper left", ncols=min(4, len(handles)), fontsize=9, frameon=False,
        handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
