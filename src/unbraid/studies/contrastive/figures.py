"""The study's figures. A dot is a model, error bars are 95 % t intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from PIL import Image, ImageDraw

from unbraid.data import PairData, load
from unbraid.data.factors import generator
from unbraid.data.sets.mnist_stl10 import DigitsOnBackgrounds
from unbraid.data.wrappers.views import Views
from unbraid.pictures import style
from unbraid.pictures.sheets import Strip, sheet, tile
from unbraid.pictures.traversals import to_bytes
from unbraid.report.estimates import Array, average, mean
from unbraid.runs.run import Run
from unbraid.studies.contrastive import paper
from unbraid.studies.contrastive.jobs import TERMS
from unbraid.studies.contrastive.models import INPUTS, SHARED, SHORT, Models

COLOURS = {"digit": "#0072B2", "background": "#E69F00", "location": "#009E73"}
WEIGHTS = {"0.001": "#56B4E9", "0.1": "#B03A2E"}
INK = "#222222"
PAPER: Mapping[str, Any] = {
    "color": INK, "marker": "D", "markersize": 3.5, "fillstyle": "none", "markeredgewidth": 0.8, "linestyle": "none",
    "zorder": 5,
}  # fmt: skip


def _legend(drawing: Drawing, handles: Sequence[Artist]) -> None:
    drawing.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 6), fontsize=8, frameon=False)


def _dot(colour: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, marker="o", markersize=4, linestyle="none", label=label)


def _diamond() -> Line2D:
    return Line2D([], [], **PAPER, label="paper")


def _spread(values: Array, width: float) -> Array:
    """Places beside each other for so many dots."""
    return width * (np.arange(len(values)) - (len(values) - 1) / 2)


def accuracies(models: Models, variant: str) -> Drawing:
    """One panel per setting: what classifiers on r, z and their halves reach, of the factors that pairs share."""
    settings = [name for name in models.settings if _inputs(models, variant, name)]
    drawing, axes = style.wrapped(len(settings), 4, 2.3, 1.7, 0.5, sharey=True)
    any_paper = False
    for axis, setting in zip(axes, settings, strict=True):
        inputs = _inputs(models, variant, setting)
        said = paper.said(variant, setting)
        for index, factor in enumerate(SHARED[variant]):
            shift = 0.36 * (index - 0.5)
            values = [models.accuracy(variant, setting, name, factor) for name in inputs]
            _columns(axis, np.arange(len(inputs)) + shift, values, COLOURS[factor])
            printed = [(at + shift, said[name][index]) for at, name in enumerate(inputs) if name in said]
            if printed:
                any_paper = True
                axis.plot(*zip(*printed, strict=True), **PAPER)
            chance = average(models.chance(variant, setting, factor))
            if np.isfinite(chance):
                axis.axhline(chance, color=COLOURS[factor], linewidth=0.7, linestyle=":", zorder=1)
        axis.set_xticks(range(len(inputs)), inputs)
        axis.set_xlim(-0.6, len(inputs) - 0.4)
        axis.set_ylim(0, 103)
        axis.grid(axis="x", visible=False)
        axis.set_title(setting, fontsize=8)
    handles: list[Artist] = [_dot(COLOURS[factor], SHORT[factor]) for factor in SHARED[variant]]
    handles.append(Line2D([], [], color=style.FAINT, linewidth=0.7, linestyle=":", label="chance"))
    _legend(drawing, handles + ([_diamond()] if any_paper else []))
    return drawing


def _inputs(models: Models, variant: str, setting: str) -> list[str]:
    """Those that any model of the setting has an accuracy of."""
    return [
        name
        for name in INPUTS
        if any(np.isfinite(models.accuracy(variant, setting, name, factor)).any() for factor in SHARED[variant])
    ]


def _columns(axis: Axes, x: Array, values: Sequence[Array], colour: str) -> None:
    """A bar up to each mean, its interval, and one dot per seed; all at once, for there are hundreds."""
    entries = [mean(seeds) for seeds in values]
    means, lows, highs = (np.array([getattr(entry, end) for entry in entries]) for end in ("value", "low", "high"))
    axis.bar(x, np.nan_to_num(means), 0.32, color=colour, alpha=0.35, linewidth=0, zorder=2)
    axis.vlines(x, np.maximum(lows, 0), np.minimum(highs, 100), color=colour, linewidth=1.0, zorder=3)
    known = [seeds[np.isfinite(seeds)] for seeds in values]
    positions = [at + _spread(seeds, 0.24 / max(len(seeds), 1)) for at, seeds in zip(x, known, strict=True)]
    axis.plot(np.concatenate(positions), np.concatenate(known), "o", color=colour, markersize=2.2, zorder=4)


def gaps(models: Models) -> Drawing:
    """One panel per variant and factor: |C(z0) - C(z1)| of each setting, of r for supervised halves."""
    panels = [(variant, index) for variant in models.variants for index in range(2)]
    settings = models.settings
    drawing, axes = style.wrapped(len(panels), 2, 3.6, 0.24 * len(settings) + 0.7, 0.4, sharey=True)
    for axis, (variant, index) in zip(axes, panels, strict=True):
        factor = SHARED[variant][index]
        for at, setting in enumerate(settings):
            code = "r" if setting == "supervised" else "z"
            _row(axis, at, models.gap(variant, setting, factor, code), COLOURS[factor])
            said = paper.said(variant, setting)
            if f"{code}1" in said:
                axis.plot(paper.gaps(said, code)[index], at, **PAPER)
        axis.set_yticks(range(len(settings)), settings)
        axis.set_ylim(len(settings) - 0.5, -0.5)
        axis.set_xlim(left=-1)
        axis.set_title(f"{variant}, {SHORT[factor]}", fontsize=8)
        axis.set_xlabel("gap, points of accuracy", fontsize=7)
    _legend(drawing, [_dot(INK, "one seed"), _diamond()])
    return drawing


def _row(axis: Axes, y: float, values: Array, colour: str) -> None:
    """One dot per seed, the mean as a stroke, its interval as a line."""
    known = values[np.isfinite(values)]
    if not len(known):
        return
    entry = mean(values)
    if np.isfinite(entry.low):
        axis.plot([max(entry.low, 0), entry.high], [y, y], color=colour, linewidth=1.1, zorder=2)
    axis.plot([entry.value] * 2, [y - 0.28, y + 0.28], color=colour, linewidth=1.8, zorder=3)
    axis.plot(known, y + _spread(known, 0.08), "o", color=colour, markersize=2.4, alpha=0.8, zorder=4)


def trade_off(logs: pd.DataFrame) -> Drawing:
    """Figure 5: the two terms over steps, one row per variant, one line per seed."""
    names = dict(zip(TERMS, ("InfoMax", "InfoMin"), strict=True))
    variants = list(dict.fromkeys(logs["variant"]))
    drawing, axes = style.panels(len(variants), len(names), 3.4, 1.9, 0.5, sharex=True)
    handles: dict[str, Artist] = {}
    for (row, variant), (column, (term, name)) in product(enumerate(variants), enumerate(names.items())):
        axis = axes[row, column]
        for (setting, _), log in logs[logs["variant"] == variant].groupby(["setting", "seed"], sort=False):
            label = "plain" if setting == "plain" else f"λ = {str(setting).split()[-1]}"
            colour = WEIGHTS.get(str(setting).split()[-1], INK)
            if term in log and log[term].notna().any():
                axis.plot(log["step"], log[term], color=colour, linewidth=0.9, alpha=0.85)
                handles[label] = Line2D([], [], color=colour, label=label)
        axis.set_title(f"{variant}, {name}", fontsize=8)
        axis.set_ylabel(term, fontsize=7)
        if row == len(variants) - 1:
            axis.set_xlabel("step", fontsize=7)
    _legend(drawing, list(handles.values()))
    return drawing


# Pictures from the study's folder

PAIRS = 8  # shown
ZOOM = 6
BOXED = {3: (40, 90, 220), 5: (30, 150, 60)}  # locations whose boxes figure 1 shows


def _first_run(models: Models, **where: str) -> Run | None:
    assert models.table.folder is not None
    runs = models.table.where(**where)["run"]
    return Run(models.table.folder / "jobs" / Path(str(runs.iloc[0])).name) if len(runs) else None


def locations(models: Models) -> Image.Image | None:
    """Figure 1: the centres of the eight locations on a background, numbered from 1, and two of the boxes."""
    run = _first_run(models)
    data = run.data() if run is not None else None
    if not isinstance(data, PairData) or not isinstance(data.data, DigitsOnBackgrounds):
        return None
    picture = tile(data.data.backgrounds.images([[0]], generator(0))[0], ZOOM)
    pen, box = ImageDraw.Draw(picture), data.data.digits.image_shape[1]
    for number, (top, left) in enumerate(data.data.corners, start=1):
        if number in BOXED:
            ends = [ZOOM * left, ZOOM * top, ZOOM * (left + box) - 1, ZOOM * (top + box) - 1]
            pen.rectangle(ends, outline=BOXED[number], width=2)
        x, y = ZOOM * (left + box / 2), ZOOM * (top + box / 2)
        pen.ellipse([x - 8, y - 8, x + 8, y + 8], fill=(255, 255, 255))
        pen.text((x, y), str(number), fill=(0, 0, 0), anchor="mm")
    return picture


def pairs(models: Models, variant: str) -> Image.Image | None:
    """Figures 2 to 4: pairs of training images of a variant, and two views of each as a model sees them.

    Where no model was trained on the variant, of the data and the views of another's: of one whose pairs share the
    location too, where they do, since a crop or a mirror would move it.
    """
    alike = [name for name in SHARED if ("location" in SHARED[name]) == ("location" in SHARED[variant])]
    run = next(filter(None, (_first_run(models, variant=name) for name in (variant, *alike))), _first_run(models))
    if run is None:
        return None
    settings, opened = run.config.settings, run.data().opened
    assert opened is not None
    data = load(opened["name"], opened["resolution"], **{**opened["settings"], "variant": variant})
    views = Views(settings["crop"], settings["flip"], settings["colour"], settings["grey"])
    batch = data.batch(PAIRS, generator(0))
    strips = [Strip("view 0", batch["images"]), Strip("view 1", batch["partners"])]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for index, name in enumerate(("images", "partners")):
            strips.append(Strip(f"view {index}, augmented", to_bytes(views(batch[name].float() / 255))))
    first, second = SHARED[variant]
    return sheet(variant, f"pairs (columns) share {first} and {second}; below, as the encoder sees them", strips)
