"""Images that are alike in one feature: the nearest neighbours of a query by each latent or group of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from PIL import Image
from torch import Tensor

from unbraid.data import FactorData
from unbraid.data.sets.image_folder import read_picture
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.pictures.sheets import Strip, save, sheet
from unbraid.runs.latents import latents_of
from unbraid.runs.run import Run
from unbraid.training.representation import encode_all

TOGETHER = "all together"


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
        """A picture of the data by its name or the number of its row, or any other by its path."""
        if (row := _row(text, data)) is not None:
            return cls(data.files[row] if data.files else f"row {row}", data.images_at([row])[0], row)
        channels, side, _ = data.image_shape
        if not Path(text).expanduser().is_file():
            names = " one of its pictures," if data.files else ""
            raise InputError(
                f"query is '{text}'; expected a file,{names} or a row of the data from 0 to {len(data) - 1}"
            )
        pixels = read_picture(Path(text).expanduser(), side, channels, text)
        return cls(Path(text).name, torch.from_numpy(pixels.copy()).permute(2, 0, 1))


def _row(text: str, data: FactorData) -> int | None:
    """The row that is meant: by the picture's name below the folder, by the file's name alone, or by its number."""
    for named in (data.files, [file.rpartition("/")[2] for file in data.files]):
        rows = [row for row, name in enumerate(named) if name == text]
        if len(rows) == 1:
            return rows[0]
        if rows:
            examples = f"{data.files[rows[0]]} and {data.files[rows[1]]}"
            raise InputError(f"query is '{text}', the name of {len(rows)} pictures, such as {examples}; name one")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


@dataclass(frozen=True)
class Feature:
    """Columns of the codes that are compared as one."""

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Neighbours:
    """The rows that are nearest to a query in one feature, nearest first, with their distances."""

    query: Query
    feature: str
    rows: list[int]
    distances: list[float]


@dataclass(frozen=True)
class Retrieval:
    """The neighbours of some queries in a run's data."""

    title: str
    data: FactorData
    neighbours: list[Neighbours]

    def name(self, row: int) -> str:
        """The file of a row; its number where it has none."""
        return self.data.files[row] if self.data.files else f"row {row}"

    @property
    def queries(self) -> list[Query]:
        """Each query once."""
        return list({id(one.query): one.query for one in self.neighbours}.values())

    def of(self, query: Query) -> list[Neighbours]:
        """The neighbours of one query, by feature."""
        return [one for one in self.neighbours if one.query is query]

    def table(self) -> pd.DataFrame:
        """One row per neighbour: `query`, `feature`, `rank`, `row`, `file` where there are files, `distance`."""
        listed = [
            {
                "query": one.query.name, "feature": one.feature, "rank": rank, "row": row,
                **({"file": self.data.files[row]} if self.data.files else {}), "distance": round(distance, 6),
            }
            for one in self.neighbours
            for rank, (row, distance) in enumerate(zip(one.rows, one.distances, strict=True), 1)
        ]  # fmt: skip
        return pd.DataFrame(listed)

    def sheet(self, title: str = "") -> Image.Image:
        """For each query one row per feature: the query, a gap, and its nearest neighbours."""
        strips = []
        for one in self.neighbours:
            gap = torch.full_like(one.query.image, 255)
            images = torch.cat([one.query.image[None], gap[None], self.data.images_at(one.rows)])
            strips.append(Strip(one.feature, images, one.query.name))
        count = max(len(one.rows) for one in self.neighbours)
        return sheet(title or self.title, f"a query, and the {count} images nearest to it by each feature", strips)


def neighbours(codes: Tensor, query: Tensor, groups: Sequence[Sequence[int]], count: int) -> Tensor:
    """The rows of codes (n, d) nearest to a query (d,) in each group of columns, nearest first: (groups, count).

    By Euclidean distance; equally near ones in order of rows.
    """
    nearest = []
    for group in groups:
        distances = (codes[:, list(group)] - query[list(group)]).square().sum(1)
        nearest.append(distances.sort(stable=True).indices[:count])
    return torch.stack(nearest)


def features_of(run: Run, method: Method, everything: bool = False) -> list[Feature]:
    """A run's groups of codes; or its active latents, by KL, and all of these together.

    With `everything`, also the latents that say nothing.
    """
    if method.code_groups is not None:
        return [Feature(f"feature {index}", tuple(group)) for index, group in enumerate(method.code_groups)]
    chosen = [latent for latent in latents_of(run) if latent.active or everything]
    features = [Feature(latent.name, (latent.index,)) for latent in chosen]
    if not features:
        raise InputError(
            f"{run.folder} has no active latent to compare images by; train it longer, or with a lower strength"
        )
    together = Feature(TOGETHER, tuple(latent.index for latent in chosen))
    return [*features, together] if len(features) > 1 else features


def find_neighbours(
    method: Method, data: FactorData, codes: Tensor, rows: Tensor, features: Sequence[Feature], query: Query, count: int
) -> list[Neighbours]:
    """The neighbours of a query by each feature, among `codes` (n, d) of these rows of the data."""
    with torch.inference_mode():
        code = method.encode(query.image[None])[0].cpu()
    others = _others(query, code, data, codes, rows)
    if not bool(others.any()):
        raise InputError(f"{query.name} is the only image, or all others are the same: it has no neighbours")
    kept, kept_rows = codes[others], rows[others]
    by_feature = []
    for feature in features:
        columns = list(feature.columns)
        nearest = neighbours(kept, code, [columns], count)[0]
        distances = (kept[nearest][:, columns] - code[columns]).norm(dim=1)
        by_feature.append(Neighbours(query, feature.name, kept_rows[nearest].tolist(), distances.tolist()))
    return by_feature


def _others(query: Query, code: Tensor, data: FactorData, codes: Tensor, rows: Tensor, twins: int = 8) -> Tensor:
    """Which codes are not the query's own, nor those of an identical picture: bool (n,)."""
    kept = rows != (-1 if query.row is None else query.row)
    nearest = neighbours(codes, code, [range(len(code))], twins)[0]
    same = (data.images_at(rows[nearest]) == query.image).flatten(1).all(1)
    kept[nearest[same]] = False
    return kept


def retrieve(
    run: Run,
    queries: Sequence[str | Query],
    *,
    count: int = 6,
    data: FactorData | None = None,
    everything: bool = False,
) -> Retrieval:
    """The nearest neighbours of pictures by each active latent, and by all of them together.

    A query is a picture of the data, by its name or its row, or the path of another. `data` are the images to search,
    by default the run's own; `everything` compares by latents that say nothing, too.
    """
    if count < 1:
        raise InputError(f"count is {count}; expected at least 1")
    if not queries:
        raise InputError("there is no query; expected the file of a picture, or a row of the data")
    method, images = run.method(), data or run.examples(plain=True)
    asked = [query if isinstance(query, Query) else Query.of(query, images) for query in queries]
    features = features_of(run, method, everything)
    if data is not None or (images.files and images.weights is None):  # all of them; a run may have kept some codes
        codes, rows = encode_all(method, images), torch.arange(len(images))
    else:
        representation = run.representation()
        codes, rows = representation.codes, representation.rows
    nearest = [one for query in asked for one in find_neighbours(method, images, codes, rows, features, query, count)]
    return Retrieval(run.title, images, nearest)


def save_neighbours(retrieval: Retrieval, path: Path) -> Path:
    """Write the sheet of a retrieval."""
    return save(retrieval.sheet(), path)
