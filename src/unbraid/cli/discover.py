"""`unbraid discover`: from a folder of pictures to factors, in a given time."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._group import PATH, say
from unbraid.data import catalogue
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.explorer.discovered import write_results
from unbraid.search.discovery import STRENGTHS, Discovery, Search, Setup, measure_speed

LEAST = 10  # pictures
DARK = 8  # of 255: a picture whose brightest pixel is below this is black
FULL = 64  # the side of images that the strengths are for


@click.command("discover")
@click.argument("folder", type=PATH)
@click.option("--minutes", type=float, default=30.0, help="Time to use, earlier calls with the same --out included.")
@click.option("--out", type=PATH, help="Folder of the results.  [default: FOLDER-factors]")
@click.option("--resolution", type=int, default=32, help="Side of the images in pixels.")
@click.option("--network", default="patches", help="Encoder and decoder.")
@click.option("--latents", type=int, default=10, help="Factors that a model can have, at most.")
@click.option("--strengths", default=",".join(f"{one:g}" for one in STRENGTHS), help="Values of β to try.")
@click.option("--forecast", is_flag=True, help="Say what would be done and how long it takes, and stop.")
def command(
    folder: Path,
    minutes: float,
    out: Path | None,
    resolution: int,
    network: str,
    latents: int,
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
    data = _pictures(folder, resolution)
    notes = describe(data)
    for line in notes:
        say(line)
    assert data.opened is not None
    settings = {
        "network": network, "latents": latents, "learning_rate": 1e-3,
        "pixel_weight": max(1.0, (FULL / resolution) ** 2),
    }  # fmt: skip
    setup = Setup(data.opened, settings, strengths=_numbers(strengths))
    target = out or folder.with_name(f"{folder.resolve().name}-factors")
    search = Search(setup, data, target, say)
    say(_plan(setup, data, minutes, search.seconds))
    if forecast:
        return
    with started(target, **engine) as (executor, workers):
        try:
            search.run(minutes, executor, workers)
        except KeyboardInterrupt:
            say("stopped; writing what was found so far")
    _finish(search.result(), data, target, notes)


def _pictures(folder: Path, resolution: int) -> Pictures:
    data = _load(folder, resolution)
    if len(data) < LEAST:
        raise InputError(f"{folder} holds {len(data)} pictures that can be read; expected at least {LEAST}")
    return data


def _load(folder: Path, resolution: int) -> Pictures:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `describe` says which files were skipped
        data = catalogue.load("image_folder", resolution, path=str(folder.resolve()))
    assert isinstance(data, Pictures)
    return data


def describe(data: Pictures) -> list[str]:
    """What the pictures are, in lines for people."""
    pixels = data.images_at(np.arange(len(data)))
    colour = "grey" if data.image_shape[0] == 1 else "colour"
    lines = [
        f"{len(data):,} {colour} {data.source}, each the largest centred square, {data.image_shape[1]} pixels wide"
    ]
    black = int((pixels.flatten(1).max(1).values < DARK).sum())
    if black:
        lines.append(f"{black:,} of them are black")
    same = len(data) - len(np.unique(pixels.flatten(1).numpy(), axis=0))
    if same:
        lines.append(f"{same:,} of them look the same as another")
    lines += data.notes
    if data.skipped:
        first = data.skipped[0]
        lines.append(f"{len(data.skipped):,} files could not be read, such as {first}: {data.reasons[first]}")
    return lines


def _plan(setup: Setup, data: Pictures, minutes: float, used: float) -> str:
    """What will be done, and how long it takes."""
    remaining = minutes - used / 60
    if remaining <= 0:
        return f"{used / 60:.0f} of {minutes:g} minutes are used; ask for more --minutes to train on"
    step = measure_speed(setup, data, 1.0)
    models, again = len(setup.members), f", after {used / 60:.0f} minutes of earlier calls" if used else ""
    return (
        f"about {remaining:.0f} minutes{again}: {models} models of {setup.method} at {len(setup.strengths)} strengths, "
        f"{1000 * step:.0f} ms a step; the better ones train longer. Ctrl-C stops it with the best so far"
    )


def _finish(found: Discovery | None, data: Pictures, target: Path, notes: list[str]) -> None:
    if found is None:
        say("no model has learned anything yet; run the same command again to resume, or with more --minutes")
        raise click.exceptions.Exit(1)
    for path in write_results(found, data, target, notes):
        click.echo(path)
    for line in found.advice():
        say(line)
    for place, factor in enumerate(found.trusted, 1):
        click.echo(f"factor {place}: agreement {factor.trust:.2f}, {factor.kl:.1f} nats")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        raise InputError(f"--strengths is '{text}'; expected numbers, such as 2,4,8") from None
    if min(values) < 1:
        raise InputError(f"--strengths has {min(values):g}; expected numbers of at least 1")
    return values


command.params += ENGINE
