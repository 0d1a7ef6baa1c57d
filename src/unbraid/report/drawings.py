"""Drawings as SVG that may stand beside others on one page, and as PDF: the same bytes for the same drawing.

The SVG tells the page's script what it shows. A group of marks has the name of its series (an entry of the legend),
the values of its points and the rows of their runs:

    <g class="series" data-series="β-VAE" data-x="0.1 0.2" data-y="0.3 0.4" data-runs="7 8">
    <g class="key" data-series="β-VAE">     the entry of the legend

Greys become mixtures of the page's ink and paper, and colours get lighter in the dark, so that a drawing follows both.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import BboxBase

from unbraid.pictures.style import label_of

RunsOf = Callable[[Sequence[str], Sequence[float], Sequence[float]], "Sequence[int | None]"]
"""From the runs that points were labelled with, if any, and their values: the rows of the table of runs."""

MANY = 6000  # points of clouds in a drawing above which the SVG holds a picture of them: each has a cost in bytes
READABLE = 9.0, 11.0  # pixels of the smallest words of a drawing, on wide screens and on narrow ones
_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_FONTS: dict[Any, Any] = {"svg.hashsalt": "unbraid", "svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text
_MARGIN = 0.1  # inches
_GREY = 16  # how far the parts of a colour may differ


@dataclass(frozen=True)
class LaidOut:
    """A drawing whose parts are in place, and what it covers in inches."""

    drawing: Drawing
    outline: BboxBase


@dataclass(frozen=True)
class _Marks:
    """What an artist shows."""

    series: str
    x: Sequence[float] = ()
    y: Sequence[float] = ()
    runs: Sequence[str] = ()
    names: tuple[str, str] = ("", "")
    """Of the axes."""


@contextmanager
def laid_out(drawing: Drawing) -> Iterator[LaidOut]:
    """Put the parts of a drawing in place once for all formats; each would do so by itself, and draw twice for it."""
    engine = drawing.get_layout_engine()
    for axis in (one for axes in drawing.axes for one in (axes.xaxis, axes.yaxis)):
        if not axis.get_label_text():
            axis.set_label_coords(0, 0)  # else Matplotlib measures all ticks whenever it looks where no words would go
    if engine is not None:
        engine.execute(drawing)
    drawing.set_layout_engine(None)
    try:
        yield LaidOut(drawing, drawing.get_tightbbox().padded(_MARGIN))
    finally:
        drawing.set_layout_engine(engine)


def width(laid_out: LaidOut) -> int:
    """How many pixels wide a drawing is at its own size."""
    return round(laid_out.outline.width * 96)


def svg(laid_out: LaidOut, prefix: str, title: str, runs_of: RunsOf = lambda runs, x, y: ()) -> str:
    """A drawing as an <svg> element for HTML. All its ids start with `prefix`, so that no two drawings share one."""
    file = io.BytesIO()
    with matplotlib.rc_context(_FONTS), _tagged(laid_out.drawing) as (marks, keys, fixed), _pictured(laid_out.drawing):
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
        id = element.attrib.get("id", "")
        if element.tag != "text":
            element.text = None
        element.tail = None
        if id in marks:
            _tell(element, marks[id], runs_of)
        elif id in keys:
            element.attrib = {"class": "key", "data-series": keys[id]}
        elif id in fixed:
            element.attrib = {"class": "fixed"}
    for inner in root.iter():
        inner.attrib = {key.replace(_HREF, "href"): _own(key, value, prefix) for key, value in inner.attrib.items()}
        if "d" in inner.attrib:
            inner.attrib["d"] = re.sub(r"(\.\d{3})\d+", r"\1", inner.attrib["d"]).replace("  ", " ").strip()
    _follow_page(root)
    across = float(root.attrib["viewBox"].split()[2])
    sizes = [float(size) for text in root.iter("text") for size in re.findall(r"([\d.]+)px", text.get("style", ""))]
    wide, narrow = (round(across * size / min(sizes, default=size)) for size in READABLE)
    own = round(across * 96 / 72)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    sizes_of_page = f"--own:{max(own, wide)}px;--wide:{min(own, wide)}px;--narrow:{narrow}px"
    root.attrib |= {
        "role": "group" if keys else "img",  # what is in an image cannot be pressed
        "aria-label": title,
        "style": f"{sizes_of_page};stroke-linejoin:round;stroke-linecap:butt;fill:var(--ink)",
    }
    return ElementTree.tostring(root, encoding="unicode")


@contextmanager
def _pictured(drawing: Drawing) -> Iterator[None]:
    """Clouds of many points as pictures."""
    clouds = [cloud for axis in drawing.axes for cloud in axis.collections if isinstance(cloud, PathCollection)]
    many = sum(len(np.asarray(cloud.get_offsets())) for cloud in clouds) > MANY
    for cloud in clouds:
        cloud.set_rasterized(many)
    try:
        yield
    finally:
        for cloud in clouds:
            cloud.set_rasterized(False)


@contextmanager
def _tagged(drawing: Drawing) -> Iterator[tuple[dict[str, _Marks], dict[str, str], set[str]]]:
    """Give artists ids by which their elements are found again: marks, entries of legends, and words on pictures."""
    before: list[tuple[Artist, str | None]] = []

    def tag(artist: Artist, prefix: str) -> str:
        before.append((artist, artist.get_gid()))
        artist.set_gid(f"{prefix}-{len(before)}")
        return f"{prefix}-{len(before)}"

    keys: dict[str, str] = {}
    names = _series(drawing)
    for _, name, parts in _entries(drawing):
        if name in names.values():
            keys |= {tag(part, "key"): name for part in parts}
    marks, fixed = {}, set()
    for axis in drawing.axes:
        for artist in (*axis.lines, *axis.collections, *axis.patches):
            shown = _marks(artist, names)
            if shown.series or len(shown.x):
                marks[tag(artist, "marks")] = shown
        if axis.images:
            fixed |= {tag(text, "fixed") for text in axis.texts}
    try:
        yield marks, keys, fixed
    finally:
        for artist, gid in before:
            artist.set_gid(gid)


def _entries(drawing: Drawing) -> Iterator[tuple[str, str, tuple[Artist, Artist]]]:
    """The colour, the name and the parts of each entry of all legends."""
    legends = [*drawing.legends, *(axis.get_legend() for axis in drawing.axes)]
    for legend in legends:
        if legend is not None:
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                if handle is not None:
                    yield _colour(handle), text.get_text(), (handle, text)


def _series(drawing: Drawing) -> dict[str, str]:
    """The names in the legend by colour, without those that share a colour."""
    names: dict[str, set[str]] = {}
    for colour, name, _ in _entries(drawing):
        names.setdefault(colour, set()).add(name)
    return {colour: labels.pop() for colour, labels in names.items() if colour and len(labels) == 1}


def _colour(artist: Artist) -> str:
    if isinstance(artist, Line2D):
        return to_hex(artist.get_color())
    if isinstance(artist, Patch):
        return to_hex(artist.get_facecolor())
    if isinstance(artist, Collection):
        for colours in (artist.get_facecolor(), artist.get_edgecolor()):
            if len(colours):
                return to_hex(np.asarray(colours)[0])
    return ""


def _marks(artist: Artist, names: dict[str, str]) -> _Marks:
    """The series of an artist, by its label or by its colour, and the points that a pointer may find."""
    series, runs = label_of(artist)
    series = series or names.get(_colour(artist), "")
    points: Any = ()
    if isinstance(artist, Line2D) and artist.get_marker() not in ("None", "", " ", None) and _in_data(artist):
        points = artist.get_xydata()
    elif isinstance(artist, PathCollection):
        points = artist.get_offsets()
    points = np.ma.filled(np.ma.asarray(points, float), np.nan).reshape(-1, 2)
    return _Marks(series, points[:, 0].tolist(), points[:, 1].tolist(), runs, _axis_names(artist.axes))


def _axis_names(axis: Any) -> tuple[str, str]:
    """What an axis says of its numbers, or what the drawing says of all axes."""
    if not isinstance(axis, Axes):
        return "", ""
    drawing = axis.get_figure(root=True)
    across, up = (drawing.get_supxlabel(), drawing.get_supylabel()) if drawing else ("", "")
    return axis.get_xlabel() or across, axis.get_ylabel() or up


def _in_data(line: Line2D) -> bool:
    return isinstance(line.axes, Axes) and line.get_transform() == line.axes.transData


def _tell(group: Element, marks: _Marks, runs_of: RunsOf) -> None:
    """Write the series and points of a group into its attributes; no points where one lies outside the drawing."""
    group.attrib = {"class": "series"} | ({"data-series": marks.series} if marks.series else {})
    parents = {child: parent for parent in group.iter() for child in parent}
    uses = [element for element in group.iter() if element.tag.removeprefix(_SVG) == "use"]
    if not uses or len(uses) != len(marks.x):
        return
    group.attrib |= {"data-x": " ".join(map(_short, marks.x)), "data-y": " ".join(map(_short, marks.y))}
    group.attrib |= {key: name for key, name in zip(("data-xname", "data-yname"), marks.names, strict=True) if name}
    rows = ["" if row is None else str(row) for row in runs_of(marks.runs, marks.x, marks.y)]
    if any(rows):
        group.attrib["data-runs"] = ",".join(rows)
    holder = parents[uses[0]]
    alike = all(use.get("style") == uses[0].get("style") and parents[use] is holder for use in uses)
    for use in uses:
        use.attrib |= {coordinate: f"{float(use.attrib[coordinate]):.2f}" for coordinate in ("x", "y")}
        if alike and "style" in use.attrib:
            holder.set("style", use.attrib.pop("style"))


def _short(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


def _own(key: str, value: str, prefix: str) -> str:
    """The value of an attribute with the ids in it prefixed."""
    if key == "id":
        return prefix + value
    if key in ("href", _HREF):
        return f"#{prefix}{value[1:]}" if value.startswith("#") else value
    return re.sub(r"url\(#", f"url(#{prefix}", value)


def _follow_page(element: Element) -> None:
    """Colours that are right in light and dark; words on pictures stay as they are."""
    if element.get("class") == "fixed":
        element.set("style", "fill:#000")
        return
    if style := element.get("style"):
        style = re.sub(r"font-family: [^;]*(; )?", "", style)  # the page's own
        element.set("style", re.sub(r"(fill|stroke): #([0-9a-f]{6})", _mixture, style))
    for child in element:
        _follow_page(child)


def _mixture(match: re.Match[str]) -> str:
    parts = [int(match[2][start : start + 2], 16) for start in (0, 2, 4)]
    if max(parts) - min(parts) > _GREY:
        return f"{match[1]}: color-mix(in srgb, #{match[2]} var(--pure), #fff)"
    ink = round(100 - sum(parts) / 7.65)
    if ink in (0, 100):
        return f"{match[1]}: var(--{'ink' if ink else 'paper'})"
    return f"{match[1]}: color-mix(in srgb, var(--ink) {ink}%, var(--paper))"


def pdf(laid_out: LaidOut) -> bytes:
    """A drawing as PDF, for papers. Not straight into a file: Matplotlib hides why that cannot be written."""
    file = io.BytesIO()
    with matplotlib.rc_context(_FONTS):
        laid_out.drawing.savefig(file, format="pdf", bbox_inches=laid_out.outline, metadata={"CreationDate": None})
    return file.getvalue()
