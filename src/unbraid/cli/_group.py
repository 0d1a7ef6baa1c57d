"""What all commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from unbraid.errors import InputError, nearest

console = Console() if sys.stdout.isatty() else Console(width=160)  # a pipe has no width of its own
PATH = click.Path(path_type=Path)


class Group(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise InputError(f"there is no command '{args[0]}'{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def say(line: str) -> None:
    """A line for a person, on stderr."""
    click.echo(f"unbraid: {line}", err=True)
