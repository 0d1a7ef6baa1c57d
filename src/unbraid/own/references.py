"""References to code: making them from words and objects, and finding what they name."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from unbraid.errors import InputError, nearest
from unbraid.own import cells, sources
from unbraid.own.sources import KEY, Source

_REFERENCE = re.compile(rf"(.+\.py)(?::([A-Za-z_]\w*(?:\.\w+)*))?(?:@([0-9a-f]{{{KEY}}}))?")
_base: ContextVar[Path | None] = ContextVar("base", default=None)


def is_reference(text: Any) -> bool:
    """Whether a word is `file.py:Name`, with or without a digest."""
    match = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
    return match is not None and match[2] is not None


def label(name: str) -> str:
    """The name alone of a reference, `L1VAE` of `l1_vae.py:L1VAE@3f0c…`; any other name as it is."""
    match = _REFERENCE.fullmatch(name)
    return match[2] if match and match[2] else name


def without_keys(tree: Any) -> Any:
    """The same tree of mappings and lists, with references without the digests of their code."""
    if isinstance(tree, Mapping):
        return {without_keys(name): without_keys(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [without_keys(value) for value in tree]
    match = _REFERENCE.fullmatch(tree) if isinstance(tree, str) else None
    return tree[: -KEY - 1] if match and match[3] else tree


@contextmanager
def relative_to(folder: Path) -> Iterator[None]:
    """Within the block, relative paths in references are below this folder, not the current one."""
    token = _base.set(folder)
    try:
        yield
    finally:
        _base.reset(token)


def refer(value: Any, group: str = "") -> Any:
    """The reference to what a word or an object names; a number, or a word that names nothing, stays as it is.

    `group` is that of the entry points of installed packages, such as `unbraid.methods`.
    """
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value)
        if match and match[2]:
            if match[3]:
                return value
            source = Source.read((_base.get() or Path()) / match[1])
            return _named(source, source.main, match[2])
        entry = _entries(group).get(value) if group else None
        return value if entry is None else refer(_loaded(entry))
    return value if value is None or isinstance(value, bool | int | float) else _of_object(value)


def refer_all(tree: Any) -> Any:
    """The same tree of mappings and lists, with references in place of files' names and of objects, also as keys."""
    if isinstance(tree, Mapping):
        return {_leaf(name): refer_all(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(refer_all(value) for value in tree)
    return _leaf(tree)


def look_up(name: Any, known: Mapping[str, Any], what: str, group: str) -> Any:
    """What is known by a name, or what a reference names; else an InputError that suggests the nearest name.

    `what` is the word for it in the error, `group` that of the entry points. What is not a word is itself meant.
    """
    if not isinstance(name, str):
        return name
    if name in known:
        return known[name]
    reference = refer(name, group)
    if not is_reference(reference):
        raise InputError(f"there is no {what} '{name}'{nearest(name, known)}")
    return resolve(reference)


def resolve(reference: str) -> Any:
    """The object that a reference names. Its source must be known in this process."""
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    assert match[2] is not None
    source = sources.known(match[3] or "")
    if source is None:
        raise InputError(f"the code of {reference} is not known here")
    value: Any = source.module(match[1])
    for part in match[2].split("."):
        if not hasattr(value, part):
            known = [name for name in vars(value) if not name.startswith("_")]
            raise InputError(f"{source.folder / match[1]} has no '{match[2]}'{nearest(part, known)}")
        value = getattr(value, part)
    return value


def keys_in(tree: Any) -> set[str]:
    """The keys of all references in a tree of mappings, lists and dataclasses."""
    return {match[3] for match in _matches(tree) if match[3]}


def references_in(tree: Any) -> list[str]:
    """The references with a digest in a tree, in order."""
    return [match[0] for match in _matches(tree) if match[2] and match[3]]


def unkept(tree: Any) -> list[str]:
    """The references in a tree that have a path and no digest."""
    return [match[0] for match in _matches(tree) if match[2] and not match[3]]


def _matches(tree: Any) -> Iterator[re.Match[str]]:
    if isinstance(tree, str):
        if match := _REFERENCE.fullmatch(tree):
            yield match
    elif isinstance(tree, Mapping):
        yield from _matches([*tree, *tree.values()])
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from _matches(one)
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from _matches([getattr(tree, field.name) for field in fields(tree)])


def code_digest(kind: type) -> str | None:
    """The key of the code of a class that was imported from a source; None of a class from an ordinary module."""
    return (
        _source_of(sys.modules[kind.__module__], kind.__qualname__)[0].key
        if sources.imported_here(kind.__module__)
        else None
    )


def _named(source: Source, file: str, name: str) -> str:
    sources.register(source)
    return f"{file}:{name}@{source.key}"


def _leaf(value: Any) -> Any:
    plain = value is None or isinstance(value, bool | int | float)
    own = is_reference(value) or (not isinstance(value, str) and (callable(value) or is_dataclass(value)))
    return refer(value) if own and not plain else value


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{entry.value}, which an installed package names '{entry.name}', fails: {reason}") from error


def _of_object(value: Any) -> str:
    """The reference to a class or a function by its own name, to any other object by the variable that holds it."""
    if isinstance(value, type | FunctionType):
        module, name = sys.modules.get(value.__module__), value.__qualname__
        if "<locals>" in name or "<lambda>" in name:
            raise InputError(f"{name} is made inside a function; expected a name at the top level of a file")
    else:
        module, name = _variable(value)
    if module is None:
        raise InputError(f"{value!r} is not a variable of a Python file; expected one at the top level of a file")
    return _named(*_source_of(module, name), name)


def _source_of(module: ModuleType, name: str) -> tuple[Source, str]:
    """The source of a module and its file there; for a notebook, of the cells that define a name."""
    if (imported := sources.of_module(module)) is not None:
        return imported
    if module.__name__ != "__main__":
        raise InputError(f"your code is in the module {module.__name__}, which is not a file; put it into one")
    top = name.partition(".")[0]
    text = cells.defining(top, cells.cells(module))
    if text is None:
        raise InputError(
            f"{top} was typed at a prompt that keeps no copy of it; put it into a file, such as mine.py, and import it "
            "(in a notebook, `%%writefile mine.py` as the first line of the cell does that)"
        )
    source = Source.typed(f"notebook_{top}.py", text)
    return source, source.main


def _variable(value: Any) -> tuple[ModuleType | None, str]:
    """The module that assigns a value to a variable at its top level, and the variable."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and getattr(module, "__file__", None):
            for name, other in list(vars(module).items()):
                if other is value and name in _assigned(module):
                    return module, name
    main = sys.modules["__main__"]
    for name in cells.assigned(cells.cells(main)):
        if vars(main).get(name) is value:
            return main, name
    return None, ""


def _assigned(module: ModuleType) -> set[str]:
    """The variables that a module's file assigns at its top level, not those that it imports."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return set()
    names: set[str] = set()
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
