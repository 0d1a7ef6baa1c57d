"""The study's figures as functions of the models, and pictures from its folder. Error bars are 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from PIL import Image
from torch import Tensor

from unbraid.data.factors import generator
from unbraid.pictures import style
from unbraid.pictures.names import data_name
from unbraid.pictures.neighbours import Query, retrieve
from unbraid.pictures.sheets import Strip, beside, drawn, sheet
from unbraid.pictures.traversals import exchanges as exchange_strips
from unbraid.pictures.traversals import reconstructions, traverse
from unbraid.report.estimates import Array, mean
from unbraid.report.run_table import numbers
from unbraid.runs.run import Run
from unbraid.studies.intervention import paper
from unbraid.studies.intervention.models import (
    COMPARED,
    CORRELATED,
    DIFFICULT,
    ERROR,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    PLAIN,
    RELATIONS,
    TARGETED,
    WEIGHTED,
    Group,
    Models,
)

COLOURS = {INDEPENDENT: "#0072B2", CORRELATED: "#D55E00"}
INK = "#222222"


def _legend(drawing: Drawing, with_paper: bool = False) -> None:
    handles = [
        Line2D([], [], color=colour, linestyle="none", marker="o", markersize=4.5, label=relation)
        for relation, colour in COLOURS.items()
    ]
    if with_paper:
        diamond = Line2D([], [], color=INK, linestyle="none", marker="D", markersize=4, fillstyle="none", label="paper")
        handles.append(diamond)
    drawing.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False)


def scores(models: Models) -> Drawing:
    """Tables 1 to 3: one row per data set, one panel per metric, one line per model, both kinds of factors."""
    rows = [(index, data) for index, data in enumerate(models.data_sets) if models.metrics(data)]
    drawing, axes = style.panels(max(len(rows), 1), len(METRICS), 2.7, 1.75, 0.5, sharex="col")
    for row, (index, data) in enumerate(rows):
        for panel, (column, metric) in enumerate(METRICS.items()):
            axis = axes[row, panel]
            if panel and column not in models.metrics(data):
                axis.set_axis_off()
                continue
            axis.set_title(f"{data_name(data)}, {metric}", fontsize=8)
            for line, group in enumerate(COMPARED):
                for side, relation in ((-0.16, INDEPENDENT), (0.16, CORRELATED)):
                    values = models.scores(column, group, relation)[index]
                    said = paper.said(data, group.name, relation, metric)
                    _marks(axis, line + side, values, said, COLOURS[relation])
            axis.set_ylim(len(COMPARED) - 0.5, -0.5)
            axis.set_xlim(0, 1)
            names = [group.name if panel == 0 else "" for group in COMPARED]
            axis.set_yticks(range(len(COMPARED)), names, fontsize=7)
    _legend(drawing, with_paper=True)
    return drawing


def _marks(axis: Axes, y: float, values: Array, said: float | None, colour: str) -> None:
    """Seeds as faint dots, their mean with its interval, the paper's mean as a diamond."""
    entry = mean(values)
    if entry.known:
        known = values[np.isfinite(values)]
        axis.plot(known, [y] * len(known), "o", color=colour, markersize=2.5, alpha=0.45, markeredgewidth=0)
        axis.plot([entry.value], [y], "o", color=colour, markersize=4.5)
        if entry.has_interval:
            axis.plot([max(entry.low, 0), min(entry.high, 1)], [y, y], color=colour, linewidth=1)
    if said is not None:
        axis.plot([said], [y], "D", color=colour, fillstyle="none", markersize=4, markeredgewidth=0.8)


def rank_matrices(models: Models) -> Drawing:
    """Figure 3: rank correlations of difficulty and scores over FactorVAE models, one panel per data set."""
    drawing, axes = style.wrapped(len(models.ranked), 3, 2.3, 2.2, 0.2)
    grids = {"difficulty": models.factor_vaes(DIFFICULT), **{n: models.factor_vaes(c) for c, n in METRICS.items()}}
    for axis, index in zip(axes, models.ranked, strict=True):
        frame = pd.DataFrame({name: grid[index].ravel() for name, grid in grids.items()})
        frame = frame[frame["difficulty"].notna()]
        matrix = frame.corr("spearman", min_periods=3).to_numpy()
        style.correlations(axis, matrix, list(grids), list(grids))
        axis.set_title(f"{data_name(models.data_sets[index])}, {len(frame)} models", fontsize=8)
    return drawing


def rank_scatter(models: Models) -> Drawing:
    """The models behind figure 3: difficulty against each score, one row per data set; larger dots for higher γ."""
    drawing, axes = style.panels(max(len(models.ranked), 1), len(METRICS), 2.5, 1.9, 0.5)
    sizes = 8 + 12 * np.arange(len(models.strengths))[:, None]
    for relation, colour in COLOURS.items():
        difficulty = models.factor_vaes(DIFFICULT, (relation,))
        for panel, (column, metric) in enumerate(METRICS.items()):
            values = models.factor_vaes(column, (relation,))
            for row, index in enumerate(models.ranked):
                axis, (x, y) = axes[row, panel], (difficulty[index], values[index])
                axis.scatter(x, y, s=np.broadcast_to(sizes, x.shape), color=colour, alpha=0.6, linewidths=0)
                axis.set_ylabel(metric, fontsize=8)
                axis.set_xlabel(f"difficulty, {data_name(models.data_sets[index])}", fontsize=7)
    _legend(drawing)
    return drawing


