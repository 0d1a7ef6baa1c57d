"""`unbraid runs`: the table of runs below a folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pandas as pd

from unbraid.cli._bands import BANDS, scores_shown
from unbraid.cli._flags import setting
from unbraid.cli._group import PATH
from unbraid.cli._tables import LONG, print_runs
from unbraid.errors import InputError, nearest
from unbraid.runs.table import load_runs


@click.command("runs")
@click.argument("folder", type=PATH)
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only runs with this value, such as state=done.")
@click.option("--sort", metavar="COLUMN", help="Sort by this column; -COLUMN puts the largest first.")
@click.option("--bands", type=click.Choice(BANDS), default="main", help="Say where scores lie among known models.")
@click.option("--json", "form", flag_value="json", help="Print all columns as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print all columns as CSV.")
def command(folder: Path, where: tuple[str, ...], sort: str | None, bands: str, form: str | None) -> None:
    """List the runs below a folder."""
    runs = load_runs(folder)
    if runs.empty:
        raise InputError(f"{folder} holds no runs")
    for text in where:
        name, value = setting(text, "--where")
        column = runs[_column(runs, name, "--where")]
        same = column.astype(str) == value
        with suppress(ValueError):
            same |= pd.to_numeric(column, errors="coerce") == float(value)  # 4 for 4.0
        runs = runs[same]
    if sort:
        runs = runs.sort_values(_column(runs, sort.removeprefix("-"), "--sort"), ascending=not sort.startswith("-"))
    if form == "json":
        click.echo(runs.to_json(orient="records", indent=1))
    elif form == "csv":
        click.echo(runs.to_csv(index=False), nl=False)
    else:
        print_runs(runs)
        if bands == "all" or (bands == "main" and len(runs) <= LONG):
            _print_bands(runs, bands)


def _print_bands(runs: pd.DataFrame, which: str) -> None:
    """Print where the scores lie; PyTorch, which that needs and the table does not, is imported for scores alone."""
    names, chosen = [column.removeprefix("scores.") for column in runs if "scores." in column], scores_shown(which)
    if not [name for name in names if chosen is None or name in chosen]:
        return
    from unbraid.runs.run import Run
    from unbraid.studies.bands import bands_of_runs

    if lines := bands_of_runs(map(Run, runs["run"]), chosen):
        click.echo("\n".join(lines))


def _column(runs: Any, name: str, option: str) -> str:
    """A column by its name, or by the last part of it where that is unambiguous: beta for settings.beta."""
    if name in runs.columns:
        return name
    columns = list(map(str, runs.columns))
    matches = [column for column in columns if column.split(".", 1)[-1] == name]
    if len(matches) != 1:
        known = {*columns, *(column.split(".", 1)[-1] for column in columns)} - {name}
        raise InputError(f"{option}: there is no column '{name}'{nearest(name, known)}")
    return matches[0]
