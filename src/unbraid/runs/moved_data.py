"""Where the user's files are that a run was trained on: as its config says, where a command says, or where they moved.

Pictures are the same if their digest is. A config from elsewhere decides no path that is read: see `Run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from unbraid.errors import InputError

SETTING = "path"  # of the data sets that are the user's own
LEVELS = 5  # folders above a run in which moved files are sought

_named: ContextVar[Path | None] = ContextVar("named", default=None)


@contextmanager
def data_at(path: Path | None) -> Iterator[None]:
    """Within the block, runs on the user's own files read them from this folder or file."""
    token = _named.set(path or _named.get())
    try:
        yield
    finally:
        _named.reset(token)


def named_path() -> Path | None:
    """The path that the reader has named for the data."""
    return _named.get()


def at(opened: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The arguments of `catalogue.load` with another path of the data."""
    if SETTING not in opened["settings"]:
        raise InputError(f"{opened['name']} is not read from your own files; a path is only for data that is")
    return {**opened, "settings": {**opened["settings"], SETTING: str(path)}}


def places(opened: Mapping[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """The arguments of `catalogue.load` with each place to which the data may have moved.

    These are files of the same name, or the same relative path, below this folder and below those that hold the run.
    """
    path = opened["settings"].get(SETTING)
    if not isinstance(path, str) or not path:
        return
    here, before = folder.absolute(), Path(path).expanduser()
    names = dict.fromkeys([*([] if before.is_absolute() else [before]), Path(before.name)])
    for base in dict.fromkeys([Path.cwd(), *here.parents[:LEVELS]]):
        for name in names:
            if name.parts and (base / name).exists() and base / name != before:
                yield at(opened, base / name)
