"""Where scores lie among those of known models, below a table of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click

BANDS = ("main", "all", "none")
"""Of which scores that is said."""


def scores_shown(which: str) -> Collection[str] | None:
    """Their names; None for all."""
    from unbraid.studies.bands import SHOWN  # slow to import: it knows the studies

    return {"main": SHOWN, "all": None}.get(which, ())


def print_bands(bands: Any) -> None:
    """Print one line per score, and what the scores were compared with."""
    if text := "\n".join(bands) if isinstance(bands, list) else str(bands):
        click.echo(text)
