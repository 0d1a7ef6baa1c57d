"""`unbraid probe`: what linear classifiers read from a run's codes and their parts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._files import written
from unbraid.cli._group import PATH
from unbraid.cli._tables import console, plain_table
from unbraid.cli._trust import TRUST
from unbraid.errors import InputError
from unbraid.metrics import Scores
from unbraid.metrics.encoder_probes import ROWS, probe
from unbraid.runs.run import Run
from unbraid.training.device import resolve_device


@click.command("probe")
@click.argument("run", type=PATH)
@click.option("--rows", type=int, default=ROWS, help="Images to fit on, and as many to test on.")
@click.option("--seed", type=int, default=0, help="Seed that chooses the images.")
@click.option("--device", default="auto", help="cpu, cuda, cuda:1, mps, or auto: the best available.")
@click.option("--out", type=PATH, help="Also write the scores to this .json file.")
@DATA_PATH
@TRUST
def command(run: Path, rows: int, seed: int, device: str, out: Path | None) -> None:
    """Read the factors from a run's codes with linear classifiers.

    The classifiers are fitted on the codes r, on each of their parts, and on z if the method has it. They are tested on
    new images.
    """
    if rows < 3:
        raise InputError(f"--rows is {rows}; expected at least 3")
    trained = Run(run)
    data = trained.data()
    scores_of = probe(trained.method(resolve_device(device)), data, seed, rows)
    for code, scores in scores_of.items():
        _print(code, scores, list(data.names))
    if out is not None:
        with written(out) as part:
            part.write_text(json.dumps(scores_of, indent=1) + "\n")
        click.echo(out)


def _print(code: str, scores: Scores, names: list[str]) -> None:
    """Print accuracies in percent, as in the paper's tables, then a summary of them."""
    table = plain_table("", *names)
    groups = [code, *(f"{code}{index}" for index in range(len(scores.arrays["accuracy"]) - 1))]
    for group, accuracies in zip(groups, scores.arrays["accuracy"], strict=True):
        table.add_row(group, *(f"{100 * value:.1f}" for value in accuracies))
    table.add_row("gap", *(f"{100 * value:.1f}" for value in scores.arrays["per_factor"]))
    table.add_row("chance", *(f"{100 * value:.1f}" for value in scores.arrays["chance"]))
    console.print(table)
    count = len(names)
    diagonal = "the parts are diagonal" if scores["diagonal"] else "the parts are not diagonal"
    alone = f"{scores['at_chance'] * count:.0f} of {count} factors at chance, {scores['alike'] * count:.0f} told alike"
    click.echo(f"{diagonal}; {alone}\n")
