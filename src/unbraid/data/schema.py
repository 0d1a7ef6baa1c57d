"""What the values of a JSON file must be: a schema by name, and the error that names the first that is not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.errors import InputError


@dataclass(frozen=True)
class Kind:
    """What a value in a JSON file must be: `words` for errors, and a test."""

    words: str
    holds: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return type(value) is float or _is_whole(value)


_INFINITE = (math.inf, -math.inf)


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 10_000 and (value.isprintable() or not _CONTROL.search(value))


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # all but tabs and the ends of lines
WORD = Kind("a word", _is_word)
WHOLE = Kind("a whole number", _is_whole)
COUNT = Kind("a whole number, at least 0", lambda value: _is_whole(value) and value >= 0)
NUMBER = Kind("a number", _is_number)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
PLAIN = Kind(
    "an object of words and numbers",
    lambda value: isinstance(value, dict)
    and all(_is_word(name) and (one is None or type(one) is bool or _is_number(one) or _is_word(one))
            for name, one in value.items()),
)  # fmt: skip
TERMS = Kind(
    "an object of finite numbers",
    lambda value: isinstance(value, dict)
    and all((type(one) is float or one is None or _is_whole(one)) and one not in _INFINITE and _is_word(name)
            for name, one in value.items()),
)  # fmt: skip


def listed(kind: Kind) -> Kind:
    """A list of a kind."""
    words = f"a list, each {kind.words}"
    return Kind(words, lambda value: isinstance(value, list) and all(map(kind.holds, value)))


def optional(kind: Kind) -> Kind:
    """A kind, or null."""
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.holds(value))


def check(path: Path | str, record: Any, schema: Mapping[str, Kind]) -> None:
    """An InputError that names the first value of a JSON object that is missing or not of its kind."""
    if not isinstance(record, dict):
        raise InputError(f"{path} is damaged: it is not a JSON object")
    for name, kind in schema.items():
        if name not in record:
            raise InputError(f"{path} has no '{name}'; expected {kind.words}")
        if not kind.holds(record[name]):
            raise InputError(f"{path}: '{name}' is {_value(record[name])}; expected {kind.words}")


def _value(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
