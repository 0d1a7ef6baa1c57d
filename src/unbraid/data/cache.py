"""Arrays drawn once and kept in the user's cache folder, with a checksum, and redrawn when damaged."""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.progress import progress

Array = np.ndarray[Any, Any]
_DIGEST = 32  # bytes of SHA-256 behind the array
_opened: dict[Path, Array] = {}


def cache_folder() -> Path:
    """The folder of drawn and downloaded data: $UNBRAID_CACHE, else the system's cache folder for this user."""
    return Path(os.environ.get("UNBRAID_CACHE") or user_cache_path("unbraid"))


def drawn_array(name: str, shape: tuple[int, ...], dtype: Any, draw: Callable[[], Iterable[Array]]) -> Array:
    """The array `name`, from the cache or drawn now, memory-mapped and read-only.

    `draw` yields it in pieces along the first axis. `name` must change whenever the contents do. The file is an
    ordinary .npy followed by its SHA-256: written under a temporary name, synced, renamed.
    """
    path = cache_folder() / "drawn" / f"{name}.npy"
    if path not in _opened:
        array = _read(path, shape, np.dtype(dtype))
        if array is None:
            _write(path, shape, np.dtype(dtype), draw)
            array = _read(path, shape, np.dtype(dtype))
        if array is None:
            raise InputError(f"{path} does not read back as it was written; is the disk sound?")
        _opened[path] = array
    return _opened[path]


def _read(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
    """The array, or None where the file is absent or damaged."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256()
            remaining = size - _DIGEST
            while remaining > 0 and (piece := file.read(min(remaining, 1 << 20))):
                digest.update(piece)
                remaining -= len(piece)
            if remaining != 0 or file.read() != digest.digest():
                return None
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == dtype else None


def _write(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], draw: Callable[[], Iterable[Array]]) -> None:
    digest = hashlib.sha256()
    try:
        with replacing(path) as part, part.open("wb") as file, progress(f"drawing {path.stem}", shape[0]) as advance:
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(
                header, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            )
            digest.update(header.getvalue())
            file.write(header.getvalue())
            rows = 0
            for piece in draw():
                data = np.ascontiguousarray(piece, dtype=dtype)
                if data.shape[1:] != shape[1:]:
                    raise ValueError(f"{path.stem}: a piece has shape {data.shape}, expected (n, {shape[1:]})")
                digest.update(data.data)
                file.write(data.data)
                rows += len(data)
                advance(len(data))
            if rows != shape[0]:
                raise ValueError(f"{path.stem}: {rows} rows drawn, expected {shape[0]}")
            file.write(digest.digest())
    except OSError as error:
        need = math.prod(shape) * dtype.itemsize / 1e6
        raise InputError(
            f"cannot keep {path.stem} ({need:.0f} MB) in {path.parent}: {error.strerror or error}; "
            "make room, or point UNBRAID_CACHE at another folder"
        ) from error
