"""`unbraid label`: names for latents, and your own attributes from a few labelled pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
import numpy as np
import pandas as pd

from unbraid.cli._data_path import DATA_PATH
from unbraid.cli._files import written
from unbraid.cli._group import PATH
from unbraid.cli._pictures import pictures_for
from unbraid.cli._trust import TRUST
from unbraid.data.schema import WORD
from unbraid.data.sets.image_folder import Pictures
from unbraid.data.tables import read_table
from unbraid.errors import InputError, nearest
from unbraid.metrics.attributes import Fit, fit_attribute
from unbraid.runs.latents import Latent, columns, find_latent, latents_of
from unbraid.runs.names import write_names
from unbraid.runs.run import Run
from unbraid.training.representation import encode_all


@click.command("label")
@click.argument("run", type=PATH)
@click.argument("names", nargs=-1, metavar="[LATENT=NAME]…")
@click.option(
    "--labels", type=PATH, help="A .csv of some pictures: a column `file`, and one per attribute of your own."
)
@click.option("--pictures", type=PATH, help="The folder of the pictures.  [default: the one the run was trained on]")
@click.option("--by", metavar="A,B,…", help="The latents to read the attributes from.  [default: all active ones]")
@click.option(
    "--out", type=PATH, help="The .csv of all pictures to write.  [default: attributes.csv in the run's parent]"
)
@DATA_PATH
@TRUST
def command(
    run: Path, names: tuple[str, ...], labels: Path | None, pictures: Path | None, by: str | None, out: Path | None
) -> None:
    """Name the latents of a run, or read attributes of your own from them.

    Names, such as z3=size, are kept in the run: pictures, pages and tables use them. With --labels, each attribute is
    fitted to the latents on the labelled pictures, its error is estimated by cross-validation, and all pictures get a
    value. Without either, the latents are listed.
    """
    trained = Run(run)
    latents = latents_of(trained)
    if names:
        given = dict(_pair(text, latents) for text in names)
        kept = {f"z{latent.index}": latent.name for latent in latents if latent.name != f"z{latent.index}"}
        named = {f"z{latent.index}": f"z{latent.index}" for latent in latents} | kept | given
        for name, count in Counter(named.values()).items():
            if count > 1:
                raise InputError(f"{count} latents would be called '{name}'; expected different names")
        click.echo(write_names(trained.outputs / "names.json", trained.config.id, {**kept, **given}))
        latents = latents_of(trained)
    if labels is not None:
        chosen = (
            [find_latent(latents, word) for word in by.split(",")] if by else [one for one in latents if one.active]
        )
        _attributes(trained, labels, pictures, chosen, out or trained.folder.parent / "attributes.csv")
    elif not names:
        for latent in latents:
            weight = "" if latent.kl is None else f"  {latent.kl:.2f} nats"
            click.echo(f"z{latent.index}  {latent.name}{weight}{'' if latent.active else '  inactive'}")


def _pair(text: str, latents: list[Latent]) -> tuple[str, str]:
    word, sign, name = text.partition("=")
    if not sign or not name.strip() or not WORD.holds(name):
        raise InputError(f"'{text}' is not a name for a latent; expected LATENT=NAME, such as z3=size")
    return f"z{find_latent(latents, word).index}", name.strip()


def _attributes(run: Run, labels: Path, pictures: Path | None, chosen: list[Latent], out: Path) -> None:
    if pictures is None:
        data = run.whole_data()
        if not isinstance(data, Pictures):
            raise InputError(f"{run.folder} was not trained on a folder of pictures; name one with --pictures")
    else:
        data = pictures_for(run, pictures)
    table = _read(labels, data)
    if not chosen:
        raise InputError(f"no latent of {run.folder} is active; name those that may tell the attributes with --by")
    codes = np.column_stack(list(columns(encode_all(run.method(), data), chosen).values()))
    row_of = {name: row for row, name in enumerate(data.files)}
    known = np.array([row_of[name] for name in table["file"]])
    result = pd.DataFrame({"file": list(data.files)})
    for attribute in table.columns.drop("file"):
        column = table[attribute]
        rows = column.notna().to_numpy()
        fit: Fit = fit_attribute(codes[known[rows]], column[rows].to_numpy(), codes, attribute)
        result[attribute] = fit.values
        click.echo(f"{attribute}: {fit.summary}, from {rows.sum():,} labelled pictures and {len(chosen)} latents")
    with written(out) as part:
        result.to_csv(part, index=False)
    click.echo(out)


def _read(labels: Path, data: Pictures) -> pd.DataFrame:
    if labels.suffix.lower() != ".csv":
        raise InputError(f"--labels is {labels}; expected a .csv file")
    table = read_table(labels, {"file": str})
    if "file" not in table or len(table.columns) < 2:
        raise InputError(f"{labels} has the columns {', '.join(map(str, table.columns))}; expected file and attributes")
    if table.empty:
        raise InputError(f"{labels} has column names but no rows")
    if doubled := table["file"][table["file"].duplicated()].tolist():
        raise InputError(f"{labels} names {doubled[0]} twice; expected one row per picture")
    if unknown := sorted(set(table["file"].dropna()) - set(data.files)):
        raise InputError(
            f"{labels} names {unknown[0]}, which is not among the pictures{nearest(unknown[0], data.files)}"
        )
    return table.dropna(subset="file")
