"""Claims, tables and text of a section as HTML."""

from __future__ import annotations

import html
import inspect
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt

from unbraid.report.claims import VERDICTS, Judged
from unbraid.report.numbers import digits, numeric, plain, written

SENTENCE = 40  # characters from which a column of a table is text to read
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "heading", "lheading"])


def prose(text: str) -> str:
    """Markdown of paragraphs, lists and tables."""
    return str(_MARKDOWN.render(inspect.cleandoc(text)))


def inline(text: str) -> str:
    """Markdown within a line."""
    return str(_MARKDOWN.renderInline(text))


def bar(claims: Sequence[Judged]) -> str:
    """How the verdicts share a line; the words beside it say the same."""
    counts = Counter(claim.verdict for claim in claims)
    shares = [(index, counts[verdict]) for index, verdict in enumerate(VERDICTS) if counts[verdict]]
    parts = "".join(f'<i class="v{index}" style="flex-grow:{count}"></i>' for index, count in shares)
    return f'<div class="verdicts" aria-hidden="true">{parts}</div>'


def tally(claims: Sequence[Judged]) -> str:
    """How many claims have each verdict; a press goes to the next of them."""
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(
        f'<button type="button" class="tally v{index}" data-verdict="{index}">'
        f"{counts[verdict]} {_plural(verdict, counts[verdict])}</button>"
        for index, verdict in enumerate(VERDICTS)
        if counts[verdict]
    )


def _plural(verdict: str, count: int) -> str:
    return verdict if count == 1 else {"holds": "hold", "does not hold": "do not hold"}.get(verdict, verdict)


def claim_table(claims: Sequence[Any]) -> str:
    """Claims beside what was measured."""
    heads = ("Claim", "Verdict", "Paper", "Here", "Why")
    rows = []
    for claim in claims:
        mark, why = _verdict(claim.verdict), claim.why
        if claim.by_direction:
            mark += f"<p>by its direction alone: {claim.by_direction}</p>"
        if claim.earlier_verdict:
            mark += f"<p>by the earlier rule: {claim.earlier_verdict}</p>"
            why += f". Before: {claim.earlier_rule}"
        words, paper, ours = (inline(text) for text in (claim.words, claim.paper, claim.ours))
        cells = [words, mark, paper, ours, inline(why)]
        row = "".join(_claim_cell(*pair) for pair in zip(heads, cells, strict=True))
        rows.append(f'<tr role="row" class="claim v{VERDICTS.index(claim.verdict)}" tabindex="-1">{row}</tr>\n')
    head = "".join(f'<th role="columnheader" scope="col">{name}</th>' for name in heads)
    return (
        f'<table class="claims" role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>\n'
    )


def _verdict(verdict: str) -> str:
    return f'<span class="verdict v{VERDICTS.index(verdict)}">{verdict}</span>'


def _claim_cell(head: str, cell: str) -> str:
    return f'<td role="cell" data-head="{head}">{cell or written(None, None)}</td>'


def flattened(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its index, where that says anything, as its first columns, and one row of headings."""
    if not isinstance(frame.index, pd.RangeIndex):
        index = frame.index.to_frame(index=False)
        index.columns = pd.Index([str(name) if name is not None else "" for name in frame.index.names])
        index.index = frame.index
        frame = pd.concat([index, frame], axis=1)
    flat = frame.reset_index(drop=True)
    flat.columns = pd.Index([
        " ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)
        for name in flat.columns
    ])  # fmt: skip
    return flat


def data_table(frame: pd.DataFrame, title: str) -> str:
    """A table as it is, in a box that can be scrolled."""
    cells = [list(_cells([plain(value) for value in frame.iloc[:, column]])) for column in range(frame.shape[1])]
    numeric_columns = [numeric([plain(value) for value in frame.iloc[:, column]]) for column in range(frame.shape[1])]
    marks = [_column_mark(texts, is_numeric) for texts, is_numeric in zip(cells, numeric_columns, strict=True)]
    head = "".join(f'<th scope="col"{mark}>{html.escape(name)}</th>' for name, mark in zip(frame, marks, strict=True))
    rows = []
    for row in zip(*cells, strict=True):
        texts = [_verdict(cell) if cell in VERDICTS else _cell(cell) for cell in row]
        rows.append("".join(f"<td{mark}>{text}</td>" for text, mark in zip(texts, marks, strict=True)))
    body = "".join(f"<tr>{row}</tr>\n" for row in rows) or f'<tr><td colspan="{max(1, len(marks))}">No rows.</td></tr>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="box" tabindex="0" role="region" aria-label="{html.escape(title)}">{table}</div>'


def _cell(text: str) -> str:
    """A cell is plain text, except that `names` in it are set as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _column_mark(texts: list[str], is_numeric: bool) -> str:
    """Numbers are set to the right, and columns of sentences keep a width at which they can be read."""
    if is_numeric:
        return ' class="number"'
    return ' class="words"' if max(map(len, texts), default=0) > SENTENCE else ""


def _cells(values: list[float | int | str | None]) -> Iterator[str]:
    places = digits(values)
    return (written(value, places) for value in values)
