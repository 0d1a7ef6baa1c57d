"""The results of a discovery: a table of factors, the model, and a page."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from unbraid.data.atomic import replacing
from unbraid.data.sets.image_folder import Pictures
from unbraid.explorer.content import content_of, picture_address
from unbraid.explorer.page import page_of
from unbraid.methods import Method
from unbraid.pictures.neighbours import neighbours
from unbraid.pictures.sheets import tiles
from unbraid.pictures.traversals import to_bytes, traverse
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.search.circles import Circle, find_circles, write_circles
from unbraid.search.colour_wheel import as_colour_wheel
from unbraid.search.discovery import COMPARED, Discovery
from unbraid.search.shared_factors import Factor
from unbraid.training.representation import encode_all, represent

Array = np.ndarray[Any, Any]
EXTREMES = 8  # pictures at each end of a factor
STRIP = 9  # decoded pictures along a factor
QUERIES = 4  # pictures whose neighbours are shown
SIDE = 96  # pixels of a real picture on the page, where its file has as many
BINS = 30


@dataclass(frozen=True)
class NamedFactor:
    """A factor with its values: one per picture, in the order of the files."""

    name: str
    factor: Factor
    values: Array

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ")

    @property
    def order(self) -> Array:
        return np.argsort(self.values, kind="stable")

    def ends(self) -> tuple[Array, Array]:
        """The pictures with the lowest and with the highest values, the most extreme first."""
        count = min(EXTREMES, len(self.values) // 2)
        return self.order[:count], self.order[::-1][:count].copy()


@dataclass(frozen=True)
class NamedCircle:
    """Two factors whose values lie on a circle, and the angle of each picture in degrees."""

    name: str
    title: str
    circle: Circle
    degrees: Array

    @property
    def shown(self) -> Array:
        """Angles in degrees, evenly spaced over those that occur: an arc is open somewhere."""
        first, last = np.quantile(self.degrees, [0.005, 0.995])
        return np.linspace(first, last, STRIP)

    def around(self) -> Array:
        """The pictures nearest to these angles."""
        return np.asarray(np.abs(self.degrees[:, None] - self.shown).argmin(0))


def circles_of(factors: Sequence[NamedFactor], codes: Tensor, method: Method) -> list[NamedCircle]:
    """The circles among the factors of codes (n, d); the angle of a hue is counted from red."""
    numbers = {one.factor.latent: number for number, one in enumerate(factors, 1)}
    values = codes.numpy()
    named = []
    for circle in find_circles(values, list(numbers)):
        first, second = sorted(numbers[latent] for latent in circle.columns)
        wheel = as_colour_wheel(
            circle, values, lambda one, turns: draw_around(method, codes.mean(0), one, turns).numpy()
        )
        name, title = f"circle_{first}_{second}", f"Factors {first} and {second}: a circle"
        named.append(NamedCircle(name, title, wheel, wheel.degrees(values)))
    return named


def draw_around(method: Method, middle: Tensor, circle: Circle, turns: Array) -> Tensor:
    """What a model draws at these angles of a circle, its other latents in the middle: uint8 (m, C, H, W)."""
    codes = middle.repeat(len(turns), 1)
    codes[:, list(circle.columns)] = torch.from_numpy(circle.points(turns)).to(middle.dtype)
    return to_bytes(method.decode(codes))


def write_results(discovery: Discovery, data: Pictures, out: Path, notes: Sequence[str] = ()) -> list[Path]:
    """Write `factors.csv`, `model/` and `page.html`, and give their paths. `notes` are lines about the pictures."""
    method = discovery.method()
    codes = encode_all(method, data)
    shown = discovery.trusted or discovery.factors
    factors = [
        NamedFactor(f"factor_{number}", factor, codes[:, factor.latent].numpy())
        for number, factor in enumerate(shown, 1)
    ]
    names = {f"z{one.factor.latent}": one.title for one in factors}
    circles = circles_of(factors if discovery.trusted else [], codes, method)
    model = _keep(discovery, method, data, out / "model", names, {one.name: one.circle for one in circles})
    table = factor_table(factors if discovery.trusted else [], data.files, circles)
    with replacing(out / "factors.csv") as part:
        table.to_csv(part, index=False)
    text = page(discovery, factors, codes, method, data, model, notes, circles)
    with replacing(out / "page.html") as part:
        part.write_text(text, encoding="utf-8")
    return [out / "factors.csv", model.folder, out / "page.html"]


def factor_table(
    factors: Sequence[NamedFactor], names: Sequence[str], circles: Sequence[NamedCircle] = ()
) -> pd.DataFrame:
    """One row per picture: `file`, each factor, the angles of circles, and of which factors it is an extreme case."""
    columns: dict[str, Any] = {"file": list(names)}
    marks: list[list[str]] = [[] for _ in names]
    for one in factors:
        columns[one.name] = np.round(one.values.astype(float), 4)
        for rows, word in zip(one.ends(), ("lowest", "highest"), strict=True):
            for row in rows:
                marks[row].append(f"{one.name} {word}")
    columns |= {one.name: one.degrees for one in circles}
    columns["extreme"] = ["; ".join(words) for words in marks]
    return pd.DataFrame(columns)


def _keep(
    discovery: Discovery,
    method: Method,
    data: Pictures,
    target: Path,
    names: dict[str, str],
    circles: dict[str, Circle],
) -> Run:
    """The run without what only its next stage needs, along the factors' axes and with their names; whole or absent."""
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(discovery.run.folder, part)
    copy = Run(part)
    if discovery.axes is None:
        copy.drop_state()
    else:
        copy.finish(method, represent(method, data, samples=COMPARED))
        copy.seal(turned=True)  # training alone does not give these weights
    Folder(part).write_json("names", {copy.config.id: names})
    if circles:
        write_circles(part, circles)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    return Run(target)


