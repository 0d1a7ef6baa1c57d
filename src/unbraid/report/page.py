"""The page: one HTML file without a network, and the PDF and CSV files beside it."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import pandas as pd

from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.pictures.names import method_name
from unbraid.report import markup
from unbraid.report.claims import FAILS, HOLDS, VERDICTS, Judged
from unbraid.report.dots import Dots
from unbraid.report.parts import Figure, Picture, Section, Table
from unbraid.report.rendering import MANY_RUNS, Render, rendering
from unbraid.report.runs import choose, columns, latents, pictures, portable

SCRIPTS = ("page.js", "figures.js", "runs.js")
UNDECIDED = 3  # claims without a verdict that a section shows unfolded
EMBEDDED = 6_000_000  # bytes of runs' pictures that the page holds; it links to the others
BODY = "<!-- body -->"  # where the sections stand in the page


def write(
    title: str,
    sections: Sequence[Section],
    runs: pd.DataFrame,
    out: Path,
    draw: int = 12,
    explorers: Mapping[str, Path] | None = None,
    workers: int = 1,
    pdf: bool | None = None,
) -> Path:
    """Write `out/report.html` with the figures beside it, and give its path.

    `runs` is what `load_runs` gives. A run whose folder has traversals.png and reconstructions.png opens them; of those
    that are done and have none, up to `draw` get them now. A run with an explorer.html in its folder links to it, or
    to the page that `explorers` has for its folder. The figures of very many runs are drawn by `workers` processes,
    and as PDF files only if `pdf` asks for them; those of fewer are, unless it is False.
    """
    out = Path(out)
    runs = runs.reset_index(drop=True) if "run" in runs else runs
    figures = [item for section in sections for item in section.items if isinstance(item, Figure)]
    many = len(runs) >= MANY_RUNS
    with rendering(figures, Dots.of(runs).rows, workers if many else 1, not many if pdf is None else pdf) as render:
        page = _Page(out, render)
        table = page.runs(runs, draw, explorers or {})
        body = [*(page.section(section) for section in sections), page.titled("Runs", table)]
    script = f'"use strict";\n(() => {{\n{"".join(_file(name) for name in SCRIPTS)}}})();\n'
    style = _file("page.css")
    text = Template(_file("page.html")).substitute(
        title=html.escape(title),
        policy=f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'",
        style=style,
        script=script,
        summary=_summary(sections, runs),
        contents="".join(f'<li><a href="#{anchor}">{html.escape(words)}</a></li>' for anchor, words in page.contents),
        body=BODY,
        version=version("unbraid"),
    )
    above, below = text.split(BODY)
    return page.save("report.html", lambda part: _write_pieces(part, [above, *body, below]))


def _write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a text of many megabytes piece by piece: whole, it would be held several times."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def _file(name: str) -> str:
    return files("unbraid.report").joinpath(name).read_text(encoding="utf-8")


def _summary(sections: Sequence[Section], runs: pd.DataFrame) -> str:
    """How many claims hold and how many runs are done."""
    claims = [item for section in sections for item in section.items if isinstance(item, Judged)]
    states = Counter(str(state) for state in runs.get("state", []))
    parts = []
    if claims:
        noun = "claim" if len(claims) == 1 else "claims"
        parts.append(f"{markup.bar(claims)}<p>{len(claims)} {noun}: {markup.tally(claims)}.</p>")
    counts = [f"{number:,} {html.escape(state)}" for state, number in states.most_common()]
    noun = "run" if len(runs) == 1 else "runs"
    parts.append(f"<p>{len(runs):,} {noun}{': ' if counts else ''}{', '.join(counts)}.</p>")
    return "".join(parts)


@dataclass
class _Page:
    """What has been put on the page so far."""

    out: Path
    render: Render
    contents: list[tuple[str, str]] = field(default_factory=list)
    """Anchor and title of each section."""
    names: set[str] = field(default_factory=set)
    """Of figures, pictures and tables."""

    def save(self, name: str, write: Callable[[Path], Any]) -> Path:
        path = self.out / name
        try:
            with replacing(path) as part:
                write(part)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from error
        return path

    def section(self, section: Section) -> str:
        """Its text and its parts in their order, except that claims without a verdict come last."""
        claims = [item for item in section.items if isinstance(item, Judged)]
        undecided = [claim for claim in claims if claim.verdict not in (HOLDS, FAILS)]
        body = markup.prose(section.text)
        if len(claims) > 1:
            body = f'<div class="tallies">{markup.bar(claims)}<p>{markup.tally(claims)}</p></div>{body}'
        shown = [item for item in section.items if not any(item is claim for claim in undecided)]
        shown += undecided if len(undecided) <= UNDECIDED else []
        for judged, items in groupby(shown, key=lambda item: isinstance(item, Judged)):
            group = list(items)
            body += markup.claim_table(group) if judged else self._parts(group)
        if len(undecided) > UNDECIDED:
            counts = Counter(claim.verdict for claim in undecided)
            words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
            folded = markup.claim_table(undecided)
            body += f"<details><summary>Claims without a verdict: {words}</summary>{folded}</details>"
        return self.titled(section.title, body)

    def _parts(self, items: Sequence[Any]) -> str:
        """Figures, pictures and tables, each with those that are folded below it."""
        groups: list[tuple[str, list[Any]]] = []
        for item in items:
            if groups and getattr(item, "folded", False):
                groups[-1][1].append(item)
            else:
                groups.append((self.item(item), []))
        return f'<div class="parts">{"".join(self._stack(*group) for group in groups)}</div>'

    def _stack(self, part: str, items: Sequence[Any]) -> str:
        """A part above those that are folded."""
        if not items:
            return part
        titles = "; ".join(html.escape(item.title) for item in items[:3])
        rest = f"; and {len(items) - 3} more" if len(items) > 3 else ""
        parts = "".join(map(self.item, items))
        folded = f"<details><summary>More like this: {titles}{rest}</summary>{parts}</details>"
        return f'<div class="stack">{part}{folded}</div>'

    def titled(self, title: str, body: str) -> str:
        """A section of the page and an entry of its contents."""
        anchor = f"{len(self.contents) + 1}-{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}".strip("-")
        self.contents.append((anchor, title))
        return f'<section id="{anchor}" tabindex="-1"><h2>{html.escape(title)}</h2>{body}</section>\n'

    def item(self, item: Any) -> str:
        """A figure, picture or table with its title, its caption and a link to its file."""
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", item.name):
            raise InputError(f"'{item.name}' is not a name for a file; expected letters, digits, '-', '_' and '.'")
        if item.name in self.names:
            raise InputError(f"two parts of the report are called '{item.name}'; each needs a name of its own")
        self.names.add(item.name)
        title, file, size = html.escape(item.title), "", ""
        if isinstance(item, Figure):
            figure = self.render(item)
            if (pdf := figure.pdf) is not None:
                file = f"figures/{item.name}.pdf"
                self.save(file, lambda part: part.write_bytes(pdf))
            else:  # one of an earlier page would show something else
                (self.out / f"figures/{item.name}.pdf").unlink(missing_ok=True)
            size = f' style="--size:{figure.width}px"'
            body = f'<div class="card" tabindex="0" role="region" aria-label="{title}">{figure.svg}</div>'
        elif isinstance(item, Picture):
            png = io.BytesIO()
            item.image.save(png, format="PNG")
            width, height = item.image.size
            size = f' style="--size:{width}px"'
            source = _data_url(png.getvalue())
            image = f'<img loading="lazy" alt="{title}" width="{width}" height="{height}" src="{source}">'
            body = f'<button type="button" class="zoom" aria-label="Enlarge: {title}">{image}</button>'
        elif isinstance(item, Table):
            file = f"tables/{item.name}.csv"
            frame = markup.flattened(item.frame)
            self.save(file, lambda part: frame.to_csv(part, index=False))
            body = markup.data_table(frame, item.title)
        else:
            raise InputError(f"a section holds a {type(item).__name__}; expected Figure, Picture, Table or Claim")
        link = f' <a class="file" href="{file}">{Path(file).suffix[1:].upper()}</a>' if file else ""
        caption = f" <span>{markup.inline(item.caption)}</span>" if item.caption else ""
        css_class = type(item).__name__.lower()
        about = f'id="part-{item.name}" class="{css_class}"{size}'
        return f"<figure {about}><figcaption><b>{title}</b>{caption}{link}</figcaption>{body}</figure>\n"

    def runs(self, runs: pd.DataFrame, draw: int, explorers: Mapping[str, Path]) -> str:
        """The table of runs; the rows are drawn by the page itself, so that 12,600 of them are no burden."""
        moved = portable(runs, self.out)
        self.save("runs.csv", lambda part: moved.to_csv(part, index=False))
        if runs.empty:
            return "<p>There are no runs yet.</p>"
        table = columns(moved.assign(run=runs["run"]) if "run" in runs else moved)
        content: dict[str, Any] = {"rows": len(runs)}
        if "run" in runs:
            content["folders"] = moved["run"].tolist()
            content["pictures"], content["notes"] = self._pictures(runs, draw)
            content["explorers"] = self._explorers(runs, explorers)
            named = {row: latents(Path(folder)) for row, folder in enumerate(runs["run"])}
            content["latents"] = {row: names for row, (names, _) in named.items() if names}
            content["faults"] = {row: fault for row, (_, fault) in named.items() if fault}
        if "method" in runs:
            methods = dict.fromkeys(str(method) for method in runs["method"].dropna())
            content["series"] = {method: method_name(method) for method in methods}
        parts = [
            _json(content).removesuffix("}"),
            ',"columns":[',
            ",".join(_json(one.content()) for one in table),
            "]}",
        ]
        data = f'<script type="application/json" id="data">{"".join(parts)}</script>'
        return _file("runs.html") + data

    def _explorers(self, runs: pd.DataFrame, explorers: Mapping[str, Path]) -> dict[int, str]:
        """For runs by position: where their pages with sliders are."""
        pages = {}
        for row, folder in enumerate(runs["run"]):
            path = explorers.get(str(folder), Path(folder) / "explorer.html")
            if path.is_file():
                pages[row] = quote(Path(os.path.relpath(path, self.out)).as_posix())
        return pages

    def _pictures(self, runs: pd.DataFrame, draw: int) -> tuple[dict[int, dict[str, str]], dict[int, str]]:
        """For runs by position: where their pictures are, and why they have none."""
        addresses: dict[int, dict[str, str]] = {}
        notes: dict[int, str] = {}
        remaining = EMBEDDED
        missing = [position for position in range(len(runs)) if not pictures(Path(runs["run"][position]), self.out)[0]]
        made = {missing[index] for index in choose(runs.iloc[missing].reset_index(drop=True), draw)}
        for position, folder in enumerate(runs["run"]):
            paths, note = pictures(Path(folder), self.out, make=position in made)
            if note:
                notes[position] = note
            for name, path in paths.items():
                size = path.stat().st_size
                inside = size <= remaining
                remaining -= size if inside else 0
                link = quote(Path(os.path.relpath(path, self.out)).as_posix())
                addresses.setdefault(position, {})[name] = _data_url(path.read_bytes()) if inside else link
        return addresses, notes


def _json(content: Mapping[str, Any]) -> str:
    """JSON that may stand in a script of a page."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
