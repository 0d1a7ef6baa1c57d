"""What all commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from unbraid.data.atomic import link_target
from unbraid.errors import InputError, nearest

_WRITTEN = {"--out", "--readme", "--keep"}  # a link given here leads to the file that is written


class _PathType(click.Path):
    """A path that is not empty, nor longer than paths can be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; expected a path", param, ctx)
        if len(os.fsencode(value)) > 4000 or any(len(part) > 255 for part in os.fsencode(value).split(b"/")):
            self.fail(f"'{str(value)[:40]}…' is too long for a path", param, ctx)
        path = Path(super().convert(value, param, ctx))
        written = param is not None and not _WRITTEN.isdisjoint(param.opts)
        return link_target(path) if written and not path.is_dir() else path


PATH = _PathType(path_type=Path)


class Group(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise InputError(f"there is no command '{args[0]}'{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that lists its commands from a table, and calls `find(name)` only for the one that is run.

    `summaries` has the first line of help of each command. `find` returns None for a name it does not know.
    """

    def __init__(
        self,
        *args: Any,
        summaries: Mapping[str, str],
        find: Callable[[str], click.Command | None],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._summaries, self._find = summaries, find

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return self._find(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))


def say(line: str) -> None:
    """A line for a person, on stderr."""
    click.echo(f"unbraid: {line}", err=True)
