"""What a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure as Drawing
from PIL import Image

from unbraid.report.claims import Judged


@dataclass(frozen=True)
class Figure:
    """A drawing: SVG on the page, PDF beside it."""

    name: str
    title: str
    drawing: Drawing | Callable[[], Drawing]
    """Or a function that makes it, so that no two drawings need be in memory at a time."""
    caption: str = ""
    folded: bool = False
    """Whether it is folded below the part before it, because it says nearly the same."""

    def drawn(self) -> Drawing:
        return self.drawing if isinstance(self.drawing, Drawing) else self.drawing()


@dataclass(frozen=True)
class Picture:
    """Images: PNG on the page."""

    name: str
    title: str
    image: Image.Image
    caption: str = ""
    folded: bool = False
    """Whether it is folded below the part before it, because it says nearly the same."""


@dataclass(frozen=True)
class Table:
    """A small table: HTML on the page, CSV beside it."""

    name: str
    title: str
    frame: pd.DataFrame
    caption: str = ""
    folded: bool = False
    """Whether it is folded below the part before it, because it says nearly the same."""


@dataclass(frozen=True)
class Section:
    """A part of the page. Text and captions are Markdown without pictures, headings and HTML."""

    title: str
    text: str = ""
    items: Sequence[Figure | Picture | Table | Judged] = ()
