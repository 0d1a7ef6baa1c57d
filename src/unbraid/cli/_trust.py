"""`--trust`: run code and open files that a folder from elsewhere names."""

from __future__ import annotations

from typing import Any

import click

from unbraid.own import trusting


def _trust(ctx: click.Context, option: click.Parameter, chosen: bool) -> None:
    ctx.with_resource(trusting(chosen))


def TRUST(function: Any) -> Any:  # noqa: N802 (a decorator, written like the other options that commands share)
    """The flag `--trust` of a command, which holds while the command runs."""
    text = "Run the code and open the files that the folder names, even if it comes from elsewhere."
    return click.option("--trust", is_flag=True, expose_value=False, callback=_trust, help=text)(function)
