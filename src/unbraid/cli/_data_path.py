"""`--path`: where the files of a run's data are now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unbraid.cli._group import PATH
from unbraid.runs.moved_data import data_at


def _name(ctx: click.Context, option: click.Parameter, path: Path | None) -> None:
    ctx.with_resource(data_at(path))


def DATA_PATH(function: Any) -> Any:  # noqa: N802 (a decorator, written like the other options that commands share)
    """The option `--path` of a command that opens a run's data."""
    text = "Where the files of the run's data are, if they have moved: a folder of pictures or an .npz."
    return click.option("--path", type=PATH, expose_value=False, callback=_name, help=text)(function)
