"""Files that a command writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unbraid.data.atomic import replacing
from unbraid.errors import InputError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An OSError in the block becomes an InputError that names `path`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes `path`; an InputError where that cannot be written."""
    with writing(path), replacing(path) as part:
        yield part


def beside(source: Path, ending: str) -> Path:
    """A file named after another or after the folder of a run, beside it, and never in the folder of a run."""
    path = source.resolve()
    if not path.name:
        raise InputError(f"{source} has no folder above it to write to; say where to write with --out")
    if path.is_dir():
        above = path.parent if source.name in {"", ".."} else source.parent
        return above / f"{path.name}{ending}"
    if (path.parent / "config.json").exists():
        return path.parent.with_name(f"{path.parent.name}.{path.name}{ending}")
    return source.parent / f"{path.name}{ending}"