def page(
    discovery: Discovery,
    factors: Sequence[NamedFactor],
    codes: Tensor,
    method: Method,
    data: Pictures,
    model: Run,
    notes: Sequence[str],
    circles: Sequence[NamedCircle],
) -> str:
    """The page as text: factors in order of trust, sliders, neighbours, and what was skipped."""
    middle = codes.mean(0)
    names = {f"z{one.factor.latent}": one.title for one in factors}
    sliders = page_of([content_of(model, data, names)], labels=["model"])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', sliders)
    assert policy is not None
    count = len(discovery.trusted)
    headline = f"{count} factor{'s' if count != 1 else ''} in {len(data):,} pictures" if count else "No factor yet"
    about = [
        f"{discovery.models} models, the best with β {discovery.member.strength:g} and {discovery.steps:,} steps, in "
        f"{discovery.seconds / 60:.0f} minutes.",
        f"{len(discovery.factors)} of its {codes.shape[1]} latents are active.",
    ]
    if discovery.axes is not None:
        about.append("They were rotated to be independent: other models agree better with these axes.")
    about += notes
    source = files("unbraid.explorer")
    return Template(source.joinpath("discovered.html").read_text(encoding="utf-8")).substitute(
        style=source.joinpath("results.css").read_text(encoding="utf-8"),
        title=html.escape(data.source),
        headline=html.escape(headline),
        policy=policy[1],
        about="".join(f"<p>{html.escape(line)}</p>" for line in about),
        advice="".join(f"<li>{html.escape(line)}</li>" for line in discovery.advice()),
        factors="".join(_card(one, middle, method, data) for one in factors)
        + "".join(_circle(one, middle, method, data) for one in circles),
        neighbours=_neighbours(factors, codes, data),
        sliders=html.escape(sliders, quote=True),
        skipped=_skipped(data),
        version=html.escape(version("unbraid")),
    )


