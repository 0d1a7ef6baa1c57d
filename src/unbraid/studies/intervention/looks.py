"""What the study's folders show: joint tables, importances, traversals, neighbours. Only this opens folders of runs."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure as Drawing
from PIL import Image
from torch import Tensor

from unbraid.data.factors import generator
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.pictures.neighbours import Query, neighbour_sheet
from unbraid.pictures.sheets import Strip, beside, sheet
from unbraid.pictures.style import data_name
from unbraid.pictures.traversals import exchanges, reconstructions, traverse
from unbraid.report.estimates import Array
from unbraid.runs.run import Run
from unbraid.studies.intervention import drawings
from unbraid.studies.intervention.models import CORRELATED, METRICS, OTHERS, OURS, Kind, Models, numbers

COLUMNS = 9  # of a traversal
QUERIES, NEIGHBOURS = 3, 3  # figure 5
IMAGES = 10  # of a row of exchanges
SHOWN = (OURS, OTHERS[1])  # figure 4: `intervention` and FactorVAE of γ = 40
_FAULTS = (InputError, OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile)


@dataclass
class Looks:
    """The figures of one data set, those that could be made, and why the others could not."""

    joint: tuple[Array, str, str] | None = None
    """Figure 6: how often values of two factors go together (down, across), and the names across and down."""
    importances: Drawing | None = None
    traversals: Image.Image | None = None
    """Figure 4."""
    neighbours: Image.Image | None = None
    """Figure 5."""
    exchanged: Image.Image | None = None
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Shown:
    """A model that is looked at."""

    kind: Kind
    run: Run
    importance: Array | None
    """(codes, factors), where its DCI is known."""

    @property
    def title(self) -> str:
        return f"{self.kind.name}, seed {self.run.config.seed}"

    @property
    def heading(self) -> str:
        """The title of a picture, whose font has no Greek letters."""
        return f"{data_name(self.run.config.data['data'])}, {self.title}".replace("γ", "gamma")


def look(models: Models, data: str, folder: Path) -> Looks:
    """Of models of correlated factors; of each kind the one with the best DCI, or else the best SAP."""
    found = Looks()
    shown = []
    for kind in SHOWN:
        try:
            chosen = _best(models, kind, data, folder / "jobs")
            shown += [chosen] if chosen is not None else []
        except _FAULTS as error:
            found.faults.append(f"{data_name(data)}, {kind.name}: {error}")
    if not shown:
        return found
    try:
        found.joint = joint(shown[0].run)
        matrices = {one.title: one.importance for one in shown if one.importance is not None}
        if matrices:
            marked = found.joint[1:] if found.joint else ()
            found.importances = drawings.importances(matrices, shown[0].run.spec.names, marked)
        if shown[0].run.method().code_groups is None:
            found.traversals = beside([_traversals(one) for one in shown], 1)
        else:
            found.neighbours = beside([_neighbours(one) for one in shown], 2)
            found.exchanged = beside([_exchanges(one) for one in shown], 1)
    except _FAULTS as error:
        found.faults.append(f"{data_name(data)}: {error}")
    return found


def _best(models: Models, kind: Kind, data: str, jobs: Path) -> _Shown | None:
    runs = models.of_kind(kind, data, CORRELATED)
    runs = runs if len(runs) else models.of_kind(kind, data)
    if not len(runs):
        return None
    known = [numbers(runs[column]) for column in METRICS if column in runs]
    ranked = next((values for values in known if np.isfinite(values).any()), np.zeros(len(runs)))
    place = runs.iloc[int(np.nanargmax(ranked))]
    importance = None
    if isinstance(place.get("examined"), str):
        with np.load(jobs / str(place["examined"]) / "arrays.npz", allow_pickle=False) as arrays:
            importance = arrays["importance"] if "importance" in arrays.files else None
    return _Shown(kind, Run(jobs / Path(str(place["run"])).name), importance)


def joint(run: Run) -> tuple[Array, str, str] | None:
    """How often the training rows of a run have each pair of values of its correlated factors; None without any."""
    settings = (run.read_json("config").get("opened") or {}).get("settings") or {}
    if "correlated" not in settings:
        return None
    across, down = (name.strip() for name in str(settings["correlated"]).split(";")[0].split(","))
    data = run.images()
    factors = data.all_factors().numpy()
    columns = [np.unique(factors[:, data.column(name)], return_inverse=True) for name in (down, across)]
    counts = np.zeros([len(values) for values, _ in columns])
    np.add.at(counts, tuple(places for _, places in columns), 1)
    return counts, across, down


def _test_images(run: Run, count: int) -> Tensor:
    data = run.images()
    return (data if data.held_out is None else data.held_out).sample(count, generator(0))[0]


def _traversals(shown: _Shown) -> Image.Image:
    """Figure 4 (b): each code of one test image from its 10 % to its 90 % quantile; above, reconstructions."""
    method, codes, names = shown.run.method(), shown.run.representation().codes, shown.run.spec.names
    images = _test_images(shown.run, COLUMNS)
    low, high = (torch.quantile(codes, place, dim=0) for place in (0.1, 0.9))
    with torch.inference_mode():
        code = method.encode(images[:1])[0].cpu()
    strips = reconstructions(method, images)
    for latent in range(len(code)):
        values = torch.linspace(float(low[latent]), float(high[latent]), COLUMNS)
        strips.append(Strip(f"code {latent}", traverse(method, code, latent, values), _told(shown, latent, names)))
    subtitle = "test images and their reconstructions; then each code of the first from its 10 % to its 90 % quantile"
    return sheet(shown.heading, subtitle, strips)


def _told(shown: _Shown, latent: int, names: Sequence[str]) -> str:
    """The factor that a code is most important for."""
    if shown.importance is None:
        return ""
    best = int(shown.importance[latent].argmax())
    return f"{names[best].replace('_', ' ')} {shown.importance[latent, best]:.2f}"


def _neighbours(shown: _Shown) -> Image.Image:
    """Figure 5: the nearest neighbours of test images in each feature, among training images."""
    method, known, rows = shown.run.method(), shown.run.representation(), shown.run.images()
    queries = [Query(f"test image {place}", image) for place, image in enumerate(_test_images(shown.run, QUERIES))]
    return neighbour_sheet(method, rows, known, queries, NEIGHBOURS, shown.heading)


def _exchanges(shown: _Shown) -> Image.Image:
    """Reconstructions, and the first test image with each feature of the others."""
    method, images = shown.run.method(), _test_images(shown.run, IMAGES)
    with torch.inference_mode():
        codes = method.encode(images).cpu()
    strips = [*reconstructions(method, images, codes), *_exchanged(method, images, codes)]
    return sheet(shown.heading, "the first image with one feature of each of the others", strips)


def _exchanged(method: Method, images: Tensor, codes: Tensor) -> list[Strip]:
    assert method.code_groups is not None
    return exchanges(method, images, codes, method.code_groups)[1:]
