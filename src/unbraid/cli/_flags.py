"""Settings of methods and of data as flags."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from unbraid.cli._group import Group
from unbraid.data import catalogue
from unbraid.errors import InputError
from unbraid.methods import METHODS, Method


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--set got '{text}'; expected NAME=VALUE")
    return name, value


def flag(field: dataclasses.Field[Any]) -> click.Option:
    """A setting as a flag; its range is checked by the config itself."""
    choices = field.metadata["choices"]
    return click.Option(
        [f"--{field.name.replace('_', '-')}"],
        type=type(field.default),
        default=None,
        help=f"{field.metadata['help']}{': ' + ', '.join(choices) if choices else ''}  [default: {field.default}]",
    )


class Methods(Group):
    """A command for each method, with a flag for each of its settings.

    `run` is called with the method, the names of its settings and all options; `params_of` gives the other flags.
    """

    def __init__(
        self,
        *args: Any,
        run: Callable[..., None],
        params_of: Callable[[type[Method]], Iterable[click.Parameter]],
        note: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._run, self._params_of, self._note = run, params_of, note

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(METHODS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in METHODS:
            return None
        method = METHODS[name]
        fields = dataclasses.fields(method.config_class)
        return click.Command(
            name,
            callback=partial(self._run, name, {field.name for field in fields}),
            params=[*self._params_of(method), *(flag(field) for field in fields)],
            help=f"{method.__doc__}\n\n{self._note}".rstrip(),
        )


def data_flags(needs: Sequence[str]) -> Iterator[click.Option]:
    """Settings of the data that a method needs more of than images; for other methods they go by --set."""
    gives = [wrapper.gives for wrapper in catalogue.WRAPPERS if wrapper.gives in needs]
    for wrapper in catalogue.WRAPPERS:
        if gives and wrapper.gives in ("", *gives):
            for name, default in wrapper.defaults.items():
                shown = f"  [default: {default}]" if default else ""
                flag = f"--{name.replace('_', '-')}"
                yield click.Option([flag], type=type(default), default=None, help=f"{wrapper.help[name]}{shown}")
