"""What the reports of all studies are put together from: sections that say why they are empty, and the verdicts."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from PIL import Image

from unbraid.errors import InputError
from unbraid.report.claims import OPEN_IN_WORDS, Judged
from unbraid.report.estimates import Array, Estimate, mean
from unbraid.report.more_seeds import MOST
from unbraid.report.parts import Figure, Picture, Section, Table
from unbraid.report.run_table import RunTable
from unbraid.report.runs import failures

Items = list[Figure | Picture | Table | Judged]


def section(title: str, text: str, items: Items, missing: str) -> Section:
    """A section, with a word on why it shows nothing where it does."""
    shows = any(not isinstance(item, Judged) for item in items)
    return Section(title, text if shows else f"Nothing to show: {missing}.", tuple(items))


def tabled(name: str, title: str, frame: pd.DataFrame, caption: str = "") -> Items:
    """The table, or nothing where it has no rows."""
    return [Table(name, title, frame, caption)] if len(frame) else []


def pictured(
    runs: RunTable, name: str, title: str, draw: Callable[[], Image.Image | None], caption: str, faults: list[str]
) -> Items:
    """A picture that was kept with the results or is drawn from the study's folder; nothing where there is neither.

    Why one cannot be drawn is added to `faults`.
    """
    try:
        image = runs.picture(name, draw)
    except (InputError, OSError) as error:
        faults.append(f"{title}: {str(error).replace(f'{runs.folder}{os.sep}', '')}")  # a page may be published
        return []
    return [] if image is None else [Picture(name, title, image, caption)]


def cell(values: Array | Estimate, form: str = ".3f", low: float = -math.inf, high: float = math.inf) -> str:
    """A mean over seeds with its interval, for a table; empty where nothing is known.

    The interval ends where values can. The text breaks only before it.
    """
    entry = values if isinstance(values, Estimate) else mean(values)
    if not entry.known:
        return ""
    bottom, top = (end if math.isnan(end) else min(max(end, low), high) for end in (entry.low, entry.high))
    return Estimate(entry.value, bottom, top).text(form).replace(" ", "\u00a0").replace("\u00a0[", " [")


def in_short(
    runs: RunTable,
    parts: Sequence[Section],
    words: str,
    rules: str,
    states: pd.DataFrame,
    more: Items | None = None,
    verdicts: Table | None = None,
    by: Sequence[str] = (),
) -> Section:
    """The first section of a study's report: verdicts, which models are finished, and why others are not.

    `words` say what was run; `rules` how verdicts follow. `more` stands behind the verdicts. `by` are columns by which
    failures are counted.
    """
    items: Items = [verdicts or verdict_table(parts), *(more or [])]
    items += tabled("states", "Finished models, of those there are", states)
    items += tabled("failures", "Models that are not done, and why", failures(runs.frame, by=by))
    done = len(runs.done)
    rules = f"{rules} {OPEN_IN_WORDS}"
    text = f"{done} finished models: {words} {rules}" if done else f"There are no finished models yet. {rules}"
    return Section("In short", text, tuple(items))


def verdict_table(
    parts: Sequence[Section],
    caption: str = "",
    first: Mapping[str, str] | None = None,
    changed: Mapping[str, str] | None = None,
    others: Mapping[str, Mapping[str, str]] | None = None,
) -> Table:
    """All claims of these sections, each with its section of the paper, or the number that the title begins with.

    By the claims' keys: `first` has the verdicts of the study's first edition, `changed` what is new in the rule since,
    `others` by name the verdicts that other models or scores would give.
    """
    rows, found = [], [(part.title, item) for part in parts for item in part.items if isinstance(item, Judged)]
    claims = [claim for _, claim in found]
    for title, claim in found:
        seeds = str(claim.seeds) if claim.seeds <= MOST else f"> {MOST}"
        row = {
            "section": claim.section or title.split(" ")[0], "claim": claim.words, "verdict": claim.verdict,
            "seeds needed": seeds if claim.seeds else "",
        }  # fmt: skip
        if any(one.by_direction for one in claims):
            row["by direction alone"] = claim.by_direction or claim.verdict
        row |= {name: verdicts[claim.key] for name, verdicts in (others or {}).items()}
        if first is not None:
            row["first edition"] = first.get(claim.key, "—")
        if first is not None and changed is not None:
            row["changed since"] = changed.get(claim.key, "" if claim.key in first else "new")
        rows.append(row)
    return Table("verdicts", "The paper's claims, and whether they hold here", pd.DataFrame(rows), caption)
