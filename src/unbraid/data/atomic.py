"""Files that are either whole or absent."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside `path` to write to. On leaving, the file is synced and renamed to `path`.

    When the body raises, the temporary file is removed and `path` stays as it was. A killed process leaves at most a
    file that ends in `.part`, for `clear_parts`. What is not a regular file is never replaced, nor written through a
    link that a folder from elsewhere may hold: an OSError says so. `link_target` follows a link that the user names.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # its mode is the user's choice, by the umask
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        check_replaceable(path)
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


def check_replaceable(path: Path) -> None:
    """An OSError where `path` is there and not a regular file."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(mode):
        where = f" to {path.readlink()}" if stat.S_ISLNK(mode) else ""
        raise OSError(errno.EINVAL, f"it is {kind_of(mode)}{where}, not a regular file", str(path))


def kind_of(mode: int) -> str:
    """What a file is that is not a regular one."""
    kinds = {
        stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "something else")


def link_target(path: Path) -> Path:
    """The file that a path leads to when it is a link, else the path itself; for a path that the user has named.

    /dev/stdout and the like stay links: what they lead to is open, and would lose what it holds.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    return path if any(_is_open_file(link) for link in _chain(path)) else target


def _chain(path: Path) -> Iterator[Path]:
    """The links that lead from a path to a file."""
    for _ in range(40):  # as many as Linux follows
        if not path.is_symlink():
            return
        yield path
        path = path.parent / path.readlink()


def _is_open_file(link: Path) -> bool:
    """Whether a link stands for a file that a process has open."""
    return Path(os.path.realpath(link.parent)).parts[:2] == ("/", "proc")


def clear_parts(folder: Path) -> None:
    """Remove half-written files in a folder whose process on this machine has ended."""
    for part in folder.glob(".*.part"):
        pid = part.suffixes[-2].removeprefix(".") if len(part.suffixes) > 1 else ""
        if pid.isdecimal() and not _alive(int(pid)):
            part.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    return True
