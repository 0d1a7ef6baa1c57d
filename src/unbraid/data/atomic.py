"""Files that are either whole or absent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path` to write to. On leaving, the file is synced and renamed to `path`.

    When the body raises, the temporary file is removed and `path` stays as it was. A killed process leaves at most a
    file that ends in `.part`, for `clear_parts`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name itself reaches the disk
        finally:
            os.close(folder)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def clear_parts(folder: Path) -> None:
    """Remove half-written files in a folder whose process on this machine has ended."""
    for part in folder.glob(".*.part"):
        pid = part.suffixes[-2].removeprefix(".") if len(part.suffixes) > 1 else ""
        if pid.isdigit() and not _alive(int(pid)):
            part.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True
