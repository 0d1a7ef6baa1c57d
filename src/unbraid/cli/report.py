"""`unbraid report`: a page about a study or a folder of runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._group import PATH, say
from unbraid.cli._trust import TRUST
from unbraid.errors import InputError
from unbraid.runs.folder import left_over, unlinked
from unbraid.studies import report_results, write_report


@click.command("report")
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help="Where to write the report.  [default: FOLDER/report]")
@click.option("--readme", type=PATH, help="Also put the verdicts into this Markdown file, between its marks.")
@click.option(
    "--draw", type=int, help="Draw the pictures of up to this many runs.  [default: 12 of fewer than 3,000 runs]"
)
@click.option("--explore", type=int, default=0, help="Write pages with sliders for up to this many runs.")
@click.option("--baseline", metavar="METHOD", help="The method that others are compared with.  [default: the first]")
@click.option(
    "--choose-by", metavar="SCORE", help="The score that chooses a method's settings.  [default: mig, or the first]"
)
@click.option(
    "--pdf/--no-pdf", default=None, help="Also write figures as PDF files.  [default: for fewer than 3,000 runs]"
)
@click.option(
    "--results", metavar="SCALE|DIR", help="Take FOLDER as a study's name, and its results from this scale or DIR."
)
@click.option(
    "--add", metavar="SCALE|DIR", help="Add the runs kept at this scale or in DIR, except those that FOLDER has."
)
@click.option("--keep", type=PATH, help="Also keep the study's table and pictures in this folder, for --results.")
@click.option("--study", "file", type=PATH, help="The study's own file, where it has changed.")
@DATA_PATH
@TRUST
def command(
    folder: Path,
    out: Path | None,
    readme: Path | None,
    draw: int | None,
    explore: int,
    baseline: str | None,
    choose_by: str | None,
    pdf: bool | None,
    results: str | None,
    add: str | None,
    keep: Path | None,
    file: Path | None,
) -> None:
    """Write a page about a study or any folder of runs.

    The page has figures, verdicts and a table of the runs, and needs no network. `unbraid report assumptions --results
    desk` writes the page of a study from the table that comes with it, without running anything. Instead of a scale,
    --results also takes a folder that --keep or `unbraid import` wrote. With `--add desk` the runs in FOLDER, such as
    further seeds, are judged together with those of that table.
    """
    workers = os.cpu_count() or 1
    if results is not None:
        if keep is not None:
            raise InputError("--results reads the folder that --keep writes; expected only one of them")
        if add is not None:
            raise InputError("--results takes kept results alone, --add adds them to runs; expected only one of them")
        target = out or Path(f"{folder}-{Path(results).name}-report")
        click.echo(report_results(str(folder), results, target, readme, workers, pdf))
        return
    if earlier := left_over(folder / "jobs"):
        say(f"left out: {len(earlier)} jobs of the study with earlier settings, such as {min(earlier)}")
    target = out or unlinked(folder / "report")  # which a folder from elsewhere may hold already
    path = write_report(folder, target, readme, draw, keep, explore, baseline, choose_by, file, say, workers, pdf, add)
    click.echo(path)
