"""Leases: a file that the process working on a job keeps locked, so that no other takes the job.

The operating system unlocks it when that process ends, however it ended: there is never a lock to remove by hand.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def lease(path: Path) -> Iterator[bool]:
    """Whether this process now has the lease, until the end of the block or of the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield any(_lock(file) for _ in range(3))


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(0.01)  # perhaps for the moment that `is_leased` takes
        return False
    return True


def is_leased(path: Path) -> bool:
    """Whether a living process has the lease."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
