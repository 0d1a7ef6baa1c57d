"""Settings of methods and of data as flags."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import click

from unbraid.data import catalogue
from unbraid.errors import InputError


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


def data_flags(needs: Sequence[str]) -> Iterator[click.Option]:
    """Settings of the data that a method needs more of than images; for other methods they go by --set."""
    gives = [wrapper.gives for wrapper in catalogue.WRAPPERS if wrapper.gives in needs]
    for wrapper in catalogue.WRAPPERS:
        if gives and wrapper.gives in ("", *gives):
            for name, default in wrapper.defaults.items():
                shown = f"  [default: {default}]" if default else ""
                flag = f"--{name.replace('_', '-')}"
                yield click.Option([flag], type=type(default), default=None, help=f"{wrapper.help[name]}{shown}")
