"""Arguments of public functions: their types, as the signatures state them, and their ranges."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from itertools import islice
from os import PathLike
from typing import Any, TypeVar, cast, get_args, get_origin

from unbraid.errors import InputError, printable, shown

F = TypeVar("F", bound=Callable[..., Any])

MOST = 1_000_000  # members of a sequence that is not an array
LARGEST = 2**63 - 1
"""Whole numbers beyond it fit no array, no seed and no count of steps."""


def need_whole(name: str, value: Any, low: int = 0, high: int = LARGEST) -> int:
    """`value` where it is a whole number in the range, else an InputError that names it."""
    if not _is(value, int):
        raise InputError(f"{name} is {shown(value)}; expected a whole number")
    if not low <= value <= high:
        expected = f"at least {low:,}" if value < low else f"at most {high:,}"
        raise InputError(f"{name} is {shown(int(value))}; expected {expected}")
    return int(value)


def need_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """`value` where it is a finite number in the range, else an InputError that names it."""
    if not _is(value, float) or not abs(float(value)) < 1e300:
        raise InputError(f"{name} is {shown(value)}; expected a finite number")
    if not low <= value <= high:
        raise InputError(f"{name} is {value:g}; expected {f'at least {low:g}' if value < low else f'at most {high:g}'}")
    return float(value)


def need_array(name: str, values: Any) -> Any:
    """An array of a tensor, a table or nested lists, else an InputError that names it."""
    import numpy as np

    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()  # NumPy lacks it
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} have rows of different lengths; expected (samples, columns)") from None
    except Exception as error:  # the object's own conversion may raise anything
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(f"{name} are a {type(values).__name__} that is not an array: {reason}") from error


def checked(function: F) -> F:
    """The function with its arguments checked: a wrong type is an InputError that names the argument.

    A sequence that is given as an array or a generator becomes a list, which has a length and a truth value.
    """

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}") from None
        kinds = _kinds(inspect.unwrap(function))
        for name, value in bound.arguments.items():
            others = [kind for kind in kinds.get(name, ()) if kind is not Iterable]
            if Iterable in kinds.get(name, ()) and _is(value, Iterable) and not any(_is(value, one) for one in others):
                bound.arguments[name] = _listed(name, value)
        check_types(function, bound.arguments)
        return function(*bound.args, **bound.kwargs)

    return cast(F, checking)


def _listed(name: str, value: Any) -> Any:
    """A sequence of any type as a list; a tuple stays one."""
    if isinstance(value, list | tuple):
        return value
    if hasattr(value, "ndim"):
        return need_array(name, value).tolist()
    members = list(islice(value, MOST + 1))
    if len(members) > MOST:
        raise InputError(f"{name} has more than {MOST:,} members; expected fewer")
    return members


def check_types(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """An InputError that names the first argument that is not what the function's signature says."""
    kinds = _kinds(inspect.unwrap(function))
    for name, value in arguments.items():
        accepted = kinds.get(name, ())
        if not accepted:
            continue
        if isinstance(value, float) and math.isnan(value) and float in accepted:
            raise InputError(f"{name} is nan; expected a number")
        if not any(_is(value, kind) for kind in accepted):
            raise InputError(f"{name} is {shown(value)}; expected {' or '.join(_words(kind) for kind in accepted)}")
        if isinstance(value, int) and int in accepted and not -LARGEST <= value <= LARGEST:
            raise InputError(f"{name} is {shown(value)}; expected at most {LARGEST:,}")
        if isinstance(value, str | PathLike) and PathLike in accepted:
            try:
                too_long = is_too_long(value)
            except UnicodeEncodeError:
                raise InputError(f"{name} is {shown(printable(str(value)))}, which is not text") from None
            if too_long:
                raise InputError(f"{name} is {shown(value)}, which is too long for a path")
        members = _members(inspect.unwrap(function)).get(name, ())
        if members and isinstance(value, list | tuple) and type(value) not in accepted:
            for index, one in enumerate(value):
                if not any(_is(one, kind) for kind in members):
                    expected = " or ".join(_words(kind) for kind in members)
                    raise InputError(f"{name}[{index}] is {shown(one)}; expected {expected}")


