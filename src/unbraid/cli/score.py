"""`unbraid score`: score an encoder, the codes of a file, or a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from unbraid.cli._bands import BANDS, scores_shown
from unbraid.cli._files import beside, writing, written
from unbraid.cli._flags import setting
from unbraid.cli._group import PATH, say
from unbraid.cli._tables import console, plain_table
from unbraid.data.labels import read_types
from unbraid.errors import InputError
from unbraid.metrics import PROTOCOLS, ScoreTable, score
from unbraid.metrics.code_files import CodeTable, read_codes
from unbraid.metrics.scoring import encoded
from unbraid.pictures.matrices import save_matrices
from unbraid.runs.remote import is_remote
from unbraid.runs.run import Run
from unbraid.training.encoders import is_reference, load_encoder

WORTH_SAYING = 5.0  # seconds
SHOWN = 40  # codes whose values `--details` prints; the file has all
LEFT_OUT, UNDEFINED = "continuous", "–"  # cells without a value


@click.command("score")
@click.argument("source")
@click.option("--data", metavar="NAME", help="The data set that an encoder is scored on.")
@click.option("--resolution", type=int, default=64, help="Side of the images of --data in pixels.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of --data, such as path=FOLDER."
)
@click.option("--samples", type=int, help="Images to encode, at random if there are more.  [default: 50000]")
@click.option("--batch", type=int, default=256, help="Images to encode at a time.")
@click.option("--device", help="Where to encode: cpu, cuda, cuda:1, mps or auto.  [default: where the encoder is]")
@click.option("--factors", metavar="A,B,…", help="The columns of a .csv, .parquet or .h5ad that are factors.")
@click.option("--codes", metavar="A,B,…", help="Only these columns are codes; z* means all that begin with z.")
@click.option("--ignore", metavar="A,B,…", help="Columns that are neither codes nor factors.")
@click.option("--types", metavar="A=TYPE,…", default="", help="Read factors as classes, ordered or continuous.")
@click.option("--protocol", default="dlib", help=f"One of {', '.join(PROTOCOLS)}.")
@click.option("--metrics", metavar="A,B,…", help="Only these metrics; `unbraid metrics` lists all.")
@click.option("--baseline/--no-baseline", default=True, help="Also score noise and perfect codes, for comparison.")
@click.option("--confidence", type=float, help="Add bootstrap intervals, such as 0.95; takes about four times as long.")
@click.option("--seed", type=int, default=0, help="Seed of splits, votes and fits.")
@click.option("--details", is_flag=True, help="Also print the values per factor and per code.")
@click.option("--out", type=PATH, help="The file to write.  [default: SOURCE.scores.json]")
@click.option("--update", is_flag=True, help="Replace the scores that a run keeps, instead of writing a file.")
@click.option("--bands", type=click.Choice(BANDS), default="main", help="Say where scores lie among known models.")
@click.option("--importance", is_flag=True, help="Also draw the factor-by-code matrices, beside the scores.")
def command(
    source: str,
    data: str | None,
    resolution: int,
    settings: tuple[str, ...],
    samples: int | None,
    batch: int,
    device: str | None,
    factors: str | None,
    codes: str | None,
    ignore: str | None,
    types: str,
    protocol: str,
    metrics: str | None,
    baseline: bool,
    confidence: float | None,
    seed: int,
    details: bool,
    out: Path | None,
    update: bool,
    bands: str,
    importance: bool,
) -> None:
    """Score an encoder, the codes of a file, or a run.

    SOURCE is an encoder (FILE.py:NAME, a TorchScript or an ONNX file), scored on --data; an .npz, .csv, .parquet or
    .h5ad file of codes and factors; or the folder of a run. Beside each score are those of noise (the same codes
    shuffled) and of perfect codes (one per factor) on the same rows. The lines below say where the main scores lie
    among models that studies trained on the same data, and what papers printed.
    """
    run = Run(source) if Path(source).is_dir() or is_remote(source) else None
    if update and (run is None or run.source is not None or out is not None):
        raise InputError("--update replaces the scores of a run in a local folder; expected such a run, and no --out")
    typed = read_types(types)
    opened: Any = None
    if is_reference(source):
        if data is None:
            raise InputError(f"{source} is an encoder; say which data to score it on with --data")
        opened = _opened(data, resolution, settings)
        table = _encode(source, opened, seed, samples, batch, device, typed, _listed(ignore))
    elif data is not None:
        raise InputError(f"--data is for encoders (FILE.py:NAME, TorchScript, ONNX); {source} is not one")
    elif run is not None:
        table = codes_of(run, _listed(ignore))
    else:
        table = read_codes(Path(source), _listed(factors), _listed(codes), _listed(ignore))
    chosen = _listed(metrics) or None
    scores = score(
        table.codes, table.factors, table.test, protocol, seed, chosen, confidence,
        types=typed, baseline=baseline, code_names=table.code_names, announce=_announce,
    )  # fmt: skip
    _print_scores(scores)
    if bands != "none" and not typed and (run is not None or opened is not None):
        _print_bands(scores, run, opened, bands)
    if details:
        _print_details(scores)
    if run is not None and update:
        path = run.path("scores")
        with writing(path):
            run.score_again(scores)
    else:
        path = out or _default(source, data, run)
        with written(path) as part:
            part.write_text(json.dumps(scores.record(details=True), indent=1) + "\n")
    click.echo(path)
    if importance:
        name = path.name.removesuffix(".json").removesuffix(".scores")
        drawing = path.with_name(f"{name}.importance.png") if run is None or not update else Path("importance.png")
        click.echo(save_matrices(scores, drawing))


def _listed(text: str | None) -> list[str]:
    return text.split(",") if text else []


def _opened(data: str, resolution: int, settings: tuple[str, ...]) -> Any:
    from unbraid.data import catalogue

    return catalogue.load(data, resolution, **dict(setting(text) for text in settings))


def _encode(
    source: str,
    data: Any,
    seed: int,
    samples: int | None,
    batch: int,
    device: str | None,
    types: dict[str, str],
    ignore: list[str],
) -> CodeTable:
    rng = np.random.default_rng(seed)
    codes, labels = encoded(load_encoder(source), data, rng, batch=batch, device=device, samples=samples, types=types)
    kept = [name for name in labels.names if name not in ignore]
    for name in ignore:
        data.column(name)  # an InputError that suggests the nearest
    if not kept:
        raise InputError("--ignore leaves no factor; expected at least one")
    return CodeTable(codes, [str(code) for code in range(codes.shape[1])], labels.select(kept))


def codes_of(run: Run, ignore: Sequence[str] = ()) -> CodeTable:
    """The codes and factors that a run kept."""
    kept = run.representation()
    if not kept.names:
        raise InputError(f"{run.folder} was trained on data without factors; there is nothing to score against")
    factors = kept.known_factors().numpy()
    names = [name for name in kept.names if name not in ignore]
    columns = {name: factors[:, kept.names.index(name)] for name in names}
    codes = kept.codes.numpy()
    return CodeTable(codes, [str(code) for code in range(codes.shape[1])], columns)


def _default(source: str, data: str | None, run: Run | None) -> Path:
    """Where scores go by default: those of an encoder into the current folder, others beside their source."""
    if data is not None:
        file, _, name = source.rpartition(":") if ".py:" in source else (source, "", "")
        return Path(f"{Path(file).stem}{'.' if name else ''}{name}.{data}.scores.json")
    if run is not None and run.source is not None:
        return Path(f"{run.outputs}.scores.json")
    return beside(Path(source), ".scores.json")


def _announce(seconds: float) -> None:
    if seconds >= WORTH_SAYING:
        say(f"about {f'{seconds:.0f} seconds' if seconds < 90 else f'{seconds / 60:.0f} minutes'} on one core")


def _print_scores(scores: ScoreTable) -> None:
    """Print one line per score, with those of noise and of perfect codes and its interval where it has them."""
    console.print(scores.size, highlight=False)
    heads, cells = scores.rows()
    table = plain_table(*heads)
    for row in cells:
        table.add_row(*row)
    console.print(table)
    click.echo(scores.columns)
    rows = ", ".join(f"{count:,} {name}" for name, count in scores.samples.items())
    click.echo(f"protocol {scores.protocol}, seed {scores.seed}, rows: {rows}")
    if len(set(scores.baseline_rows.values())) > 1:
        fewest = min(scores.baseline_rows.values())
        fewer = [metric for metric, count in scores.baseline_rows.items() if count == fewest]
        click.echo(f"noise and perfect codes on {fewest:,} training rows for {', '.join(fewer)}")
    for note in scores.notes:
        click.echo(f"note: {note}")


def _print_bands(scores: ScoreTable, run: Run | None, data: Any, which: str) -> None:
    """Print where the scores lie among those of known models on the same data."""
    from unbraid.studies.bands import bands_of, data_of  # half a second, and codes of a file need none of it

    scores.data = data.opened if run is None else data_of(run)
    if bands := bands_of(scores, method=None if run is None else run.config.method, only=scores_shown(which)):
        click.echo(bands)


def _print_details(scores: ScoreTable) -> None:
    """Print the values per factor, one row per metric, and per code, one row per code."""
    vectors = [
        (metric if array in ("per_factor", "per_code") else f"{metric}.{array}", values)
        for metric, arrays in scores.details().items()
        for array, values in arrays.items()
    ]
    per_factor = [(name, values) for name, values in vectors if tuple(values) == scores.names]
    per_code = [(name, values) for name, values in vectors if tuple(values) == scores.code_names]
    if per_factor:
        table = plain_table("per factor", *scores.names)
        for name, values in per_factor:
            without = {factor for part in name.split(".") for factor in scores.without.get(part, ())}
            table.add_row(name, *(_cell(value, factor in without) for factor, value in values.items()))
        console.print(table)
        if scores.without:
            click.echo(f"{LEFT_OUT}: the metric cannot use such a factor; if it has few values: --types NAME=ordered")
    if per_code:
        table = plain_table("per code", *(name for name, _ in per_code))
        for code in scores.code_names[:SHOWN]:
            table.add_row(code, *(_cell(values[code]) for _, values in per_code))
        console.print(table)
        if len(scores.code_names) > SHOWN:
            click.echo(f"… and {len(scores.code_names) - SHOWN:,} more codes, in the file")
    if any(None in values.values() for _, values in per_code):
        click.echo(f"{UNDEFINED}: not defined, because the code does not vary")


def _cell(value: float | None, left_out: bool = False) -> str:
    if left_out:
        return LEFT_OUT
    if isinstance(value, int):
        return str(value)
    return UNDEFINED if value is None else f"{value:.4f}"
