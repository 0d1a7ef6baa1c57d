"""The command `unbraid`."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
import pandas as pd
from rich.table import Table

from unbraid import demo as demonstration
from unbraid import pictures
from unbraid.atomic import replacing
from unbraid.cli._flags import Methods, data_flags, setting
from unbraid.cli._group import PATH, Group, console, say
from unbraid.cli.explore import explore, export
from unbraid.cli.population import population
from unbraid.cli.probe import probe
from unbraid.cli.retrieve import retrieve
from unbraid.cli.rpu import rpu
from unbraid.cli.study import study
from unbraid.data import catalogue, files
from unbraid.errors import InputError, nearest
from unbraid.folder import left_over
from unbraid.metrics import PROTOCOLS, ScoreTable, score
from unbraid.record import Run, load_runs
from unbraid.represent import encode_all
from unbraid.run import train as run_training
from unbraid.show import save_matrices
from unbraid.show import show as show_run
from unbraid.studies import write_report
from unbraid.tables import CodeTable, read_codes
from unbraid.train import resolve_device


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="unbraid", message="unbraid %(version)s")
def app() -> None:
    """A laboratory for disentangled representation learning."""


app.add_command(explore)
app.add_command(export)
app.add_command(study)
app.add_command(population)
app.add_command(probe)
app.add_command(retrieve)
app.add_command(rpu)


@app.command()
@click.option("--out", type=PATH, default=Path("demo"), show_default=True, help="Folder for runs and pictures.")
@click.option("--steps", type=int, default=demonstration.STEPS, show_default=True, help="Steps for each method.")
def demo(out: Path, steps: int) -> None:
    """Draw the embedded data, train three methods on it, and show what they learned."""
    demonstration.demo(out, steps, say=click.echo)
    _print_runs(load_runs(out))


@app.group(cls=Group)
def data() -> None:
    """List, look at and fetch data sets."""


@data.command("list")
def data_list() -> None:
    """All data sets: factors, sizes, images, source, and whether they are on this machine."""
    table = Table("data set", "factors", "images", "source", "here", box=None, pad_edge=False)
    for declared in catalogue.CATALOGUE.values():
        factors = ", ".join(f"{name} {size}" for name, size in zip(declared.names, declared.sizes, strict=True))
        table.add_row(declared.name, factors or "none", f"{declared.images:,}" if declared.images else "any",
                      declared.told, "yes" if declared.here else "no")
    console.print(table)


@data.command("show")
@click.argument("name")
@click.option("--resolution", type=int, default=64, show_default=True, help="Side of the images in pixels.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random images.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, such as path=FOLDER.")
@click.option("--out", type=PATH, help="The picture to write.  [default: NAME.png]")
def data_show(name: str, resolution: int, seed: int, settings: tuple[str, ...], out: Path | None) -> None:
    """Write a contact sheet: random images, and one row per factor that moves only that factor."""
    opened = catalogue.load(name, resolution, **dict(setting(text) for text in settings))
    click.echo(pictures.save(pictures.contact_sheet(name, opened, seed), out or Path(f"{name}.png")))


@data.command("get")
@click.argument("name")
@click.option("--from", "source", type=PATH, help="Take this local copy: a file, or a folder that holds it.")
def data_get(name: str, source: Path | None) -> None:
    """Download a data set's official files, resuming where a download broke off, and verify them."""
    declared = catalogue.declared(name)
    if not declared.files:
        raise InputError(f"'{name}' needs no file: it is {declared.source}")
    for file in declared.files:
        path = files.get(file) if source is None else files.take(file, source)
        click.echo(f"{path}")


_TRAINING = [
    click.Option(["--data"], required=True, metavar="NAME", help="The data set; `unbraid data list` shows them."),
    click.Option(["--resolution"], type=int, default=64, show_default=True, help="Side of the images in pixels."),
    click.Option(["--set"], multiple=True, metavar="NAME=VALUE", help="A setting of the data, such as path=FOLDER."),
    click.Option(["--steps"], type=int, required=True, help="Steps to train."),
    click.Option(["--seed"], type=int, default=0, show_default=True, help="Seed of weights, batches and noise."),
    click.Option(["--out"], type=PATH, help="The run's folder.  [default: runs/METHOD-DATA-ID]"),
    click.Option(["--precision"], default="auto", show_default=True, help="fp32, bf16, or bf16 where hardware has it."),
    click.Option(["--device"], default="auto", show_default=True, help="cpu, cuda, cuda:1, mps, or the best there is."),
    click.Option(["--protocol"], default="dlib", show_default=True, help="How the codes are scored; none for not."),
    click.Option(["--every"], type=int, default=100, show_default=True, help="Steps between two lines of the log."),
    click.Option(
        ["--checkpoint-seconds"], type=float, default=30.0, show_default=True, help="Time between two checkpoints."
    ),
]


