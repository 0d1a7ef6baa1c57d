"""Files that a setting names: reading an array, and a digest of their contents that does not depend on their path."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.data import reading
from unbraid.data.reading import opened
from unbraid.errors import InputError, MissingError

Array = np.ndarray[Any, Any]


def read_array(path: str, what: str) -> Array:
    """The numbers in an .npy file that a setting names; `what` names them in errors."""
    file = Path(path).expanduser()
    try:
        return reading.read_array(file, what)
    except MissingError as error:
        raise InputError(f"{error}; expected an .npy file of {what}") from error


def content_digest(path: str | Path, setting: str) -> str:
    """A short digest of what a file holds, or a folder: the names and contents of all files in it that are not hidden.

    `setting` names it in errors.
    """
    source = Path(path).expanduser()
    try:
        if not source.exists():
            raise InputError(f"{setting} is '{path}', which does not exist; expected a file or a folder")
        if not source.is_file() and not source.is_dir():
            raise InputError(f"{setting} is '{path}', which is neither a file nor a folder")
        if source.is_file():
            return _file_digest(source)
        state = hashlib.sha256()
        for file in sorted(source.rglob("*")):
            name = file.relative_to(source)
            if file.is_file() and not any(part.startswith(".") for part in name.parts):
                state.update(f"{name.as_posix()} {_file_digest(file)}\n".encode(errors="surrogateescape"))
        return state.hexdigest()[:16]
    except OSError as error:
        raise InputError(f"{setting} is '{path}', which cannot be read: {error.strerror or error}") from error


def _file_digest(file: Path) -> str:
    status = file.stat()
    return _digest(file.absolute(), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=100_000)  # thousands of jobs of a study name the same file
def _digest(file: Path, size: int, changed: int) -> str:
    with opened(file) as reader:
        return hashlib.file_digest(reader, "sha256").hexdigest()[:16]
