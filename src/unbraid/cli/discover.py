"""`unbraid discover`: from a folder of pictures to factors, in a given time."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._files import beside
from unbraid.cli._group import PATH, say
from unbraid.data import catalogue
from unbraid.data.sets.image_folder import Pictures, lost_detail
from unbraid.errors import InputError, printable
from unbraid.explorer.discovered import write_results
from unbraid.search.discovery import (
    FEW,
    LEARNING_RATE,
    STRENGTHS,
    Discovery,
    Pace,
    Search,
    Setup,
    members_at,
    model_settings,
)

LEAST = 10  # pictures
SAMPLED = 64  # pictures in which lost details are looked for
DETAIL = 0.1  # of what differs between pictures: losing more is worth a line
DARK = 8  # of 255: a picture whose brightest pixel is below this is black


@click.command("discover")
@click.argument("folder", type=PATH)
@click.option("--minutes", type=float, default=30.0, help="Time to use, including earlier calls with the same --out.")
@click.option("--out", type=PATH, help="Folder of the results.  [default: FOLDER-factors]")
@click.option("--resolution", type=int, default=32, help="Side of the images in pixels.")
@click.option("--network", default="patches", help="Encoder and decoder.")
@click.option("--latents", type=int, default=10, help="The most factors that a model can have.")
@click.option(
    "--learning-rate", type=float, default=LEARNING_RATE, help="Learning rate at the beginning; it falls later."
)
@click.option("--strengths", default=",".join(f"{one:g}" for one in STRENGTHS), help="Values of β to try.")
@click.option("--forecast", is_flag=True, help="Print what would be done and how long it takes, and stop.")
def command(
    folder: Path,
    minutes: float,
    out: Path | None,
    resolution: int,
    network: str,
    latents: int,
    learning_rate: float,
    strengths: str,
    forecast: bool,
    **engine: Any,
) -> None:
    """Find the factors of a folder of pictures.

    Several models are trained side by side, and what they agree on are factors. Ends with factors.csv, a model and a
    page. Stop it with Ctrl-C at any time, and the best so far is the result; run it again, with the same minutes or
    with more, and it resumes.
    """
    if minutes < 1:
        raise InputError(f"--minutes is {minutes:g}; expected at least 1")
    begun = time.monotonic()
    data = _pictures(folder, resolution)
    notes = [*describe(data), *_lost(folder, data)]
    for line in notes:
        say(line)
    assert data.opened is not None
    setup = Setup(data.opened, model_settings(data, network, latents, learning_rate), strengths=_numbers(strengths))
    target = out or beside(folder, "-factors")
    search = Search(setup, data, target, say, time.monotonic() - begun)
    pace = search.measure(engine["workers"] or os.cpu_count() or 1)
    say(_plan(search, minutes, pace))
    if forecast:
        return
    try:
        with started(target, **engine) as (executor, workers):
            search.run(minutes, executor, workers, pace)
    except KeyboardInterrupt:
        say("stopped; writing what was found so far")
    _finish(search.result(), data, target, notes)


def _pictures(folder: Path, resolution: int) -> Pictures:
    data = _load(folder, resolution)
    if len(data) < LEAST:
        count = "1 picture" if len(data) == 1 else f"{len(data)} pictures"
        raise InputError(f"{folder} holds {count} that can be read; expected at least {LEAST}")
    return data


def _load(folder: Path, resolution: int) -> Pictures:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `describe` says which files were skipped
        data = catalogue.load("image_folder", resolution, path=str(folder.resolve()))
    if isinstance(data, Pictures):
        return data
    pictures = Pictures(data.images_at(range(len(data))), data.files, {}, data.source)  # an .npz with factors
    pictures.opened = data.opened
    return pictures


def describe(data: Pictures) -> list[str]:
    """What the pictures are, in lines for people."""
    pixels = data.images_at(np.arange(len(data)))
    colour = "grey" if data.image_shape[0] == 1 else "colour"
    lines = [
        f"{len(data):,} {colour} {data.source}, each the largest centred square, {data.image_shape[1]} pixels wide"
    ]
    black = int((pixels.flatten(1).max(1).values < DARK).sum())
    if black:
        lines.append(f"black: {black:,} of them")
    same = len(data) - len(np.unique(pixels.flatten(1).numpy(), axis=0))
    if same:
        lines.append(f"the same as another: {same:,} of them")
    if same == len(data) - 1:
        raise InputError(f"all {len(data):,} pictures look the same; there is no factor to find")
    if len(data) < FEW:
        lines.append("few: with some thousands, models agree better")
    lines += data.notes
    if data.skipped:
        first = data.skipped[0]
        what = f"{len(data.skipped):,} file{'s' if len(data.skipped) > 1 else ''} could not be read"
        lines.append(printable(f"{what}, such as {first}: {data.reasons[first]}"))
    return lines


def _lost(folder: Path, data: Pictures) -> list[str]:
    """That another resolution would show much more, where it would: a line, or none."""
    side = data.image_shape[1]
    rows = np.linspace(0, len(data) - 1, min(len(data), SAMPLED)).astype(int)
    share = lost_detail([folder / data.files[row] for row in rows] if folder.is_dir() else [], side)
    if share < DETAIL:
        return []
    return [
        f"details: {share:.0%} of what differs between pictures of {2 * side} pixels is lost at {side}; --resolution "
        f"{2 * side} keeps it, and takes about four times as long for as many steps"
    ]


def _plan(search: Search, minutes: float, pace: Pace) -> str:
    """What will be done, and how long it takes."""
    setup, used = search.setup, (search.seconds - search.loading) / 60 if search.stages else 0.0
    if used >= minutes:
        return f"{used:.0f} of {minutes:g} minutes are used; ask for more --minutes to train on"
    steps = float(f"{search.forecast(minutes, pace):.1e}")
    again = f", after {used:.0f} minutes of earlier calls" if search.stages else ""
    count, kept = len(setup.members), members_at(1.0, len(setup.members), pace.workers)
    strengths = f"{len(setup.strengths)} strengths" if len(setup.strengths) > 1 else f"β {setup.strengths[0]:g}"
    who = f"half of them continue, the best {kept}" if kept < count else "all continue"
    return (
        f"about {minutes - used:.0f} minutes{again}: {count} models of {setup.method} at {strengths}, network "
        f"{setup.settings['network']}, on {pace.workers} workers, {1000 * pace.step:.0f} ms a step; {who} to about "
        f"{steps:,.0f} steps. It ends with factors.csv, model and page.html in {search.study.out}; Ctrl-C stops it "
        "with the best so far"
    )


def _finish(discovery: Discovery | None, data: Pictures, target: Path, notes: list[str]) -> None:
    if discovery is None:
        say("no model is trained far enough yet to show factors; run the same command again with more --minutes")
        raise click.exceptions.Exit(1)
    for path in write_results(discovery, data, target, notes):
        click.echo(path)
    for line in discovery.advice():
        say(line)
    for number, factor in enumerate(discovery.trusted, 1):
        together = "" if factor.alone else f", {factor.mixed:.2f} together with others"
        click.echo(f"factor {number}: agreement {factor.trust:.2f}{together}, {factor.kl:.1f} nats")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        raise InputError(f"--strengths is '{text}'; expected numbers, such as 2,4,8") from None
    if min(values) < 1:
        raise InputError(f"--strengths has {min(values):g}; expected numbers of at least 1")
    return values


command.params += ENGINE
