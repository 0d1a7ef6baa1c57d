"""The one kind of error that a user can correct."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """The user's input is wrong. The message is one line that names the culprit and what would be right.

    The command line prints it and exits with code 2; any other exception is a bug and shows its traceback.
    """


class MissingError(InputError):
    """There is no such file."""


class UnreadableError(InputError):
    """The system refuses to read a file that is there; the file may be sound."""


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end, by SIGTERM."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'dsprites'?"` when a known word is close to `word`, else a list of the known words."""
    known = sorted(known)
    close = difflib.get_close_matches(str(word)[:100], known, n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"


def printable(text: str) -> str:
    """Text without control characters and halves of characters: a terminal and a page may show it."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def shown(value: Any) -> str:
    """A value as a message can hold it: one line, not too long."""
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:60]}…"
