"""CelebA (Liu et al. 2015): 202,599 aligned photographs of faces, from the user's own copy."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Rows, check_resolution
from unbraid.data.sets.image_folder import Pictures
from unbraid.data.stored import as_tensor, square
from unbraid.errors import InputError
from unbraid.progress import progress

_BLOCK = 512  # pictures written at a time
_EXPECTED = "expected img_align_celeba.zip, or a folder with its pictures"


def open_celeba(
    resolution: int = 64, path: str | Path = "", attributes: str | Path = "", crop: int = 148
) -> FactorData:
    """The aligned pictures in a zip or a folder, each the centred square of `crop` pixels, in the order of their names.

    `attributes` is list_attr_celeba.txt: with it each of its columns is a factor of two values.
    """
    check_resolution(resolution)
    if not str(path):
        raise InputError(f"celeba needs the setting path: {_EXPECTED}")
    if int(crop) < 1:
        raise InputError(f"crop is {crop}; expected at least 1")
    source = Path(path).expanduser()
    if source.is_dir():
        return _opened(resolution, int(crop), attributes, source.name, *_in_folder(source))
    if not source.exists():
        raise InputError(f"{source} does not exist; {_EXPECTED}")
    try:
        with zipfile.ZipFile(source) as archive:
            return _opened(resolution, int(crop), attributes, source.name, *_in_archive(archive))
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{source} cannot be read: {error}; {_EXPECTED}") from error


Read = Callable[[str], bytes]


def _in_folder(folder: Path) -> tuple[dict[str, str], Read]:
    """A fingerprint of each picture by its name, and how to read one."""
    files = {path.name: path for path in sorted(folder.rglob("*.jpg")) if path.is_file()}
    marks = {name: f"{path.stat().st_size} {path.stat().st_mtime_ns}" for name, path in files.items()}
    return marks, lambda name: files[name].read_bytes()


def _in_archive(archive: zipfile.ZipFile) -> tuple[dict[str, str], Read]:
    members = {Path(one.filename).name: one for one in archive.infolist() if one.filename.endswith(".jpg")}
    marks = {name: f"{members[name].file_size} {members[name].CRC}" for name in sorted(members)}
    return marks, lambda name: archive.read(members[name])


def _opened(
    resolution: int, crop: int, attributes: str | Path, source: str, marks: dict[str, str], read: Read
) -> FactorData:
    if not marks:
        raise InputError(f"{source} holds no .jpg; {_EXPECTED}")
    labels = _attributes(Path(attributes).expanduser(), list(marks)) if str(attributes) else None
    key = hashlib.sha256(repr((marks, crop)).encode()).hexdigest()[:16]
    shape = (len(marks), 3, resolution, resolution)
    pixels = drawn_array(
        f"celeba_{resolution}_{key}", shape, np.uint8, lambda: _faces(list(marks), read, resolution, crop)
    )
    words = f"CelebA's pictures in {source}"
    if labels is None:
        return Pictures(as_tensor(pixels), list(marks), {}, words)
    names, table = labels
    return Rows(as_tensor(pixels), torch.from_numpy(table), names, [2] * len(names), source=words)


def _faces(names: list[str], read: Read, resolution: int, crop: int) -> Iterator[Array]:
    """uint8 (n, 3, resolution, resolution) in pieces."""
    with progress("reading CelebA", len(names)) as advance:
        for start in range(0, len(names), _BLOCK):
            faces = []
            for name in names[start : start + _BLOCK]:
                faces.append(_face(name, read(name), resolution, crop))
                advance()
            yield np.stack(faces).transpose(0, 3, 1, 2)


def _face(name: str, contents: bytes, resolution: int, crop: int) -> Array:
    try:
        with Image.open(io.BytesIO(contents)) as picture:
            left, top = (picture.width - crop) // 2, (picture.height - crop) // 2
            if min(left, top) < 0:
                raise InputError(f"{name} is {picture.width} x {picture.height}; expected at least {crop} x {crop}")
            return square(picture.convert("RGB").crop((left, top, left + crop, top + crop)), resolution)
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} cannot be read as a picture: {error}") from error


def _attributes(path: Path, names: list[str]) -> tuple[tuple[str, ...], Array]:
    """The names of the attributes, and 0 or 1 for each picture: int64 (n, attributes)."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; expected list_attr_celeba.txt") from error
    header = tuple(lines[1].split()) if len(lines) > 1 else ()
    rows = {words[0]: words[1:] for line in lines[2:] if (words := line.split())}
    if not header:
        raise InputError(f"{path} names no attributes in its second line; expected list_attr_celeba.txt")
    for name in names:
        values = rows.get(name)
        if values is None:
            raise InputError(f"{path} has no line for {name}")
        if len(values) != len(header) or not set(values) <= {"-1", "1"}:
            raise InputError(f"{path}: the line of {name} is not {len(header)} times -1 or 1")
    return header, np.array([[value == "1" for value in rows[name]] for name in names], np.int64)


DECLARED = DataSet(
    "celeba", (), (), "your copy of CelebA: path=img_align_celeba.zip", open_celeba, embedded=True,
    user_files={"path": (), "attributes": ()},
)  # fmt: skip
