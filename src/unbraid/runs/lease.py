"""Leases: a file that the process working on a run or a job keeps locked, so that no other takes it.

The operating system unlocks it when that process ends, however it ended: there is never a lock to remove by hand.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from unbraid.errors import InputError

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # no pipe, no link


class NoLocksError(InputError):
    """The file system of a folder has no locks."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path.parent} is on a file system without file locks, which keep two processes from taking one job; "
            "use --out with a folder on another one (a local disk), or mount it with locks (flock)"
        )


@contextmanager
def lease(path: Path, *, keep: bool = True) -> Iterator[bool]:
    """Whether this process now has the lease, until the end of the block or of the process.

    Without `keep`, the file is removed at the end of a block that has had it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(100):
        with os.fdopen(os.open(path, _WRITE, 0o666), "w") as file:  # emptied by `_sign` alone
            leased = any(_lock(file, path) for _ in range(3))
            if leased and not _is_at(file, path):
                continue  # whoever had it before removed it in between
            if leased:
                _sign(file)
            try:
                yield leased
            finally:
                if leased and not keep:
                    path.unlink(missing_ok=True)
            return
    yield False


def _lock(file: IO[str], path: Path) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(0.01)  # perhaps for the moment that `is_leased` takes
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoLocksError(path) from error
        raise
    return True


def _is_at(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _sign(file: IO[str]) -> None:
    """Write which process has the lease, for `holder`."""
    file.truncate(0)
    file.write(f"{os.getpid()} {socket.gethostname()}\n")
    file.flush()


def is_leased(path: Path) -> bool:
    """Whether a living process has the lease."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoLocksError(path) from error
        raise InputError(f"{path} cannot be locked: {error.strerror or error}") from error
    finally:
        os.close(descriptor)
    return False


def holder(path: Path) -> str:
    """The process that has the lease, in words; what to do where it is stopped and so will never finish."""
    try:
        pid, _, host = path.read_text()[:300].strip().partition(" ")
    except (OSError, ValueError):
        return "another process"
    if not pid.isdecimal() or host != socket.gethostname():
        return f"process {pid} on {host}" if pid.isdecimal() and host.isprintable() else "another process"
    if is_stopped(int(pid)):
        return f"process {pid}, which is stopped (`kill -CONT {pid}` lets it continue, `kill -KILL {pid}` ends it)"
    return f"process {pid}"


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine is stopped, as by Ctrl-Z; False where that cannot be known."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError, IndexError):
        return False
    return state in ("T", "t")
