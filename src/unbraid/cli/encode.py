"""`unbraid encode`: the codes of a run's data set, or of other pictures."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pandas as pd

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._files import written
from unbraid.cli._group import PATH
from unbraid.cli._pictures import pictures_for
from unbraid.cli._trust import TRUST
from unbraid.errors import InputError
from unbraid.runs.latents import columns, latents_of
from unbraid.runs.run import Run
from unbraid.search.circles import read_circles
from unbraid.training.device import resolve_device
from unbraid.training.representation import encode_all

SUFFIXES = (".npy", ".csv", ".parquet")


@click.command("encode")
@click.argument("run", type=PATH)
@click.option(
    "--pictures", type=PATH, help="Encode the pictures of this folder or .npz, instead of the run's own data."
)
@click.option(
    "--out", type=PATH, required=True, help="The file to write: .npy for an array, .csv or .parquet for a table."
)
@click.option("--all", "everything", is_flag=True, help="Write all latents into a table, not only the active ones.")
@click.option("--device", default="auto", help="cpu, cuda, cuda:1, mps, or auto: the best available.")
@DATA_PATH
@TRUST
def command(run: Path, pictures: Path | None, out: Path, everything: bool, device: str) -> None:
    """Write the codes of a run's whole data set, or of other pictures, to a file.

    An .npy has one row per image and all latents, in the order of the data set, rows that were held out included: what
    `train … --codes` reads. A .csv or .parquet has one column per active latent (by its KL), with the names that
    people gave them, the angles of circles that `discover` found, and the name of each picture's file.
    """
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out is {out}; expected a name that ends in {', '.join(SUFFIXES)}")
    trained = Run(run)
    method = trained.method(resolve_device(device))
    data = trained.whole_data() if pictures is None else pictures_for(trained, pictures)
    codes = encode_all(method, data)
    if out.suffix.lower() == ".npy":
        with written(out) as part, part.open("wb") as file:
            np.save(file, codes.numpy())
        click.echo(f"{out}  {len(codes):,} codes of {codes.shape[1]} dimensions")
        return
    chosen = [latent for latent in latents_of(trained) if everything or latent.active]
    label = {"file": list(data.files)} if data.files else {"row": np.arange(len(codes))}
    circles = read_circles(trained.folder, codes.shape[1])
    angles = {name: circle.degrees(codes.numpy()) for name, circle in circles.items()}
    named = columns(codes, chosen)
    if both := named.keys() & {*angles, *label}:
        raise InputError(f"'{min(both)}' is the name of a latent and of another column; give the latent another name")
    table = pd.DataFrame({**label, **named, **angles})
    with written(out) as part:
        if out.suffix.lower() == ".csv":
            table.to_csv(part, index=False)
        else:
            _write_parquet(table, part)
    click.echo(f"{out}  {len(table):,} rows, {len(chosen)} of {codes.shape[1]} latents")


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    try:
        table.to_parquet(path, index=False)
    except ImportError as error:
        raise InputError("writing .parquet needs pyarrow: pip install pyarrow; or write a .csv") from error
