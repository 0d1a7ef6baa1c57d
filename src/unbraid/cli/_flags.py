"""Settings of methods and of data as flags."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from unbraid.errors import InputError


def setting(text: str, option: str = "--set") -> tuple[str, str]:
    """The two sides of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{option} got '{text}'; expected NAME=VALUE")
    return name, value


def flag(field: dataclasses.Field[Any]) -> click.Option:
    """A setting as a flag; the config itself checks its range."""
    choices, words = field.metadata["choices"], str(field.metadata["help"])
    first = words.partition(" ")[0]
    if first.isalpha():  # and not a formula
        words = first.capitalize() + words[len(first) :]
    return click.Option(
        [f"--{field.name.replace('_', '-')}"],
        type=type(field.default),
        default=None,
        help=f"{words}{': ' + ', '.join(choices) if choices else ''}.  [default: {field.default}]",
    )
