"""Reading files that anybody may have made: regular ones only, within stated limits, and nothing is executed.

Each kind of file has one reader here. It looks at what a file declares before it takes memory for it, and says in one
line what is wrong with it.
"""

from __future__ import annotations

import json
import math
import os
import stat
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from unbraid.data.atomic import kind_of
from unbraid.errors import InputError, MissingError, UnreadableError

if TYPE_CHECKING:  # slow to import, and few need it
    from PIL import Image

Array = np.ndarray[Any, Any]

JSON_LIMIT = 64 << 20
"""Bytes of a JSON file."""
ARRAYS_LIMIT = 4_000_000_000
"""Bytes of the arrays of one file, unpacked; `UNBRAID_READ_LIMIT` is another number of bytes."""
MEMBERS_LIMIT = 1000
"""Arrays in one file."""
EMPTY_LIMIT = 10_000_000
"""Rows times columns of an array without elements, which takes no bytes whatever it declares."""
PIXELS_LIMIT = 80_000_000
"""Pixels of a picture."""
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""Pictures are decoded by Pillow itself: other formats, such as EPS, would start a program."""


@contextmanager
def opened(path: Path | str) -> Iterator[BufferedReader]:
    """A regular file, open for reading. A pipe or a device is an InputError: reading it might never end."""
    descriptor = _descriptor(path)
    try:
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


def read_bytes(path: Path | str, limit: int = JSON_LIMIT) -> bytes:
    """The contents of a regular file of at most `limit` bytes."""
    descriptor = _descriptor(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise InputError(f"{path} has {size:,} bytes; expected at most {limit:,}")
        content = b""
        while len(content) < size and (part := os.read(descriptor, size - len(content))):
            content += part
        return content
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _descriptor(path: Path | str) -> int:
    """Of a regular file, open for reading."""
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingError(f"{_short(path)} does not exist") from error
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise InputError(f"{path} cannot be read: it is {kind_of(mode)}, not a regular file")
    return descriptor


_READ = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)  # a pipe without a writer opens at once


def unreadable(path: Path | str, error: Exception) -> UnreadableError:
    """The error for a file that the system refuses to open or read."""
    reason = (error.strerror if isinstance(error, OSError) else None) or one_line(error)
    return UnreadableError(f"{_short(path)} cannot be read: {reason}")


def _short(path: Path | str) -> str:
    """A path as a message can hold it."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:140]}…{text[-140:]}"


def one_line(error: BaseException) -> str:
    """What an exception says, shortened to one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"


def parse_json(raw: bytes | str, path: Path | str) -> Any:
    """The value that JSON text holds; `path` names it in errors. Its strings can all be written again."""
    try:
        value = json.loads(raw)
        if b"\\ud" in (raw if isinstance(raw, bytes) else raw.encode()).lower():  # half of a pair, which is no text
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path} is damaged: {one_line(error)}") from error
    return value


def read_json(path: Path | str, limit: int = JSON_LIMIT) -> Any:
    """The value that a JSON file holds."""
    return parse_json(read_bytes(path, limit), path)


# Arrays


@dataclass(frozen=True)
class Declared:
    """What the header of an array says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """In bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


def arrays_limit() -> int:
    """Bytes of the arrays that one file may hold."""
    given = os.environ.get("UNBRAID_READ_LIMIT", "")
    return int(given) if given.isdecimal() else ARRAYS_LIMIT


def read_array(path: Path | str, what: str) -> Array:
    """The numbers in an .npy file; `what` names them in errors. Nothing is unpickled."""
    with opened(path) as file, _decoding(path, f"an .npy file of {what}"):
        if file.read(4) == b"PK\x03\x04":
            raise InputError(f"{path} holds several arrays; expected an .npy file of {what}")
        file.seek(0)
        declared = _header(file, path, what)
        if declared.dtype.kind in "US":
            raise InputError(f"{path} holds text; expected {what} as numbers")
        size = os.fstat(file.fileno()).st_size - file.tell()
        if size != declared.size:
            raise InputError(f"{path} has {size:,} bytes of numbers; its header says {declared}: {declared.size:,}")
        _check_size(path, declared.size)
        file.seek(0)
        return _native(np.lib.format.read_array(file, allow_pickle=False))


def read_arrays(
    path: Path | str,
    what: str,
    names: Collection[str] | None = None,
    check: Callable[[Mapping[str, Declared]], None] | None = None,
) -> dict[str, Array]:
    """The arrays of numbers or words in an .npz file, all or those of them in `names`. Nothing is unpickled.

    `what` names them in errors. `check` sees what all members declare before any of them is unpacked.
    """
    with opened(path) as file, _decoding(path, f"an .npz file of {what}"), zipfile.ZipFile(file) as archive:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        if len(members) < len(archive.infolist()) or len(members) > MEMBERS_LIMIT:
            raise InputError(f"{path} holds two arrays of one name, or more than {MEMBERS_LIMIT}")
        for name, member in members.items():
            if member.compress_type not in _PACKED:
                raise InputError(f"{path}: '{name}' is packed in another way than NumPy's; numpy.savez writes them")
        declared = {}
        for name, member in members.items():
            with archive.open(member) as reader:
                declared[name] = _header(reader, f"{path}: '{name}'", what)
                size = member.file_size - reader.tell()
            if size != declared[name].size:
                raise InputError(f"{path}: '{name}' has {size:,} bytes; its header says {declared[name]}")
        if check is not None:
            check(declared)
        chosen = [name for name in members if names is None or name in names]
        _check_size(path, sum(declared[name].size for name in chosen))
        arrays = {}
        for name in chosen:
            with archive.open(members[name]) as reader:
                arrays[name] = _native(np.lib.format.read_array(reader, allow_pickle=False))
        return arrays


_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # by others, 3 KB unpack to gigabytes before a byte can be read


@contextmanager
def _decoding(path: Path | str, what: str) -> Iterator[None]:
    """Foreign bytes make a decoder raise whatever it stumbles over: an InputError that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be read as {what}: {one_line(error)}") from error


