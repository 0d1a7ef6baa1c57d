"""The option by which a command's runs are followed in a tracker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

TRACK = click.Option(
    ["--track"], metavar="NAME[=FOLDER]", help="Follow each run in tensorboard, trackio, wandb or mlflow."
)


@contextmanager
def following(track: str | None, out: Path) -> Iterator[None]:
    """Each run that is trained in the block is followed, by default in the folder of the results."""
    from unbraid.runs.tracking import Tracking, tracked

    tracking = None if track is None else Tracking.of(track, out, out.absolute().name)
    if tracking is not None:
        tracking.prepare()
    with tracked(tracking):
        yield
