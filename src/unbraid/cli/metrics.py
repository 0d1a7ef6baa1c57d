"""`unbraid metrics`: all metrics in one table."""

from __future__ import annotations

import click

from unbraid.cli._tables import console, plain_table
from unbraid.errors import InputError, nearest
from unbraid.metrics import METRICS
from unbraid.metrics.overview import COLUMNS, markdown, rows


@click.command("metrics")
@click.argument("names", nargs=-1)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the table of docs/metrics/README.md.")
def command(names: tuple[str, ...], as_markdown: bool) -> None:
    """List all metrics: what each asks, what noise and perfect codes score, and what it costs.

    With NAMES, all about these metrics: also what leaves them unchanged, when to trust them, and their settings.
    """
    if as_markdown:
        click.echo(markdown(), nl=False)
        return
    for name in names:
        if name not in METRICS:
            raise InputError(f"there is no metric '{name}'{nearest(name, METRICS)}")
    cells = {row[0]: row for row in rows()}
    if names:
        for name in names:
            _print_one(name, cells[name])
        return
    shown = ("metric", "what it asks", "range", "noise", "perfect", "seconds")
    table = plain_table(*shown)
    for row in cells.values():
        table.add_row(*(row[COLUMNS.index(column)] for column in shown))
    console.print(table)
    click.echo("seconds: on one core, for 10,000 rows of 10 codes; `unbraid metrics NAME` says more")


def _print_one(name: str, row: tuple[str, ...]) -> None:
    table = plain_table(name, "")
    for column, cell in zip(COLUMNS[1:], row[1:], strict=True):
        table.add_row(column, cell)
    settings = [f"{setting}={default!r}" for setting, default in METRICS[name].settings.items()]
    table.add_row("settings", ", ".join(settings) or "none")
    console.print(table, highlight=False)
