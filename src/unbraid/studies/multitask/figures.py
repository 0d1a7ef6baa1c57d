"""The study's figures, each a function of the models. Error bars are 95 % intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image
from torch import Tensor

from unbraid.data.factors import generator
from unbraid.data.reading import read_arrays
from unbraid.errors import InputError
from unbraid.jobs.study_folder import needs_of
from unbraid.methods.base import Method
from unbraid.pictures import style
from unbraid.pictures.names import data_name
from unbraid.pictures.sheets import Strip, beside, drawn, sheet
from unbraid.pictures.traversals import to_bytes, unit_traversals
from unbraid.report.estimates import Array, mean
from unbraid.report.run_table import known_mean
from unbraid.runs.folder import job_folders, unlinked
from unbraid.runs.run import Run
from unbraid.studies.multitask import paper
from unbraid.studies.multitask.models import (
    ERROR,
    LOOKED_AT,
    MULTI,
    ONE,
    RANDOM,
    SECTION_4_1,
    SPLITS,
    Group,
    Models,
    decoder_on,
    single_mean,
)

COLOURS = {"random": "#5f5f5f", "single-mean": "#b9b9b9", "multi-head": "#B03A2E", "one-head": "#0072B2"}
DATA_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
INK = "#222222"


@dataclass(frozen=True)
class Bars:
    """One bar for each data set: its seeds, and what stands beside it."""

    name: str
    colour: str
    values: Array
    """(data sets, seeds)"""
    ends: tuple[Array, Array] | None = None
    """The lowest and the highest of what the bar is the mean of (data sets,)."""
    paper: Sequence[float | None] = ()
    """The paper's figure for each data set."""


def _legend(drawing: Drawing, handles: Sequence[Artist]) -> None:
    drawing.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 7), fontsize=8, frameon=False)


def _handles(bars: Sequence[Bars]) -> list[Artist]:
    handles: list[Artist] = [Patch(facecolor=entry.colour, label=entry.name) for entry in bars]
    if any(entry.ends for entry in bars):
        handles.append(
            Line2D([], [], color=INK, linestyle="none", marker="_", markersize=9, label="best and worst single task")
        )
    if any(value is not None for entry in bars for value in entry.paper):
        handles.append(
            Line2D([], [], color=INK, linestyle="none", marker="D", markersize=4, fillstyle="none", label="paper")
        )
    return handles


def _bars(axis: Axes, bars: Sequence[Bars], names: Sequence[str]) -> None:
    """Groups of bars, one group per data set; one dot per seed, an error bar over seeds."""
    width = 0.8 / len(bars)
    for index, entry in enumerate(bars):
        at = np.arange(len(names)) - 0.4 + width * (index + 0.5)
        for data, x in enumerate(at):
            _bar(axis, x, width, entry, data)
    axis.set_xticks(range(len(names)) if any(names) else [], names if any(names) else None)
    axis.set_xlim(-0.5, len(names) - 0.5)
    axis.grid(axis="x", visible=False)
    axis.set_ylim(bottom=0)


def _bar(axis: Axes, x: float, width: float, entry: Bars, data: int) -> None:
    seeds = entry.values[data]
    entry_mean = mean(seeds)
    if entry_mean.known:
        axis.bar(x, entry_mean.value, width * 0.92, color=entry.colour, linewidth=0, zorder=2)
        known = seeds[np.isfinite(seeds)]
        spread = x + width * 0.2 * (np.arange(len(known)) - (len(known) - 1) / 2)
        axis.plot(
            spread, known, "o", color="white", markersize=2.4, markeredgecolor=INK, markeredgewidth=0.5, zorder=4
        )  # fmt: skip
        if np.isfinite(entry_mean.low):
            axis.plot([x, x], [max(entry_mean.low, 0), entry_mean.high], color=INK, linewidth=0.9, zorder=3)
    if entry.ends is not None:
        for end in entry.ends:
            axis.plot([x - width * 0.3, x + width * 0.3], [end[data]] * 2, color=INK, linewidth=0.9, zorder=5)
    said = entry.paper[data] if data < len(entry.paper) else None
    if said is not None:
        axis.plot(
            x, said, marker="D", markersize=3.6, fillstyle="none", color=INK, markeredgewidth=0.8, zorder=6,
            clip_on=False,
        )  # fmt: skip


def _grid(count: int) -> tuple[Drawing, list[Axes]]:
    return style.wrapped(count, 3, 3.1, 1.9, 0.6)