def is_too_long(path: str | PathLike[Any]) -> bool:
    """Whether no file system takes a path: it, or a name in it, is too long."""
    parts = os.fsencode(path).split(b"/")
    return sum(map(len, parts)) > 4000 or len(parts) > 255 or max(map(len, parts)) > 255


_KINDS: dict[str, Any] = {
    "int": int, "float": float, "str": str, "bool": bool, "None": type(None), "Path": PathLike, "Mapping": Mapping,
    "Sequence": Iterable, "Iterable": Iterable, "Collection": Iterable, "list": Iterable, "tuple": Iterable,
    "dict": Mapping, "Callable": Callable, "type": type,
}  # fmt: skip
_SEQUENCES = ("Sequence", "Iterable", "Collection", "list")
_WORDS: dict[Any, str] = {
    int: "a whole number", float: "a number", str: "a word", bool: "True or False", type(None): "None",
    PathLike: "a path", Mapping: "a mapping", Iterable: "a sequence", Callable: "a function", type: "a class",
}  # fmt: skip


_ORIGINS: dict[Any, Any] = {Callable: Callable, Mapping: Mapping, dict: Mapping, list: Iterable, tuple: Iterable}
"""What an alias such as `Callable[[int], None]` stands for."""


@cache
def _kinds(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """What each parameter accepts; nothing for those whose annotation says no more than a type checker can use."""
    kinds = {}
    for name, parameter in inspect.signature(function).parameters.items():
        named = isinstance(parameter.annotation, str) and parameter.kind is not parameter.VAR_KEYWORD
        parts = list(_resolved(parameter.annotation, function.__globals__)) if named else [None]
        kinds[name] = () if None in parts else tuple(dict.fromkeys(parts))
    return kinds


@cache
def _members(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """What each member of a parameter that is a sequence must be; nothing where its annotation does not say."""
    members = {}
    for name, parameter in inspect.signature(function).parameters.items():
        named = isinstance(parameter.annotation, str) and parameter.kind is not parameter.VAR_KEYWORD
        parts = _parts(parameter.annotation) if named else []
        inner = [part.partition("[")[2][:-1] for part in parts if part.partition("[")[0] in _SEQUENCES and "[" in part]
        kinds = [kind for one in inner for kind in _resolved(one, function.__globals__)]
        members[name] = () if None in kinds else tuple(dict.fromkeys(kinds))
    return members


def _resolved(annotation: str, names: Mapping[str, Any]) -> Iterator[Any]:
    """The classes of an annotation such as `Sequence[int] | None`; None for a part that is not one."""
    for part in _parts(annotation):
        base = part.partition("[")[0]
        if base in _KINDS:
            yield _KINDS[base]
            continue
        known = names.get(base.partition(".")[0])
        for name in base.split(".")[1:]:
            known = getattr(known, name, None)
        members = get_args(known) if isinstance(known, types.UnionType) else (_ORIGINS.get(get_origin(known), known),)
        for member in members:
            yield member if member is Callable or (isinstance(member, type) and member is not Any) else None


def _parts(annotation: str) -> list[str]:
    """The parts of a union, where a `|` inside brackets does not divide."""
    parts, depth = [""], 0
    for character in annotation:
        depth += (character in "[(") - (character in "])")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _is(value: Any, kind: Any) -> bool:
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    if kind is Callable:
        return callable(value)
    if kind is Iterable:
        return (
            hasattr(value, "__iter__")
            and getattr(value, "ndim", 1) != 0
            and not isinstance(value, str | bytes | Mapping | type)
        )
    return isinstance(value, kind)


def _words(kind: Any) -> str:
    return _WORDS.get(kind) or f"a {kind.__name__}"
