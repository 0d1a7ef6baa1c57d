"""What the reports of all studies are put together from: sections that say why they are empty, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from PIL import Image

from unbraid.errors import InputError
from unbraid.report.claims import Judged
from unbraid.report.parts import Figure, Picture, Section, Table
from unbraid.report.run_table import RunTable

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
        faults.append(f"{title}: {error}")
        return []
    return [] if image is None else [Picture(name, title, image, caption)]


def verdict_table(parts: Sequence[Section]) -> Table:
    """All claims of these sections, by the number that a section's title begins with."""
    judged = [(part.title, item) for part in parts for item in part.items if isinstance(item, Judged)]
    rows = [{"section": title.split(" ")[0], "claim": c.words, "verdict": c.verdict} for title, c in judged]
    return Table("verdicts", "The paper's claims, and whether they hold here", pd.DataFrame(rows))
