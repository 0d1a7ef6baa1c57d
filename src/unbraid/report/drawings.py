"""Drawings as SVG that may stand beside others on one page, and as PDF: the same bytes for the same drawing."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure as Drawing

_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_FONTS: dict[Any, Any] = {"svg.hashsalt": "unbraid", "svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text


def svg(drawing: Drawing, prefix: str, title: str) -> str:
    """A drawing as an <svg> element for HTML. All its ids start with `prefix`, so that no two drawings share one."""
    file = io.BytesIO()
    with matplotlib.rc_context(_FONTS):
        drawing.savefig(file, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
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


def save_pdf(drawing: Drawing, path: Path) -> None:
    """A drawing as PDF, for papers."""
    with matplotlib.rc_context(_FONTS):
        drawing.savefig(path, format="pdf", bbox_inches="tight", metadata={"CreationDate": None})
