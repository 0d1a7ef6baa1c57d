"""Drawings as SVG that may stand beside others on one page, and as PDF: the same bytes for the same drawing."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure as Drawing
from matplotlib.transforms import BboxBase

_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_FONTS: dict[Any, Any] = {"svg.hashsalt": "unbraid", "svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text
_MARGIN = 0.1  # inches


@dataclass(frozen=True)
class LaidOut:
    """A drawing whose parts are in place, and what it covers in inches."""

    drawing: Drawing
    outline: BboxBase


@contextmanager
def laid_out(drawing: Drawing) -> Iterator[LaidOut]:
    """Put the parts of a drawing in place once for all formats; each would do so by itself, and draw twice for it."""
    engine = drawing.get_layout_engine()
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    try:
        yield LaidOut(drawing, drawing.get_tightbbox().padded(_MARGIN))
    finally:
        drawing.set_layout_engine(engine)


def svg(laid_out: LaidOut, prefix: str, title: str) -> str:
    """A drawing as an <svg> element for HTML. All its ids start with `prefix`, so that no two drawings share one."""
    file = io.BytesIO()
    with matplotlib.rc_context(_FONTS):
        laid_out.drawing.savefig(
            file, format="svg", transparent=True, bbox_inches=laid_out.outline, metadata={"Date": None}
        )
    root = ElementTree.fromstring(file.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):  # a style would hold for the whole page
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {key.replace(_HREF, "href"): _own(key, value, prefix) for key, value in element.attrib.items()}
    width = float(root.attrib["viewBox"].split()[2]) * 96 / 72
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {
        "role": "img",
        "aria-label": title,
        "style": f"width:{width:.0f}px;stroke-linejoin:round;stroke-linecap:butt",
    }
    return ElementTree.tostring(root, encoding="unicode")


def _own(key: str, value: str, prefix: str) -> str:
    """The value of an attribute with the ids in it prefixed."""
    if key == "id":
        return prefix + value
    if key in ("href", _HREF):
        return f"#{prefix}{value[1:]}" if value.startswith("#") else value
    return re.sub(r"url\(#", f"url(#{prefix}", value)


def save_pdf(laid_out: LaidOut, path: Path) -> None:
    """A drawing as PDF, for papers."""
    with matplotlib.rc_context(_FONTS):
        laid_out.drawing.savefig(path, format="pdf", bbox_inches=laid_out.outline, metadata={"CreationDate": None})