def _train(method: str, names: set[str], data: str, resolution: int, set: tuple[str, ...], **options: Any) -> None:
    flags = {name: options.pop(name, None) for wrapper in catalogue.WRAPPERS for name in wrapper.help}
    wrapped = {name: value for name, value in flags.items() if value is not None}
    opened = catalogue.load(data, resolution, **dict(setting(text) for text in set), **wrapped)
    settings = {name: options.pop(name) for name in names}
    options["protocol"] = None if options["protocol"] == "none" else options["protocol"]
    given = {name: value for name, value in settings.items() if value is not None}
    run = run_training(method, opened, say=say, **options, **given)
    state = run.state
    click.echo(f"{run.folder}  {state['state']}  {_terms(state.get('terms', {}))}")
    if state["state"] != "done":
        raise click.exceptions.Exit(1)


@app.group(
    cls=Methods,
    run=_train,
    params_of=lambda method: [*_TRAINING, *data_flags(method.needs)],
)
def train() -> None:
    """Train a method; run again with the same settings, it goes on where it was stopped."""


def _terms(terms: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in terms.items())


@app.command()
@click.argument("folder", type=PATH)
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only runs with this value, as state=done.")
@click.option("--sort", metavar="COLUMN", help="Sort by this column; -COLUMN for the largest first.")
@click.option("--json", "form", flag_value="json", help="Print all columns as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print all columns as CSV.")
def runs(folder: Path, where: tuple[str, ...], sort: str | None, form: str | None) -> None:
    """List the runs below a folder."""
    table = load_runs(folder)
    if table.empty:
        raise InputError(f"{folder} holds no runs")
    for text in where:
        column, value = setting(text)
        found = table[_column(table, column)]
        same = found.astype(str) == value
        with suppress(ValueError):
            same |= pd.to_numeric(found, errors="coerce") == float(value)  # 4 for 4.0
        table = table[same]
    if sort:
        table = table.sort_values(_column(table, sort.removeprefix("-")), ascending=not sort.startswith("-"))
    if form == "json":
        click.echo(table.to_json(orient="records", indent=1))
    elif form == "csv":
        click.echo(table.to_csv(index=False), nl=False)
    else:
        _print_runs(table)


def _column(table: Any, name: str) -> str:
    """A column by its name, or by its last part where that is enough: beta for settings.beta."""
    if name in table.columns:
        return name
    ends = [str(column) for column in table.columns if str(column).split(".", 1)[-1] == name]
    if len(ends) != 1:
        raise InputError(f"there is no column '{name}'{nearest(name, map(str, table.columns))}")
    return ends[0]


_MEASURED = [
    "terms.reconstruction", "terms.kl", "scores.mig", "scores.dci.disentanglement", "scores.sap",
    "scores.modularity", "scores.beta_vae", "scores.factor_vae", "scores.irs",
]  # fmt: skip


def _print_runs(table: Any) -> None:
    """The columns that differ between runs, and those everybody looks for; --json and --csv have all of them."""
    always = ["run", "state", "method", "data", "steps", "seed"]
    varied = [c for c in table.columns if c.startswith("settings.") and table[c].astype(str).nunique() > 1]
    columns = [c for c in [*always, *varied, *_MEASURED, "seconds"] if c in table.columns]
    titles = [c.split(".", 1)[-1].replace("dci.disentanglement", "dci") for c in columns]
    shown = Table(*titles, box=None, pad_edge=False)
    for _, row in table.iterrows():
        shown.add_row(*["" if row[c] != row[c] or row[c] is None else _cell(row[c]) for c in columns])
    console.print(shown)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@app.command()
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, required=True, help="The .npy to write.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, mps, or the best there is.")
def encode(run: Path, out: Path, device: str) -> None:
    """Write the codes of every image of the data set that a run was trained on, in its order, for `train … --codes`."""
    trained = Run(run)
    codes = encode_all(trained.method(resolve_device(device)), trained.whole_data())
    try:
        with replacing(out) as part, part.open("wb") as file:
            np.save(file, codes.numpy())
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
    click.echo(f"{out}  {len(codes):,} codes of {codes.shape[1]} dimensions")