def _said(models: Models, model: str, metric: str) -> list[float | None]:
    """Table 5's mean for each of our data sets."""
    columns = [paper.place(data) for data in models.data_sets]
    return [None if column is None else paper.TABLE_5[model][metric][column][0] for column in columns]


def scores(models: Models, shown: Sequence[str]) -> Drawing:
    """One panel per metric; models by their names in table 5. The single-task mean has the range of its tasks."""
    drawing, axes = _grid(len(models.metrics))
    names = [data_name(data) for data in models.data_sets]
    for axis, (column, metric) in zip(axes, models.metrics.items(), strict=True):
        bars = []
        for model in shown:
            ends = None
            if model == "single-mean" and models.tasks:
                low, high = (
                    known_mean(SECTION_4_1[f"single-{end}"](models, column), 1) for end in ("min", "max")
                )  # fmt: skip
                ends = (low, high)
            values = SECTION_4_1[model](models, column)
            bars.append(Bars(model, COLOURS[model], values, ends, _said(models, model, metric)))
        _bars(axis, bars, names)
        axis.set_title(metric, fontsize=9)
    _legend(drawing, _handles(bars))
    return drawing


def joint_errors(models: Models) -> Drawing:
    """One panel per data set: their tasks are on scales of their own."""
    drawing, axes = style.wrapped(len(models.data_sets), 3, 2.6, 2.1, 0.5)
    values = {
        "random": models.scores(ERROR, RANDOM),
        "single-mean": single_mean(models, ERROR),
        "multi-head": models.scores(ERROR, MULTI),
        "one-head": models.scores(ERROR, ONE),
    }
    for index, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        bars = [Bars(name, COLOURS[name], rows[index : index + 1]) for name, rows in values.items()]
        _bars(axis, bars, [""])
        axis.set_title(data_name(data), fontsize=9)
        if index == 0:
            axis.set_ylabel("mean squared error", fontsize=8)
    _legend(drawing, _handles(bars))
    return drawing


def by_count(models: Models) -> Drawing:
    """One panel per metric, one line per data set: scores against the number of tasks."""
    drawing, axes = _grid(len(models.metrics))
    counts = list(models.counts)
    for axis, (column, metric) in zip(axes, models.metrics.items(), strict=True):
        grids = [models.scores(column, group) for group in models.counts.values()]
        for index in range(len(models.data_sets)):
            x = np.array(counts) * (1 + 0.05 * (index - (len(models.data_sets) - 1) / 2))
            _line(axis, x, np.stack([grid[index] for grid in grids]), DATA_COLOURS[index % len(DATA_COLOURS)])
        axis.set_xscale("log")
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_title(metric, fontsize=9)
    drawing.supxlabel("number of tasks", fontsize=8)
    names = zip(models.data_sets, DATA_COLOURS * len(models.data_sets), strict=False)
    _legend(
        drawing,
        [
            Line2D([], [], color=colour, marker="o", markersize=4, linewidth=1.2, label=data_name(data))
            for data, colour in names
        ],
    )
    return drawing


def _line(axis: Axes, x: Array, values: Array, colour: str) -> None:
    """Means over seeds (points, seeds) with their intervals."""
    entries = [mean(row) for row in values]
    known = np.array([entry.known for entry in entries], bool)
    means = np.array([entry.value for entry in entries])
    axis.plot(x[known], means[known], color=colour, marker="o", markersize=3.2, linewidth=1.1)
    for at, entry in zip(x, entries, strict=True):
        if np.isfinite(entry.low):
            axis.plot([at] * 2, [max(entry.low, 0), entry.high], color=colour, linewidth=0.9, alpha=0.8)


def by_split(models: Models) -> Drawing:
    drawing, axes = _grid(len(models.metrics))
    names = [data_name(data) for data in models.data_sets]
    for axis, (column, metric) in zip(axes, models.metrics.items(), strict=True):
        groups = zip(SPLITS.items(), (COLOURS["multi-head"], "#E69F00", "#56B4E9"), strict=True)
        bars = [Bars(name, colour, models.scores(column, group)) for (name, group), colour in groups]
        _bars(axis, bars, names)
        axis.set_title(metric, fontsize=9)
    _legend(drawing, _handles(bars))
    return drawing


