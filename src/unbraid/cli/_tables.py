"""Tables on the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from unbraid.own.references import without_keys

# Names are anybody's: none of their characters is a command.
_PLAIN: dict[str, Any] = {"markup": False, "emoji": False}
_WIDTH: dict[str, Any] = {} if sys.stdout and sys.stdout.isatty() else {"width": 160}  # a pipe has no width of its own
console = Console(**_WIDTH, **_PLAIN)
_MEASURED = [
    "terms.reconstruction", "terms.kl", "scores.mig", "scores.dci.disentanglement", "scores.sap",
    "scores.modularity", "scores.beta_vae_score", "scores.factor_vae_score", "scores.irs",
]  # fmt: skip


LONG = 500
"""Runs above which a table is not fitted to the terminal: that takes minutes for 20,000."""


def plain_table(*columns: str, title: str | None = None) -> Table:
    """A table without lines."""
    return Table(*columns, box=None, pad_edge=False, title=title)


def print_runs(runs: Any) -> None:
    """Print the settings that differ between runs, and the scores most often asked for, one row per run."""
    always = ["run", "state", "method", "data", "steps", "seed"]
    varied = [c for c in runs.columns if c.startswith("settings.") and runs[c].astype(str).nunique() > 1]
    columns = [c for c in [*always, *varied, *_MEASURED, "seconds"] if c in runs.columns]
    heads = [c.split(".", 1)[-1].replace("dci.disentanglement", "dci") for c in columns]
    cells = [[head, *map(_cell, runs[c])] for head, c in zip(heads, columns, strict=True)]
    if console.is_terminal and len(runs) <= LONG:
        table = plain_table(*heads)
        for row in list(zip(*cells, strict=True))[1:]:
            table.add_row(*row)
        console.print(table)
        return
    widths = [max(map(len, column)) for column in cells]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in zip(*cells, strict=True))
    click.echo("\n".join(lines))


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(without_keys(value)).split())
