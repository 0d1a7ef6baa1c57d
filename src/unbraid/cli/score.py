"""`unbraid score`: score codes from a file or a run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unbraid.cli._files import writing, written
from unbraid.cli._group import PATH
from unbraid.cli._tables import console, plain_table
from unbraid.errors import InputError
from unbraid.metrics import PROTOCOLS, ScoreTable, score
from unbraid.metrics.code_files import CodeTable, read_codes
from unbraid.pictures.matrices import save_matrices
from unbraid.runs.run import Run


@click.command("score")
@click.argument("source", type=PATH)
@click.option("--factors", metavar="A,B,…", help="The columns of a .csv or .parquet that are factors, not codes.")
@click.option("--protocol", default="dlib", help=f"One of {', '.join(PROTOCOLS)}.")
@click.option("--metrics", metavar="A,B,…", help="Compute only these metrics.")
@click.option("--confidence", type=float, help="Add bootstrap intervals, such as 0.95; takes twenty times as long.")
@click.option("--seed", type=int, default=0, help="Seed of splits, votes and fits.")
@click.option("--out", type=PATH, help="The file to write.  [default: scores.json beside SOURCE, or in the run]")
@click.option("--importance", is_flag=True, help="Also draw the factor-by-code matrices, beside the scores.")
def command(
    source: Path,
    factors: str | None,
    protocol: str,
    metrics: str | None,
    confidence: float | None,
    seed: int,
    out: Path | None,
    importance: bool,
) -> None:
    """Score codes against factors, from a file or a run.

    SOURCE is an .npz, .csv or .parquet file of codes and factors, or the folder of a run.
    """
    run = Run(source) if source.is_dir() else None
    table = read_codes(source, factors.split(",") if factors else ()) if run is None else codes_of(run)
    chosen = metrics.split(",") if metrics else None
    scores = score(table.codes, table.factors, table.test, protocol, seed, chosen, confidence)
    _print_scores(scores)
    path = out or (source.parent if run is None else source) / "scores.json"
    if run is not None and path == run.path("scores"):
        with writing(path):
            run.score_again(scores)
    else:
        with written(path) as part:
            part.write_text(json.dumps(scores.record(), indent=1) + "\n")
    click.echo(path)
    if importance:
        click.echo(save_matrices(scores, table.names, path.with_name("importance.png")))


def codes_of(run: Run) -> CodeTable:
    """The codes and factors that a run kept."""
    kept = run.representation()
    if not kept.names:
        raise InputError(f"{run.folder} was trained on data without factors; there is nothing to score against")
    return CodeTable(kept.codes.numpy(), kept.factors.numpy(), list(kept.names))


def _print_scores(scores: ScoreTable) -> None:
    """Print one line per score, with its interval where it has one."""
    names = [name for name in scores if not name.endswith((".low", ".high"))]
    bounded = any(name.endswith(".low") for name in scores)
    table = plain_table("score", "value", *(["low", "high"] if bounded else []))
    for name in names:
        bounds = [f"{scores[f'{name}.{end}']:.4f}" for end in ("low", "high")] if bounded else []
        table.add_row(name, f"{scores[name]:.4f}", *bounds)
    console.print(table)
    rows = ", ".join(f"{count:,} {name}" for name, count in scores.samples.items())
    click.echo(f"protocol {scores.protocol}, seed {scores.seed}, rows: {rows}")
    for note in scores.notes:
        click.echo(f"note: {note}")
