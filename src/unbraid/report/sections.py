"""What the reports of all studies are put together from: sections that say why they are empty, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from unbraid.report.claims import Judged
from unbraid.report.parts import Figure, Picture, Section, Table

Items = list[Figure | Picture | Table | Judged]


def section(title: str, text: str, items: Items, missing: str) -> Section:
    """A section, with a word on why it shows nothing where it does."""
    shows = any(not isinstance(item, Judged) for item in items)
    return Section(title, text if shows else f"Nothing to show: {missing}.", tuple(items))


def tabled(name: str, title: str, frame: pd.DataFrame, caption: str = "") -> Items:
    """The table, or nothing where it has no rows."""
    return [Table(name, title, frame, caption)] if len(frame) else []


def verdict_table(parts: Sequence[Section]) -> Table:
    """All claims of these sections, by the number that a section's title begins with."""
    judged = [(part.title, item) for part in parts for item in part.items if isinstance(item, Judged)]
    rows = [{"section": title.split(" ")[0], "claim": c.words, "verdict": c.verdict} for title, c in judged]
    return Table("verdicts", "The paper's claims, and whether they hold here", pd.DataFrame(rows))