def two_samples(models: Models) -> Drawing:
    """Accuracies of the two-sample test without W's weights and with them; one line per seed."""
    drawing, axes = style.wrapped(len(models.data_sets), 3, 2.1, 1.9, 0.4, sharey=True)
    for index, (axis, data) in enumerate(zip(axes, models.data_sets, strict=True)):
        for start, relation in zip((0, 3), RELATIONS, strict=True):
            plain, weighted = (models.scores(column, OURS, relation)[index] for column in (PLAIN, WEIGHTED))
            for pair in zip(plain, weighted, strict=True):
                axis.plot([start, start + 1], pair, "o-", color=COLOURS[relation], markersize=3.5, linewidth=1)
        axis.axhline(0.5, color=style.FAINT, linewidth=0.8, linestyle="--")
        axis.set_xticks([0, 1, 3, 4], ["plain", "W", "plain", "W"], fontsize=7)
        axis.set_xlim(-0.6, 4.6)
        axis.set_ylim(0.4, 1.02)
        axis.set_title(data_name(data), fontsize=8)
    axes[0].set_ylabel("accuracy", fontsize=8)
    _legend(drawing)
    return drawing


# Figures 4 to 6: single models

COLUMNS = 9  # of a traversal
QUERIES, NEIGHBOURS = 3, 3  # figure 5
IMAGES = 10  # of a row of exchanges
SHOWN = (OURS, OTHERS[1])  # `intervention` and FactorVAE of γ = 40
DRAWN = (OTHERS[1], OURS, *TARGETED)  # whose reconstructions are compared


@dataclass(frozen=True)
class Shown:
    """A model that is looked at."""

    group: Group
    row: pd.Series
    importance: Array | None
    """(codes, factors), where its DCI is known."""
    factors: Sequence[str]

    @property
    def title(self) -> str:
        return f"{self.group.name}, seed {self.row['seed']}"

    @property
    def heading(self) -> str:
        """The title of a picture, whose font has no Greek letters."""
        return f"{data_name(self.row['data'])}, {self.title}".replace("γ", "gamma")

    @property
    def correlated(self) -> list[str]:
        """The correlated factors of its training rows; none where they are independent."""
        names = self.row.get("data.correlated")
        return [name.strip() for name in names.split(";")[0].split(",")] if isinstance(names, str) and names else []

    def run(self, models: Models) -> Run:
        assert models.table.folder is not None
        return Run(models.table.folder / "jobs" / Path(self.row["run"]).name)


def chosen(models: Models, data: str, groups: Sequence[Group] = SHOWN) -> Iterator[Shown]:
    """Of each group the model of correlated factors with the best DCI, or else the best SAP."""
    arrays = models.table.tables.get("arrays", pd.DataFrame())
    for group in groups:
        rows = models.rows(group, data)
        correlated = rows[rows["relation"] == CORRELATED]
        rows = correlated if len(correlated) else rows
        if not len(rows):
            continue
        known = [numbers(rows[column]) for column in METRICS if column in rows]
        ranked = next((values for values in known if np.isfinite(values).any()), np.zeros(len(rows)))
        row = rows.iloc[int(np.nanargmax(ranked))]
        importance, factors = None, list[str]()
        if len(arrays) and "id" in row:
            own = arrays[(arrays["model"] == row["id"]) & (arrays["array"] == "importance")]
            if len(own):
                importance, factors = np.array(own["values"].iloc[-1], float), own["factors"].iloc[-1]
        yield Shown(group, row, importance, factors)


def importances(models: Models, data: str) -> Drawing | None:
    """Figure 4 (a): the importance of each code for each factor; correlated factors in red."""
    shown = [one for one in chosen(models, data) if one.importance is not None]
    if not shown:
        return None
    drawing, axes = style.wrapped(len(shown), 3, 2.8, 2.6, 0.2)
    for axis, one in zip(axes, shown, strict=True):
        assert one.importance is not None
        axis.imshow(one.importance, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.grid(False)
        axis.set_title(one.title, fontsize=8)
        names = [factor.replace("_", " ") for factor in one.factors]
        axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
        for label, factor in zip(axis.get_xticklabels(), one.factors, strict=True):
            label.set_color("#C00000" if factor in one.correlated else INK)
        axis.set_yticks(range(len(one.importance)))
        axis.set_ylabel("code", fontsize=8)
        for (row, column), value in np.ndenumerate(one.importance):
            if value >= 0.1:
                ink = "white" if value > 0.6 else "black"
                axis.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=6, color=ink)
    return drawing


