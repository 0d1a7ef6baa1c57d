"""The command in this process: one of its own takes seconds to start."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Here(Protocol):
    def __call__(self, *arguments: str) -> Done: ...
