"""What all commands share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from unbraid.arguments import is_too_long
from unbraid.data.atomic import link_target
from unbraid.errors import InputError, nearest, printable

_WRITTEN = {"--out", "--readme", "--keep"}  # a link given here leads to the file that is written


class _PathType(click.Path):
    """A path that is not empty, nor longer than paths can be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; expected a path", param, ctx)
        if is_too_long(value):
            self.fail(f"'{str(value)[:40]}…' is too long for a path", param, ctx)
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if param is None or _WRITTEN.isdisjoint(param.opts) or path.is_dir():
            return path
        target = link_target(path)
        if (target.parent / "config.json").exists():
            from unbraid.runs.record import FILES  # for a command that writes into a run

            if target.name in FILES:
                self.fail(f"{path} is a file of the run {target.parent}; expected another name", param, ctx)
        return target


PATH = _PathType(path_type=Path)


class Group(click.Group):
    """A group that suggests the nearest command, and lists each with the whole first sentence of its help."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise InputError(f"there is no command '{args[0]}'{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        lines = [(name, command.get_short_help_str(limit=1000)) for name, command in commands.items() if command]
        with formatter.section("Commands"):
            formatter.write_dl(lines)


class LazyGroup(Group):
    """A group that lists its commands from a table, and calls `find(name)` only for the one that is run.

    `summaries` has the first line of help of each command. `find` returns None for a name it does not know. `sections`
    has the names of the commands under each heading; those of no section follow under a heading of their own.
    """

    def __init__(
        self,
        *args: Any,
        summaries: Mapping[str, str],
        find: Callable[[str], click.Command | None],
        sections: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._summaries, self._find, self._sections = summaries, find, sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return self._find(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = {name for names in self._sections.values() for name in names}
        rest = [name for name in self._summaries if name not in listed]
        width = max(map(len, self._summaries))
        for heading, names in {**self._sections, "Other" if listed else "Commands": rest}.items():
            if lines := [(name.ljust(width), self._summaries[name]) for name in names if name in self._summaries]:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def command_line(*without: str) -> str:
    """The command as it was typed, without some of its flags, to be typed again."""
    return shlex.join(["unbraid", *(word for word in sys.argv[1:] if word not in without)])


def say(line: str) -> None:
    """A line for a person, on stderr; names of files in it cannot send commands to a terminal."""
    text = printable(line)
    click.echo(f"unbraid: {text if len(text) <= 1500 else f'{text[:1000]} … {text[-400:]}'}", err=True)
