"""Which code, and which runs, are the user's own: a record of what was run here, by digest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from platformdirs import user_state_path

_everything: ContextVar[bool] = ContextVar("everything", default=False)
_here: set[str] = set()


def state_folder() -> Path:
    """The folder of the record: $UNBRAID_STATE, else the system's state folder for this user."""
    return Path(os.environ.get("UNBRAID_STATE") or user_state_path("unbraid"))


def remember(digest: str) -> None:
    """Count what has this SHA-256 as the user's own from now on."""
    if digest not in _here:
        _here.add(digest)
        with suppress(OSError):  # a home that cannot be written to: it is the user's own until the process ends
            folder = state_folder() / "own"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / digest).touch()


def trusted(digest: str) -> bool:
    """Whether what has this SHA-256 is the user's own, or everything is trusted."""
    return _everything.get() or digest in _here or (state_folder() / "own" / digest).is_file()


@contextmanager
def trusting(everything: bool = True) -> Iterator[None]:
    """Within the block, code and files that a folder from elsewhere names are trusted too."""
    token = _everything.set(everything or _everything.get())
    try:
        yield
    finally:
        _everything.reset(token)
