"""The page of a retrieval: each query, and below it the pictures that are nearest to it by each feature."""

from __future__ import annotations

import html
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from torch import Tensor

from unbraid.data.atomic import replacing
from unbraid.errors import InputError, printable
from unbraid.explorer.content import picture_address
from unbraid.pictures.neighbours import Neighbours, Query, Retrieval
from unbraid.pictures.sheets import tiles


def write_page(retrieval: Retrieval, path: Path) -> Path:
    """Write the page; it needs no network."""
    try:
        with replacing(path) as part:
            part.write_text(page(retrieval), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def page(retrieval: Retrieval) -> str:
    """The page as text."""
    source = files("unbraid.explorer")
    count = len(retrieval.data)
    return Template(source.joinpath("retrieved.html").read_text(encoding="utf-8")).substitute(
        title=_text(retrieval.title),
        about=_text(f"Each row is in order of distance, nearest first, among {count:,} pictures."),
        style=source.joinpath("results.css").read_text(encoding="utf-8"),
        queries="".join(_query(retrieval, query) for query in retrieval.queries),
        version=html.escape(version("unbraid")),
    )


def _query(retrieval: Retrieval, query: Query) -> str:
    rows = "".join(_row(retrieval, one) for one in retrieval.of(query))
    return f'<section class="card"><h2>{_text(query.name)}</h2>{_figure(query.image, query.name)}{rows}</section>'


def _row(retrieval: Retrieval, one: Neighbours) -> str:
    images = retrieval.data.images_at(one.rows)
    figures = "".join(
        _figure(image, retrieval.name(row), f"{distance:.3f}")
        for image, row, distance in zip(images, one.rows, one.distances, strict=True)
    )
    return f'<h3>{_text(one.feature)}</h3><div class="row">{figures}</div>'


def _figure(image: Tensor, name: str, note: str = "") -> str:
    caption = f"<figcaption>{_text(name)}<br>{note}</figcaption>" if note else ""
    style = "" if note else ' style="width: 8rem"'
    source = picture_address(tiles([image[None]]))
    return f'<figure><img class="coarse" alt="{_text(name)}"{style} src="{source}">{caption}</figure>'


def _text(words: str) -> str:
    return html.escape(printable(words), quote=True)