def embeddings(rows: Mapping[str, tuple[Array, Array]], factors: Sequence[str], sizes: Sequence[int]) -> Drawing:
    """One row per model, one column per factor: places (n, 2) coloured by the factor's values (n, k)."""
    drawing, axes = style.panels(len(rows), len(factors), 1.3, 1.3, 0.25)
    for row, (name, (places, values)) in enumerate(rows.items()):
        for column, factor in enumerate(factors):
            axis = axes[row, column]
            colours = "viridis" if sizes[column] > 4 else "turbo"
            shades = values[:, column] / max(sizes[column] - 1, 1)
            axis.scatter(
                *places.T, s=1.2, c=shades, cmap=colours, vmin=0, vmax=1, linewidths=0, rasterized=True
            )  # fmt: skip
            axis.set_xticks([])
            axis.set_yticks([])
            axis.grid(False)
            axis.spines[["left", "bottom"]].set_visible(False)
            if row == 0:
                axis.set_title(factor.replace("_", " "), fontsize=8)
        axes[row, 0].set_ylabel(name, fontsize=8)
    return drawing


# Pictures from the study's folder: UMAP, reconstructions, traversals of section 4.2

IMAGES = 12  # of a row of reconstructions
ENCODERS = dict(zip(LOOKED_AT, ("random encoder", "single-task encoder", "multi-task encoder"), strict=True))


def umap(models: Models, data: str) -> Image.Image | None:
    """The codes of test images in a plane, of the first seed that has the most models."""
    rows: dict[str, tuple[Array, Array]] = {}
    spec = None
    for group in LOOKED_AT:
        encoder = _run(models, data, group)
        path = None if encoder is None else _embedding(models, encoder)
        if encoder is not None and path is not None:
            spec = Run(encoder).spec
            arrays = read_arrays(path, "an embedding")
            if not {"places", "factors"} <= arrays.keys():
                raise InputError(f"{path} cannot be read as an embedding: it holds {', '.join(arrays) or 'nothing'}")
            rows[group.name] = arrays["places"], arrays["factors"]
    return None if spec is None else drawn(embeddings(rows, spec.names, spec.sizes))


def reconstructions(models: Models, data: str) -> Image.Image | None:
    """Test images, and what decoders make of their codes."""
    pairs = _pairs(models, data)
    if not pairs:
        return None
    images = _test_images(pairs[0].encoder)
    strips = [Strip("original", images), *(Strip(pair.name, pair.decoded(pair.codes(images))) for pair in pairs)]
    return sheet(data_name(data), "test images, and what decoders make of their codes", strips)


def traversals(models: Models, data: str) -> Image.Image | None:
    """What each latent of the code of one test image does."""
    sheets = []
    for pair in _pairs(models, data):
        images = _test_images(pair.encoder)
        code = pair.codes(images)[0]
        sheets.append(unit_traversals(pair.decoder, images[0], code, f"{data_name(data)}, {pair.name}"))
    return beside(sheets, 1) if sheets else None


@dataclass(frozen=True)
class _Pair:
    """An encoder and the decoder that was trained on its codes."""

    name: str
    encoder: Run
    decoder: Method

    def codes(self, images: Tensor) -> Tensor:
        with torch.inference_mode():
            return self.encoder.method().encode(images).cpu()

    def decoded(self, codes: Tensor) -> Tensor:
        with torch.inference_mode():
            return to_bytes(self.decoder.decode(codes))


def _pairs(models: Models, data: str) -> list[_Pair]:
    pairs = []
    for group in LOOKED_AT:
        decoder, encoder = _run(models, data, decoder_on(group)), _run(models, data, group)
        if decoder is not None and encoder is not None:
            pairs.append(_Pair(ENCODERS[group], Run(encoder), Run(decoder).method()))
    return pairs


def _run(models: Models, data: str, group: Group) -> Path | None:
    """The folder of a model of the first seed with the most decoders; of single-task models that of the first task."""
    assert models.table.folder is not None
    decoders = models.table.where(method="frozen_decoder", data=data)
    seeds = decoders["seed"].value_counts(sort=False).sort_index()
    seed = int(seeds.idxmax()) if len(seeds) else models.table.seeds[0]
    task = 0 if group.method == "single_task" else -1
    rows = models.table.where(
        data=data, seed=seed, method=group.method, variant=group.variant, encoder=group.encoder, task=task
    )
    return models.table.folder / "jobs" / Path(str(rows["run"].iloc[0])).name if len(rows) else None


def _embedding(models: Models, encoder: Path) -> Path | None:
    assert models.table.folder is not None
    name = encoder.name.rpartition("-")[2]
    for path in job_folders(models.table.folder / "jobs", "embed-*"):
        if name in needs_of(path) and (path / "embedding.npz").exists():
            return unlinked(path / "embedding.npz")
    return None


def _test_images(run: Run) -> Tensor:
    data = run.images()
    images, _ = (data if data.held_out is None else data.held_out).sample(IMAGES, generator(0))
    return images
