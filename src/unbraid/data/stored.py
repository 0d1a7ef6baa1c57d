"""What loaders of official files share: arrays too large for memory, resizing, and a grid of images read from disk."""

from __future__ import annotations

import io
import math
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Generator, Tensor

from unbraid.data.atomic import replacing
from unbraid.data.cache import Array
from unbraid.data.factors import FactorData, Index, Rng
from unbraid.data.files import RemoteFile, checked, needed, room_for
from unbraid.errors import InputError, nearest
from unbraid.progress import progress

_BLOCK = 1 << 22  # bytes unpacked at a time


class Pixels(Protocol):
    """uint8 (n, H, W) or (n, H, W, C) that gives rows by sorted index: a memory map, an HDF5 data set."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class StoredGrid(FactorData):
    """A full grid of stored images, the last factor fastest. Rows are read in the order they have on disk."""

    def __init__(
        self,
        pixels: Pixels,
        names: Sequence[str],
        sizes: Sequence[int],
        *,
        resolution: int,
        source: str,
        binary: bool = False,
    ) -> None:
        """`binary` says that the stored values are 0 and 1, not 0 and 255."""
        self.names, self.sizes, self.source = tuple(names), tuple(sizes), source
        self.image_shape = (1 if len(pixels.shape) == 3 else pixels.shape[3], resolution, resolution)
        self._pixels, self._binary = pixels, binary

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self._read(self.check_index(index))

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self._read(self.to_grid(factors))

    def _read(self, rows: Tensor) -> Tensor:
        if not len(rows):
            return torch.empty(0, *self.image_shape, dtype=torch.uint8)
        ordered, index = np.unique(rows.numpy(), return_inverse=True)
        images: Array = np.asarray(self._pixels[ordered])
        if self._binary:
            images = np.where(images != 0, np.uint8(255), np.uint8(0))
        return torch.from_numpy(fit(images, self.image_shape[1])[index]).permute(0, 3, 1, 2).contiguous()


def check_split(data: str, split: str, known: Iterable[str]) -> None:
    if split not in known:
        raise InputError(f"{data} has no split '{split}'{nearest(split, known)}")


def fit(images: Array, resolution: int) -> Array:
    """uint8 (n, H, W) or (n, H, W, C) -> (n, resolution, resolution, C), antialiased. Square images stay whole."""
    images = images[..., None] if images.ndim == 3 else images
    if images.shape[1:3] == (resolution, resolution):
        return images
    flat = images[..., 0] if images.shape[3] == 1 else images
    fitted = [square(Image.fromarray(image), resolution) for image in flat]
    return np.stack(fitted).reshape(len(images), resolution, resolution, images.shape[3])


def square(picture: Image.Image, resolution: int) -> Array:
    """The largest centred square of a picture at this resolution."""
    return np.asarray(ImageOps.fit(picture, (resolution, resolution), Image.Resampling.LANCZOS))


def planes(images: Array, resolution: int) -> Array:
    """As `fit`, but (n, C, resolution, resolution): the order in which images leave a data set."""
    return np.ascontiguousarray(fit(images, resolution).transpose(0, 3, 1, 2))


def as_tensor(array: Array) -> Tensor:
    """A memory-mapped array as a tensor on the same memory, which is only ever read."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)


def tar_members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file in a .tar.gz whose name matches, read in place: nothing is extracted to disk."""
    bar = progress(f"reading {path.name}", path.stat().st_size, unit="bytes")
    with _archive(path) as (archive, position), bar as advance:
        last = 0
        for member in archive:
            advance(position() - last)
            last = position()
            if member.isfile() and fnmatch(member.name, pattern):
                reader = archive.extractfile(member)
                assert reader is not None  # it is a file
                yield member.name, reader.read()


def tar_blocks(path: Path, pattern: str, size: int) -> Iterator[bytes]:
    """The first file in a .tar.gz whose name matches, `size` bytes at a time."""
    with _archive(path) as (archive, _):
        for member in archive:
            if member.isfile() and fnmatch(member.name, pattern):
                reader = archive.extractfile(member)
                assert reader is not None  # it is a file
                while block := reader.read(size):
                    yield block
                return
    raise InputError(f"{path} holds no {pattern.strip('*')}; it is not the published file")


@contextmanager
def _archive(path: Path) -> Iterator[tuple[tarfile.TarFile, Callable[[], int]]]:
    """A .tar.gz and how far into it reading has come."""
    try:
        with path.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:gz") as archive:
            yield archive, raw.tell
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not a .tar.gz file: {error}") from error


def mat_array(where: str, contents: bytes, name: str) -> Array:
    """The numbers called `name` in a MATLAB file; `where` names it in errors."""
    from scipy.io import loadmat  # slow to import, and few need it

    try:
        array = loadmat(io.BytesIO(contents), variable_names=[name]).get(name)
    except Exception as error:  # on foreign bytes the parser raises whatever it stumbles over
        raise InputError(f"{where} is damaged or not a MATLAB file: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "uif":
        raise InputError(f"{where} has no numbers called '{name}'; it is not the published file")
    return array


def npz_member(data: str, file: RemoteFile, member: str, shape: tuple[int, ...]) -> Array:
    """A large uint8 array out of a stored .npz, memory-mapped. No other member is touched: some hold a pickle."""
    path = needed(data, (file,))[0]
    return unpacked(path, member, shape, lambda: _npz_blocks(checked(data, file), member, shape))


def unpacked(packed: Path, member: str, shape: tuple[int, ...], blocks: Callable[[], Iterable[bytes]]) -> Array:
    """A uint8 array that `packed` holds compressed, memory-mapped. `blocks` yields its bytes in C order.

    The first time they are written to a .npy beside `packed`, under a temporary name until it is whole.
    """
    target = packed.with_name(f"{packed.stem}.{member}.npy")
    array = _mapped(target, shape, packed)
    if array is None:
        _unpack(target, shape, blocks())
        array = _mapped(target, shape, packed)
    if array is None:
        raise InputError(f"{target} does not read back as it was written; is the disk sound?")
    return array


def _npz_blocks(path: Path, member: str, shape: tuple[int, ...]) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as reader:
            version = np.lib.format.read_magic(reader)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            stored_shape, fortran_order, dtype = read(reader)
            if stored_shape != shape or dtype != np.uint8 or fortran_order:
                raise InputError(f"{path}: '{member}' is {dtype} {stored_shape}; expected uint8 {shape}")
            while block := reader.read(_BLOCK):
                yield block
    except KeyError as error:
        raise InputError(f"{path} has no member '{member}'; it is not the published file") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged or not an .npz file: {error}") from error


def _unpack(target: Path, shape: tuple[int, ...], blocks: Iterable[bytes]) -> None:
    size = math.prod(shape)
    room_for(size, target)
    try:
        bar = progress(f"unpacking {target.stem}", size, unit="bytes")
        with replacing(target) as part, part.open("wb") as writer, bar as advance:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(writer, header)
            written = 0
            for block in blocks:
                writer.write(block)
                written += len(block)
                advance(len(block))
            if written != size:
                raise InputError(f"{target.stem} holds {written:,} bytes; expected {size:,}")
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot unpack {target.name} ({size / 1e6:,.0f} MB) in {target.parent}: {reason}") from error


def _mapped(path: Path, shape: tuple[int, ...], packed: Path) -> Array | None:
    """The unpacked array, or None where it is absent, incomplete or older than what it was unpacked from."""
    try:
        if path.stat().st_mtime_ns < packed.stat().st_mtime_ns:
            return None
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == np.uint8 else None
