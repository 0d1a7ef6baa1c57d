"""Pictures of your own, without factors: a folder of them, or an .npz."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Generator, Tensor

from unbraid.data.cache import Array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Index, Rng, check_resolution, digest
from unbraid.data.reading import picture, read_arrays
from unbraid.data.stored import square
from unbraid.errors import InputError
from unbraid.progress import progress

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
NAMES: tuple[str, ...] = ()
SIZES: tuple[int, ...] = ()


class Pictures(FactorData):
    """Pictures without factors. `files` names each row's file, `skipped` those that could not be read."""

    names, sizes = NAMES, SIZES

    def __init__(self, pixels: Tensor, files: Sequence[str], skipped: Sequence[str], source: str) -> None:
        """`pixels` is uint8 (n, C, H, W)."""
        self.files, self.skipped, self.source = tuple(files), tuple(skipped), source
        self.image_shape = (pixels.shape[1], pixels.shape[2], pixels.shape[3])
        self._pixels = pixels
        self.content = digest(pixels)

    def __len__(self) -> int:
        return len(self._pixels)

    def factors_at(self, index: Index) -> Tensor:
        return torch.empty(len(self.check_index(index)), 0, dtype=torch.int64)

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self._pixels[self.check_index(index)]

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self.images_at(self.sample_index(len(factors), rng))


def open_image_folder(resolution: int = 64, path: str | Path = "", channels: int = 3) -> Pictures:
    """The pictures below a folder, or in an .npz, each the largest centred square; `channels` is 1 (grey) or 3."""
    check_resolution(resolution)
    if str(channels) not in ("1", "3"):
        raise InputError(f"channels is {channels}; expected 1 or 3")
    if not str(path):
        raise InputError("image_folder needs the setting path: a folder of pictures or an .npz file")
    source = Path(path).expanduser()
    if source.is_dir():
        return _from_folder(source, resolution, int(channels))
    if not source.exists():
        raise InputError(f"{source} does not exist; expected a folder of pictures or an .npz file")
    if source.suffix.lower() != ".npz":
        raise InputError(f"{source} is neither a folder of pictures nor an .npz file")
    return _from_npz(source, resolution, int(channels))


def read_picture(source: Path | IO[bytes], resolution: int, channels: int, name: str) -> Array:
    """uint8 (resolution, resolution, channels), upright as its EXIF says, on white where it is transparent."""
    with picture(source, name) as image:
        return _pixels_of(ImageOps.exif_transpose(image), resolution, channels)


def _pixels_of(picture: Image.Image, resolution: int, channels: int) -> Array:
    if picture.mode.startswith("I"):  # 16 bits a pixel, which Pillow would clip
        picture = Image.fromarray((np.asarray(picture).clip(0, 65535) // 257).astype(np.uint8))
    if "A" in picture.getbands() or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    fitted = square(picture.convert("L" if channels == 1 else "RGB"), resolution)
    return fitted.reshape(resolution, resolution, channels)


def _from_folder(folder: Path, resolution: int, channels: int) -> Pictures:
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    if not names:
        raise InputError(f"{folder} holds no pictures; expected {', '.join(SUFFIXES)}")
    pixels = torch.empty(len(names), channels, resolution, resolution, dtype=torch.uint8)
    read: list[str] = []
    skipped: list[str] = []
    with progress(f"reading {folder.name}", len(names)) as advance:
        for name in names:
            try:
                image = read_picture(folder / name, resolution, channels, name)
            except InputError:
                skipped.append(name)
            else:
                pixels[len(read)] = torch.from_numpy(image.copy()).permute(2, 0, 1)
                read.append(name)
            advance()
    if skipped:
        some = ", ".join(skipped[:5]) + (", …" if len(skipped) > 5 else "")
        message = f"{len(skipped)} of {len(names)} pictures could not be read and were skipped: {some}"
        if not read:
            raise InputError(f"{folder}: {message}")
        warnings.warn(message, stacklevel=3)
    return Pictures(pixels[: len(read)], read, skipped, f"pictures in {folder.name}")


def _from_npz(path: Path, resolution: int, channels: int) -> Pictures:
    images = as_bytes(path, _array(path))
    pixels = torch.empty(len(images), channels, resolution, resolution, dtype=torch.uint8)
    with progress(f"reading {path.name}", len(images)) as advance:
        for row, image in enumerate(images):
            fitted = _pixels_of(Image.fromarray(image), resolution, channels)
            pixels[row] = torch.from_numpy(fitted.copy()).permute(2, 0, 1)
            advance()
    return Pictures(pixels, [str(row) for row in range(len(images))], (), f"pictures in {path.name}")


def _array(path: Path) -> Array:
    """The member `images`, or the only one there is. Nothing is unpickled."""

    def check(members: Collection[str]) -> None:
        if "images" not in members and len(members) != 1:
            raise InputError(f"{path} holds {', '.join(members) or 'nothing'}; expected an array called 'images'")

    arrays = read_arrays(path, "pictures", check=check)
    return arrays["images"] if "images" in arrays else next(iter(arrays.values()))


def as_bytes(path: Path, array: Array) -> Array:
    """uint8 (n, H, W) or (n, H, W, C) from other layouts: channels first or last, bytes or floats in [0, 1]."""
    expected = "expected uint8, or floats in [0, 1], of shape (n, H, W), (n, H, W, C) or (n, C, H, W) with C 1, 3 or 4"
    colours = (1, 3, 4)
    if array.ndim == 4 and array.shape[3] not in colours and array.shape[1] in colours:
        array = array.transpose(0, 2, 3, 1)
    shaped = array.ndim == 3 or (array.ndim == 4 and array.shape[3] in colours)
    if not shaped or array.size == 0:
        raise InputError(f"{path}: images are {array.dtype} {array.shape}; {expected}")
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            raise InputError(f"{path}: images are floats from {array.min():g} to {array.max():g}; {expected}")
        array = (array * 255).round().astype(np.uint8)
    elif array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype != np.uint8:
        raise InputError(f"{path}: images are {array.dtype}; {expected}")
    return np.ascontiguousarray(array[..., 0] if array.ndim == 4 and array.shape[3] == 1 else array)


DECLARED = DataSet(
    "image_folder", NAMES, SIZES, "your own folder or .npz of pictures: path=…", open_image_folder, embedded=True,
    user_files={"path": ()},
)  # fmt: skip