@app.command("score")
@click.argument("source", type=PATH)
@click.option("--factors", metavar="A,B,…", help="The columns of a .csv or .parquet that are factors, not codes.")
@click.option("--protocol", default="dlib", show_default=True, help=f"One of {', '.join(PROTOCOLS)}.")
@click.option("--metrics", metavar="A,B,…", help="Only these metrics.")
@click.option("--confidence", type=float, help="Add bootstrap intervals, as 0.95; takes twenty times as long.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of splits, votes and fits.")
@click.option("--out", type=PATH, help="The file to write.  [default: scores.json beside SOURCE, or in the run]")
@click.option("--importance", is_flag=True, help="Also draw the factor-by-code matrices, beside the scores.")
def score_codes(
    source: Path,
    factors: str | None,
    protocol: str,
    metrics: str | None,
    confidence: float | None,
    seed: int,
    out: Path | None,
    importance: bool,
) -> None:
    """Score codes against factors: an .npz, .csv or .parquet of them, or the codes of a run."""
    if source.is_dir():
        found = Run(source).representation()
        table = CodeTable(found.codes.numpy(), found.factors.numpy(), list(found.names))
        if not table.names:
            raise InputError(f"{source} was trained on data without factors; there is nothing to score against")
    else:
        table = read_codes(source, factors.split(",") if factors else ())
    chosen = metrics.split(",") if metrics else None
    scores = score(table.codes, table.factors, table.test, protocol, seed, chosen, confidence)
    _print_scores(scores)
    path = out or (source if source.is_dir() else source.parent) / "scores.json"
    try:
        if source.is_dir() and path == Run(source).path("scores"):
            Run(source).score_again(scores)
        else:
            with replacing(path) as part:
                part.write_text(json.dumps(scores.record(), indent=1) + "\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    click.echo(path)
    if importance:
        click.echo(save_matrices(scores, table.names, path.with_name("importance.png")))


def _print_scores(scores: ScoreTable) -> None:
    """One line a score, with its interval where it has one."""
    names = [name for name in scores if not name.endswith((".low", ".high"))]
    bounded = any(name.endswith(".low") for name in scores)
    shown = Table("score", "value", *(["low", "high"] if bounded else []), box=None, pad_edge=False)
    for name in names:
        bounds = [f"{scores[f'{name}.{end}']:.4f}" for end in ("low", "high")] if bounded else []
        shown.add_row(name, f"{scores[name]:.4f}", *bounds)
    console.print(shown)
    rows = ", ".join(f"{count:,} {name}" for name, count in scores.samples.items())
    click.echo(f"protocol {scores.protocol}, seed {scores.seed}, rows: {rows}")
    for note in scores.notes:
        click.echo(f"note: {note}")


@app.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help="Where to write the report.  [default: FOLDER/report]")
@click.option("--readme", type=PATH, help="Put the verdicts into this Markdown file too, between its marks.")
@click.option("--draw", type=int, default=12, show_default=True, help="Draw the pictures of up to this many runs.")
def report(folder: Path, out: Path | None, readme: Path | None, draw: int) -> None:
    """Write a page about a study, or any folder of runs: figures, verdicts, a table of runs; no network needed."""
    if left := left_over(folder / "jobs"):
        say(f"left out: {len(left)} jobs that the study had with other settings, such as {min(left)}")
    click.echo(write_report(folder, out or folder / "report", readme, draw))


@app.command()
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Where to write the pictures.  [default: the run's folder]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed that chooses the images.")
def show(run: Path, out: Path | None, seed: int) -> None:
    """Write pictures of a run: reconstructions, and what each latent does, still and moving."""
    for path in show_run(Run(run), out=out, rng=seed):
        click.echo(path)


def main() -> None:
    """Run the command; a mistake of the user's becomes one line and exit code 2."""
    warnings.showwarning = lambda message, *_, **__: say(str(message))
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("unbraid: stopped", err=True)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    click.echo(f"unbraid: {' '.join(message.split())}", err=True)
    sys.exit(2)