def _card(one: NamedFactor, middle: Tensor, method: Method, data: Pictures) -> str:
    low, high = one.ends()
    bounds = np.quantile(one.values, [0.01, 0.99])
    strip = traverse(method, middle, one.factor.latent, torch.linspace(float(bounds[0]), float(bounds[1]), STRIP))
    pictures = _rows(
        ("decoded, low to high", strip), ("lowest", data.shown_at(low, SIDE)), ("highest", data.shown_at(high, SIDE))
    )
    title = html.escape(one.title.capitalize())
    return (
        f'<section class="card"><h2>{title}</h2><p class="facts">{_trust(one.factor)} · '
        f"latent z{one.factor.latent}, {one.factor.kl:.1f} nats</p>{pictures}{_histogram(one)}</section>"
    )


def _circle(one: NamedCircle, middle: Tensor, method: Method, data: Pictures) -> str:
    """A card of a circle: what is drawn on the way round, and real pictures at the same angles."""
    drawn = draw_around(method, middle, one.circle, one.shown / 360)
    pictures = _rows(("decoded, once round", drawn), ("pictures at these angles", data.shown_at(one.around(), SIDE)))
    facts = f"one periodic factor, such as a hue or a direction; its angle is {one.name} in factors.csv"
    return f'<section class="card"><h2>{one.title}</h2><p class="facts">{facts}</p>{pictures}</section>'


def _trust(factor: Factor) -> str:
    if factor.alone or not factor.trusted:
        confirmed = "confirmed by other models" if factor.alone else "not confirmed by other models"
        return f"agreement {factor.trust:.2f}: {confirmed}"
    return f"agreement {factor.mixed:.2f} together with other latents: other models hold it in another mixture"


def _rows(*rows: tuple[str, Tensor]) -> str:
    """Rows of pictures, each with its words below."""
    return "".join(
        f"<figure>{_image(images, words)}<figcaption>{words}</figcaption></figure>" for words, images in rows
    )


def _image(images: Tensor, words: str) -> str:
    coarse = ' class="coarse"' if images.shape[-1] < SIDE else ""
    return f'<img{coarse} alt="{html.escape(words)}" src="{picture_address(tiles([images]))}">'


def _histogram(one: NamedFactor) -> str:
    """An SVG of how the pictures are spread along a factor."""
    counts, edges = np.histogram(one.values, BINS)
    bars = "".join(
        f'<rect x="{column}" y="{1 - count / counts.max():.3f}" width="0.9" height="{count / counts.max():.3f}"/>'
        for column, count in enumerate(counts)
    )
    label = f"{len(one.values):,} pictures from {edges[0]:.2f} to {edges[-1]:.2f}"
    return (
        f'<figure><svg class="histogram" viewBox="0 0 {BINS} 1" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{bars}</svg><figcaption>{label}</figcaption></figure>'
    )


def _neighbours(factors: Sequence[NamedFactor], codes: Tensor, data: Pictures) -> str:
    """Some pictures, and for each factor those that are nearest to them in it and furthest from them elsewhere."""
    if not factors or len(data) < 20:
        return ""
    queries = torch.linspace(0, len(data) - 1, QUERIES + 2).long()[1:-1]
    groups = [[one.factor.latent] for one in factors]
    parts = []
    for row in queries.tolist():
        nearest = neighbours(codes, codes[row], groups, EXTREMES + 1)
        lines = ""
        for one, rows in zip(factors, nearest, strict=True):
            others = [other for other in rows.tolist() if other != row][:EXTREMES]
            lines += (
                f"<figure>{_image(data.shown_at(others, SIDE), one.name)}"
                f"<figcaption>{html.escape(one.title)}</figcaption></figure>"
            )
        name = html.escape(data.files[row])
        query = _image(data.shown_at([row], SIDE), name)
        parts.append(f'<section class="card"><h3>{query} {name}</h3>{lines}</section>')
    return "<h2>Nearest by each factor</h2>" + "".join(parts)


def _skipped(data: Pictures) -> str:
    if not data.skipped:
        return ""
    names = "".join(f"<li>{html.escape(f'{name}: {reason}')}</li>" for name, reason in data.reasons.items())
    return f"<details><summary>{len(data.skipped):,} files could not be read</summary><ul>{names}</ul></details>"
