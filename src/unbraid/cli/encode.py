"""`unbraid encode`: the codes of every image of a run's data set."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from unbraid.cli._files import written
from unbraid.cli._group import PATH
from unbraid.cli._trust import TRUST
from unbraid.runs.run import Run
from unbraid.training.device import resolve_device
from unbraid.training.representation import encode_all


@click.command("encode")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, required=True, help="The .npy file to write.")
@click.option("--device", default="auto", help="cpu, cuda, cuda:1, mps, or the best available.")
@TRUST
def command(run: Path, out: Path, device: str) -> None:
    """Write the codes of a run's whole data set to an .npy file.

    One row per image, in the order of the data set, rows that were held out included: what `train … --codes` reads.
    """
    trained = Run(run)
    codes = encode_all(trained.method(resolve_device(device)), trained.whole_data())
    with written(out) as part, part.open("wb") as file:
        np.save(file, codes.numpy())
    click.echo(f"{out}  {len(codes):,} codes of {codes.shape[1]} dimensions")