def joints(models: Models) -> Image.Image | None:
    """Figure 6: how often two factors have these values together, the most frequent as 1; one panel per data set."""
    shown = [next(chosen(models, data), None) for data in models.data_sets]
    correlated = [one for one in shown if one is not None and one.correlated]
    if not correlated:
        return None
    drawing, axes = style.wrapped(len(correlated), 3, 2.4, 2.2, 0.2)
    for axis, one in zip(axes, correlated, strict=True):
        across, down = one.correlated
        counts = joint(one.run(models), across, down)
        image = axis.imshow(counts / max(counts.max(), 1e-12), cmap="viridis", vmin=0, vmax=1, aspect="auto")
        axis.grid(False)
        axis.set_title(data_name(one.row["data"]), fontsize=8)
        axis.set_ylabel(down.replace("_", " "), fontsize=8)
        axis.set_xlabel(across.replace("_", " "), fontsize=8)
        drawing.colorbar(image, ax=axis, fraction=0.046).ax.tick_params(labelsize=6)
    return drawn(drawing)


def joint(run: Run, across: str, down: str) -> Array:
    """How many training rows of a run have each pair of values of two factors (values down, values across)."""
    data = run.images()
    factors = data.all_factors().numpy()
    columns = [np.unique(factors[:, data.column(name)], return_inverse=True) for name in (down, across)]
    counts = np.zeros([len(values) for values, _ in columns])
    np.add.at(counts, tuple(places for _, places in columns), 1)
    return counts


def _sheets(
    models: Models, data: str, draw: Callable[[Shown, Run], Image.Image], grouped: bool, columns: int = 1
) -> Image.Image | None:
    """A sheet of each model, where its features are groups of codes or where they are single codes."""
    runs = [(one, one.run(models)) for one in chosen(models, data)]
    sheets = [draw(one, run) for one, run in runs if (run.method().code_groups is not None) == grouped]
    return beside(sheets, columns) if sheets else None


def traversals(models: Models, data: str) -> Image.Image | None:
    """Figure 4 (b): each code of one test image from its 10 % to its 90 % quantile; above, reconstructions."""

    def draw(shown: Shown, run: Run) -> Image.Image:
        method, codes, images = run.method(), run.representation().codes, _test_images(run, COLUMNS)
        low, high = (torch.quantile(codes, share, dim=0) for share in (0.1, 0.9))
        with torch.inference_mode():
            code = method.encode(images[:1])[0].cpu()
        strips = reconstructions(method, images)
        for latent in range(len(code)):
            values = torch.linspace(float(low[latent]), float(high[latent]), COLUMNS)
            strips.append(Strip(f"code {latent}", traverse(method, code, latent, values), _best_factor(shown, latent)))
        subtitle = "test images, reconstructions; then each code of the first from its 10 % to its 90 % quantile"
        return sheet(shown.heading, subtitle, strips)

    return _sheets(models, data, draw, grouped=False)


def _best_factor(shown: Shown, latent: int) -> str:
    """The factor that a code is most important for."""
    if shown.importance is None:
        return ""
    best = int(shown.importance[latent].argmax())
    return f"{shown.factors[best].replace('_', ' ')} {shown.importance[latent, best]:.2f}"


def compared(models: Models, data: str) -> Image.Image | None:
    """Test images, and below them the reconstructions of each model with its squared error."""
    strips: list[Strip] = []
    for shown in chosen(models, data, DRAWN):
        run = shown.run(models)
        images = _test_images(run, IMAGES)
        real, drawn_again = reconstructions(run.method(), images)[:2]
        strips += [] if strips else [Strip("test images", real.images)]
        error = shown.row.get(ERROR, np.nan)
        strips.append(Strip(shown.title.replace("γ", "gamma"), drawn_again.images, f"squared error {error:.4f}"))
    return sheet(data_name(data), "reconstructions of images that were held out", strips) if strips else None


def neighbours(models: Models, data: str) -> Image.Image | None:
    """Figure 5: the nearest neighbours of test images in each feature, among training images."""

    def draw(shown: Shown, run: Run) -> Image.Image:
        queries = [Query(f"test image {index}", image) for index, image in enumerate(_test_images(run, QUERIES))]
        return retrieve(run, queries, count=NEIGHBOURS).sheet(shown.heading)

    return _sheets(models, data, draw, grouped=True, columns=2)


def exchanges(models: Models, data: str) -> Image.Image | None:
    """Reconstructions, and the first test image with each feature of the others."""

    def draw(shown: Shown, run: Run) -> Image.Image:
        method, images = run.method(), _test_images(run, IMAGES)
        assert method.code_groups is not None
        with torch.inference_mode():
            codes = method.encode(images).cpu()
        strips = [
            *reconstructions(method, images, codes), *exchange_strips(method, images, codes, method.code_groups)[1:]
        ]  # fmt: skip
        return sheet(shown.heading, "the first image with one feature of each of the others", strips)

    return _sheets(models, data, draw, grouped=True)


def _test_images(run: Run, count: int) -> Tensor:
    data = run.images()
    return (data if data.held_out is None else data.held_out).sample(count, generator(0))[0]
