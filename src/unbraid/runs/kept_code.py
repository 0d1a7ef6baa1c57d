"""The user's own code beside what was made with it: `code/KEY/` holds the files of a source.

`source.json` says which of them is the file itself and where they came from, relative to the folder; as long as they
are there unchanged, the code finds the other files beside it. It is written last: a folder without it is not whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unbraid.data.atomic import clear_parts, replacing
from unbraid.errors import InputError
from unbraid.own import Source, known, register, trusted
from unbraid.own.references import keys_in, unkept
from unbraid.own.sources import KEY

FOLDER = "code"
_ABOUT = "source.json"
_KEY = re.compile(rf"[0-9a-f]{{{KEY}}}")
_MOST = 10_000_000  # bytes of a source


class UntrustedError(InputError):
    """A folder holds code that has not been run here before, and nobody said that it may be."""

    def __init__(self, folder: Path, source: Source) -> None:
        file = folder / FOLDER / source.key / source.main
        super().__init__(
            f"{folder} runs code that has not been run here before: {file}; read it, and if you trust it, repeat this "
            "with --trust (in Python, trust=True)"
        )


def keep(keys: Iterable[str], folder: Path) -> list[str]:
    """Write the files of these sources, which this process knows, below a folder of results.

    Gives the names of files of which another version is kept there, but not this one.
    """
    changed = []
    for key in sorted(keys):
        target, source = folder / FOLDER / key, known(key)
        if source is None or (target / _ABOUT).exists():
            continue
        if any(_about(other) == (source.main, source.folder) for other in (folder / FOLDER).glob("*")):
            changed.append(source.main)
        target.mkdir(parents=True, exist_ok=True)
        clear_parts(target)
        for name, content in source.files.items():
            with replacing(target / name) as part:
                part.write_bytes(content)
        about = {"main": source.main, "from": os.path.relpath(source.folder, target)}
        with replacing(target / _ABOUT) as part:
            part.write_text(json.dumps(about, indent=1) + "\n")
    return changed


def _about(kept: Path) -> tuple[str, Path] | None:
    """The file of a source that is kept, and the folder it came from; None where that cannot be read."""
    try:
        about = json.loads(_read(kept / _ABOUT, kept))
        return str(about["main"]), (kept / str(about["from"])).resolve()
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_kept(key: str, folder: Path) -> Source:
    """The source that is kept below a folder of results; an InputError where it is not whole. Nothing is imported."""
    kept = folder / FOLDER / key
    if not _KEY.fullmatch(key):
        raise InputError(f"{folder} names code by '{key}'; expected {KEY} digits of a digest")
    try:
        _read(kept / _ABOUT, folder)
        names = [path.relative_to(kept).as_posix() for path in sorted(kept.rglob("*.py"))]
        files = {name: _read(kept / name, folder) for name in names}
        about = _about(kept)
        if about is None:
            raise ValueError(f"{_ABOUT} is damaged")
        main, origin = about
    except FileNotFoundError as error:
        raise InputError(f"{folder} does not hold the code that it was made with: {kept} is missing") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{kept} cannot be read as code: {error}") from error
    source = Source(kept, main, files)
    if source.key != key or source.main not in files:
        raise InputError(f"{kept} is damaged: its files have another checksum")
    return Source(origin, source.main, files) if _unchanged(origin, source) else source


def _read(path: Path, folder: Path) -> bytes:
    """A file that lies inside a folder itself: no link, no pipe, and of a size that code has."""
    inside = [path, *path.parents[: len(path.relative_to(folder).parts)]]
    if any(part.is_symlink() for part in inside) or (path.exists() and not path.is_file()):
        raise ValueError(f"{path} is a link or no regular file")
    if path.stat().st_size > _MOST:
        raise ValueError(f"{path} has more than {_MOST:,} bytes")
    return path.read_bytes()


def _unchanged(origin: Path, source: Source) -> bool:
    try:
        return all(
            (origin / name).is_file() and (origin / name).read_bytes() == content
            for name, content in source.files.items()
        )
    except OSError:
        return False


def newer(key: str, folder: Path) -> Path | None:
    """The file that a source was read from, where it has changed since; None where it is the same, or gone."""
    about = _about(folder / FOLDER / key)
    file = None if about is None else about[1] / about[0]
    source = read_kept(key, folder)
    return file if file is not None and file.is_file() and source.folder != about[1] else None  # type: ignore[index]


def take(keys: Iterable[str], folder: Path) -> None:
    """Make sources known that lie below a folder and that something trusted refers to, such as a job."""
    for key in keys:
        if known(key) is None:
            register(read_kept(key, folder))


def admit(folder: Path, record: Any, trust: bool) -> None:
    """Make the code known that a record of a folder refers to, or say in an InputError what would be run."""
    if outside := unkept(record):
        raise InputError(f"{folder} names code that it does not hold: {outside[0]}; expected a copy in {FOLDER}/")
    for key in sorted(keys_in(record)):
        if known(key) is None:
            source = read_kept(key, folder)
            if not (trust or trusted(source.digest)):
                raise UntrustedError(folder, source)
            register(source)
