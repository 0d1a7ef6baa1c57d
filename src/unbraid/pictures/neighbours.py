"""Images that are alike in one feature: the nearest neighbours of a query by each group of codes, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from unbraid.data import FactorData
from unbraid.data.sets.image_folder import read_picture
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.own import label
from unbraid.pictures.sheets import Strip, save, sheet
from unbraid.runs.run import Run
from unbraid.training.representation import Representation


@dataclass(frozen=True)
class Query:
    """An image whose neighbours are sought."""

    name: str
    image: Tensor
    """uint8 (C, H, W)."""
    row: int | None = None
    """Its row in the data, where it is known to be one."""

    @classmethod
    def of(cls, text: str, data: FactorData) -> Query:
        """A picture by its path, or an image of the data by the number of its row."""
        if text.isascii() and text.isdecimal() and len(text) < 19:
            row = int(text)
            return cls(f"row {row}", data.images_at([row])[0], row)
        channels, side, _ = data.image_shape
        if not Path(text).expanduser().is_file():
            raise InputError(f"query is '{text}'; expected a file, or a row of the data from 0 to {len(data) - 1}")
        pixels = read_picture(Path(text).expanduser(), side, channels, text)
        return cls(Path(text).name, torch.from_numpy(pixels.copy()).permute(2, 0, 1))


def neighbours(codes: Tensor, query: Tensor, groups: Sequence[Sequence[int]], count: int) -> Tensor:
    """The rows of codes (n, d) nearest to a query (d,) in each group of columns, nearest first: (groups, count).

    By Euclidean distance; equally near ones in order of rows.
    """
    nearest = []
    for group in groups:
        distances = (codes[:, list(group)] - query[list(group)]).square().sum(1)
        nearest.append(distances.sort(stable=True).indices[:count])
    return torch.stack(nearest)


def neighbour_sheet(
    method: Method, data: FactorData, known: Representation, queries: Sequence[Query], count: int, title: str
) -> Image.Image:
    """For each query one row per feature: the query, a gap, and its nearest neighbours among the known codes."""
    width = known.codes.shape[1]
    groups = method.code_groups or [[column] for column in range(width)]
    strips = []
    for query in queries:
        with torch.inference_mode():
            code = method.encode(query.image[None])[0].cpu()
        others = _without(query, code, data, known)
        rows = known.rows[others]
        nearest = neighbours(known.codes[others], code, groups, count)
        for feature, indices in enumerate(nearest):
            gap = torch.full_like(query.image, 255)
            images = torch.cat([query.image[None], gap[None], data.images_at(rows[indices])])
            strips.append(Strip(f"feature {feature}", images, query.name))
    by = f"{len(groups)} features of {len(groups[0])} dimensions" if method.code_groups else f"{width} latents"
    return sheet(title, f"a query, and the {count} images nearest to it by each of {by}", strips)


def _without(query: Query, code: Tensor, data: FactorData, known: Representation, twins: int = 8) -> Tensor:
    """Which known codes are not the query's own, nor those of an identical picture: bool (n,)."""
    kept = known.rows != (-1 if query.row is None else query.row)
    nearest = neighbours(known.codes, code, [range(len(code))], twins)[0]
    same = (data.images_at(known.rows[nearest]) == query.image).flatten(1).all(1)
    kept[nearest[same]] = False
    return kept


def retrieve(
    run: Run, queries: Sequence[str], out: Path | None = None, *, count: int = 6, data: FactorData | None = None
) -> Path:
    """Write the nearest neighbours of pictures, or of rows, into `out` (neighbours.png in the run's folder)."""
    if count < 1:
        raise InputError(f"count is {count}; expected at least 1")
    if not queries:
        raise InputError("there is no query; expected the file of a picture, or a row of the data")
    method, config, known = run.method(), run.config, run.representation()
    images = data or run.images()
    asked = [Query.of(text, images) for text in queries]
    title = f"{label(config.method)} on {label(config.data['data'])}, {config.steps:,} steps, seed {config.seed}"
    return save(neighbour_sheet(method, images, known, asked, count, title), out or run.outputs / "neighbours.png")
