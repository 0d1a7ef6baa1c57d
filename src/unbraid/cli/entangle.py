"""`unbraid entangle`: codes with the same marginals that are entangled, and what scores say of both."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from unbraid.cli._files import beside, written
from unbraid.cli._group import PATH
from unbraid.cli._tables import console, plain_table
from unbraid.cli.score import codes_of
from unbraid.errors import InputError
from unbraid.metrics import PROTOCOLS, entangle, score
from unbraid.metrics.code_files import read_codes
from unbraid.runs.run import Run


@click.command("entangle")
@click.argument("source", type=PATH)
@click.option("--factors", metavar="A,B,…", help="The columns of a .csv or .parquet that are factors, not codes.")
@click.option("--alpha", type=float, default=0.25, help="How much the reflection mixes codes, between 0 and 0.5.")
@click.option("--protocol", default="fast", help=f"One of {', '.join(PROTOCOLS)}.")
@click.option("--metrics", metavar="A,B,…", help="Only these metrics.")
@click.option("--seed", type=int, default=0, help="Seed of ties, splits, votes and fits.")
@click.option("--out", type=PATH, help="The .npz to write.  [default: SOURCE.entangled.npz]")
def command(
    source: Path,
    factors: str | None,
    alpha: float,
    protocol: str,
    metrics: str | None,
    seed: int,
    out: Path | None,
) -> None:
    """Write entangled codes with the same marginals, and score both.

    SOURCE is an .npz, .csv or .parquet file of codes and factors, or the folder of a run. Every column of the new codes
    holds the values of the old one, but depends on all of the old codes (theorem 1 of assumptions): scores that use
    factors should fall, and no loss that sees images alone can tell the two apart.
    """
    run = Run(source) if source.is_dir() else None
    table = read_codes(source, factors.split(",") if factors else ()) if run is None else codes_of(run)
    path = out or beside(source, ".entangled.npz")
    if path.suffix != ".npz":
        raise InputError(f"{path} is not an .npz file; the codes are written as one")
    codes, labels = table.whole()  # one map for all rows; the scores split them again
    mixed = entangle(codes, alpha, rng=seed)
    chosen = metrics.split(",") if metrics else None
    before, after = (score(one, labels, None, protocol, seed, chosen) for one in (codes, mixed))
    shown = plain_table("score", "codes", "entangled")
    for name in before:
        shown.add_row(name, f"{before[name]:.4f}", f"{after[name]:.4f}")
    console.print(shown)
    rows = ", ".join(f"{count:,} {name}" for name, count in before.samples.items())
    click.echo(f"protocol {before.protocol}, seed {before.seed}, rows: {rows}")
    for note in dict.fromkeys([*before.notes, *after.notes]):
        click.echo(f"note: {note}")
    with written(path) as part, part.open("wb") as file:
        np.savez(file, codes=mixed, factors=labels.values, names=np.asarray(labels.names))
    click.echo(path)