def _header(file: Any, path: Path | str, what: str) -> Declared:
    """What the array that begins here says of itself."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers.get(version, readers[2, 0])(file)
    if dtype.hasobject:
        raise InputError(f"{path} holds Python objects, which are not read; expected {what} as numbers")
    if dtype.kind not in "biufUS" or (dtype.kind == "f" and dtype.itemsize > 8) or any(length < 0 for length in shape):
        raise InputError(f"{path} is {dtype} {shape}; expected {what} as numbers")
    if not dtype.itemsize or (0 in shape and math.prod(max(1, length) for length in shape) > EMPTY_LIMIT):
        raise InputError(f"{path} is {dtype} {shape}, which takes no bytes; expected {what} as numbers")
    return Declared(tuple(int(length) for length in shape), dtype)


def _native(array: Array) -> Array:
    """The array in this machine's order of bytes, as PyTorch takes it."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_size(path: Path | str, size: int) -> None:
    limit = arrays_limit()
    if size > limit:
        raise InputError(
            f"{path} holds {size / 1e9:.1f} GB of arrays, unpacked; at most {limit / 1e9:.1f} GB are read "
            "(to change this, set the environment variable UNBRAID_READ_LIMIT to a number of bytes)"
        )


# Pictures


@contextmanager
def picture(source: Path | IO[bytes], name: Path | str, formats: Collection[str] = FORMATS) -> Iterator[Image.Image]:
    """A picture, not yet decoded: only in these formats, and of at most `PIXELS_LIMIT` pixels; `name` is for errors.

    What Pillow and libtiff have to say of a damaged one is not printed in the block: either it can be decoded or not.
    """
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, Path):
        with opened(source) as file, picture(file, name, formats) as image:
            yield image
        return
    with _decoding(name, "a picture"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(source, formats=tuple(formats))
        except UnidentifiedImageError as error:
            raise InputError(f"{name} cannot be read as a picture: expected {', '.join(formats)}") from error
        except Image.DecompressionBombError as error:  # its own limit, which is higher
            raise InputError(f"{name} has too many pixels; expected at most {PIXELS_LIMIT:,}") from error
        with image, _no_stderr() if image.format == "TIFF" else nullcontext():
            if image.width * image.height > PIXELS_LIMIT:
                size = f"{image.width:,} x {image.height:,} pixels"
                raise InputError(f"{name} has {size}; expected at most {PIXELS_LIMIT:,} in all")
            yield image


@contextmanager
def _no_stderr() -> Iterator[None]:
    """Drop what is written to stderr below Python: libtiff has no other way to say what is wrong with a file."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
