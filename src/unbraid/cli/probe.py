"""`unbraid probe`: what linear classifiers read from a run's codes and their parts."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.table import Table

from unbraid.cli._group import PATH, console
from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.metrics import Scores
from unbraid.metrics.encoder_probes import ROWS
from unbraid.metrics.encoder_probes import probe as probe_method
from unbraid.runs.run import Run
from unbraid.training.device import resolve_device


@click.command()
@click.argument("run", type=PATH)
@click.option("--rows", type=int, default=ROWS, show_default=True, help="Images to fit on, and to test on.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed that chooses the images.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, mps, or the best there is.")
@click.option("--out", type=PATH, help="Also write the scores to this .json file.")
def probe(run: Path, rows: int, seed: int, device: str, out: Path | None) -> None:
    """Fit linear classifiers on a run's codes r and their parts, and on z where there is one; test on new images."""
    if rows < 3:
        raise InputError(f"--rows is {rows}; expected at least 3")
    trained = Run(run)
    data = trained.data()
    found = probe_method(trained.method(resolve_device(device)), data, seed, rows)
    for code, scores in found.items():
        _print(code, scores, list(data.names))
    if out is not None:
        try:
            with replacing(out) as part:
                part.write_text(json.dumps(found, indent=1) + "\n")
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror or error}") from error
        click.echo(out)


def _print(code: str, scores: Scores, names: list[str]) -> None:
    """Accuracies in percent as the paper's tables have them, then what they amount to."""
    shown = Table("", *names, box=None, pad_edge=False)
    groups = [code, *(f"{code}{place}" for place in range(len(scores.arrays["accuracy"]) - 1))]
    for row, values in zip(groups, scores.arrays["accuracy"], strict=True):
        shown.add_row(row, *(f"{100 * value:.1f}" for value in values))
    shown.add_row("gap", *(f"{100 * value:.1f}" for value in scores.arrays["per_factor"]))
    shown.add_row("chance", *(f"{100 * value:.1f}" for value in scores.arrays["chance"]))
    console.print(shown)
    count = len(names)
    told = "the parts are diagonal" if scores["diagonal"] else "the parts are not diagonal"
    alone = f"{scores['at_chance'] * count:.0f} of {count} factors at chance, {scores['alike'] * count:.0f} told alike"
    click.echo(f"{told}; {alone}\n")
