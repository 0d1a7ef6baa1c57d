"""Pictures of your own, with or without factors: a folder of them, or an .npz."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Generator, Tensor
from torch.nn.functional import interpolate

from unbraid.data.array_data import ArrayData, as_bytes
from unbraid.data.cache import Array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Index, Rng, check_resolution, digest
from unbraid.data.labels import as_labels, read_types
from unbraid.data.reading import picture, read_arrays
from unbraid.data.stored import square
from unbraid.data.tables import read_table
from unbraid.errors import InputError, printable
from unbraid.progress import progress

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
NAMES: tuple[str, ...] = ()
SIZES: tuple[int, ...] = ()


class Pictures(FactorData):
    """Pictures without factors. `files` names each row's file, `skipped` those that could not be read.

    `reasons` says why, by their names; `notes` has what else there is to say about how they were read.
    """

    names, sizes = NAMES, SIZES

    def __init__(
        self,
        pixels: Tensor,
        files: Sequence[str],
        reasons: Mapping[str, str],
        source: str,
        notes: Sequence[str] = (),
        folder: Path | None = None,
        white: Mapping[str, float] | None = None,
    ) -> None:
        """`pixels` is uint8 (n, C, H, W). `folder` holds the files, `white` as in `read_picture` for some of them."""
        self.files, self.skipped, self.source = tuple(files), tuple(reasons), source
        self.reasons, self.notes = dict(reasons), tuple(notes)
        self._folder, self._white = folder, dict(white or {})
        self.image_shape = (pixels.shape[1], pixels.shape[2], pixels.shape[3])
        self._pixels = pixels
        self.content = digest(pixels)

    def __len__(self) -> int:
        return len(self._pixels)

    def factors_at(self, index: Index) -> Tensor:
        return torch.empty(len(self.check_index(index)), 0, dtype=torch.int64)

    def images_at(self, index: Index, rng: Rng = None) -> Tensor:
        return self._pixels[self.check_index(index)]

    def shown_at(self, index: Index, side: int) -> Tensor:
        """The pictures of these rows for people: read again from their files at this side, if it is a larger one.

        As they are in `images_at` where one of the files is gone, or there are none.
        """
        rows, channels = self.check_index(index), self.image_shape[0]
        if self._folder is None or side <= self.image_shape[1] or not len(rows):
            return self.images_at(rows)
        names = [self.files[row] for row in rows.tolist()]
        try:
            read = [read_picture(self._folder / name, side, channels, name, self._white.get(name)) for name in names]
        except InputError:
            return self.images_at(rows)
        return torch.from_numpy(np.stack(read)).permute(0, 3, 1, 2)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return self.images_at(self.sample_index(len(factors), rng))


def open_image_folder(
    resolution: int = 64, path: str | Path = "", channels: int = 0, factors: str | Path = "", types: str = ""
) -> Pictures | ArrayData:
    """The pictures below a folder, or in an .npz, each the largest centred square.

    `channels` is 1 (grey), 3, or 0 for 1 where all pictures are grey and 3 otherwise. Pictures of more than 8 bits are
    scaled by the number of bits that they use, floats by 1 or 255.

    They have factors if `factors` is a .csv or .parquet file whose first column names the pictures (by path below the
    folder, file name, or file name without its ending) and whose other columns are labels, or if the .npz holds
    `factors` (n, k) and perhaps their `names`. Labels may be missing. `types` says how to read some of them:
    `shape=classes,angle=continuous`.
    """
    check_resolution(resolution)
    if str(channels) not in ("0", "1", "3"):
        raise InputError(f"channels is {channels}; expected 1, 3, or 0 for what the pictures have")
    if not str(path):
        raise InputError("image_folder needs the setting path: a folder of pictures or an .npz file")
    source = Path(path).expanduser()
    if source.is_dir():
        pictures = _from_folder(source, resolution, int(channels))
        labels = labels_of(Path(factors).expanduser(), pictures.files) if str(factors) else None
    elif not source.exists():
        raise InputError(f"{source} does not exist; expected a folder of pictures or an .npz file")
    elif source.suffix.lower() != ".npz":
        raise InputError(f"{source} is neither a folder of pictures nor an .npz file")
    else:
        if str(factors):
            raise InputError(f"factors is for a folder of pictures; {source.name} holds its own as an array 'factors'")
        pictures, labels = _from_npz(source, resolution, int(channels))
    if labels is None:
        if types:
            raise InputError("types is for pictures with factors; expected the setting factors as well")
        return pictures
    return ArrayData(
        pictures.images_at(range(len(pictures))),
        labels,
        types=read_types(types),
        source=pictures.source,
        files=pictures.files,
        skipped=pictures.skipped,
    )


def labels_of(path: Path, files: Sequence[str]) -> dict[str, Any]:
    """The labels of each picture, by the name of the factor: rows of a table, joined by its first column."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"factors is '{path}'; expected a .csv or .parquet file")
    table = read_table(path, {0: str})
    if table.shape[1] < 2:
        raise InputError(
            f"{path.name} has {table.shape[1]} column; expected the names of pictures and then their labels"
        )
    keys = [str(key).strip().replace("\\", "/").removeprefix("./") for key in table.iloc[:, 0]]
    twice = next((key for key, count in Counter(keys).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"{path.name} names the picture '{twice}' twice; expected one row for each")
    row_of = {key: row for row, key in enumerate(keys)}
    rows = max((_rows(row_of, [name(file) for file in files]) for name in _NAMES), key=lambda rows: (rows >= 0).sum())
    matched = int((rows >= 0).sum())
    if not matched:
        example = f"its first column has '{keys[0]}', a picture is '{files[0]}'"
        raise InputError(f"no picture is in {path.name}: {example}")
    for count, what in ((len(files) - matched, "pictures have no row"), (len(keys) - matched, "rows have no picture")):
        if count:
            warnings.warn(f"{path.name}: {count:,} {what}", stacklevel=4)
    joined = table.iloc[:, 1:].reset_index(drop=True).reindex(rows)  # a row of missing labels for row -1
    return {name: joined[name].reset_index(drop=True) for name in joined.columns}


# How a table may name a picture: by its path below the folder, its file name, or either without the ending.
_NAMES: tuple[Callable[[str], str], ...] = (
    str,
    lambda file: file.rpartition("/")[2],
    lambda file: file.rpartition(".")[0],
    lambda file: file.rpartition("/")[2].rpartition(".")[0],
)


def _rows(row_of: Mapping[str, int], names: Sequence[str]) -> Array:
    """The row of each name, or -1; a name that several pictures have names none of them."""
    counts = Counter(names)
    return np.array([row_of.get(name, -1) if counts[name] == 1 else -1 for name in names])


def read_picture(
    source: Path | IO[bytes], resolution: int, channels: int, name: str, largest: float | None = None
) -> Array:
    """uint8 (resolution, resolution, channels), upright as its EXIF says, on white where it is transparent.

    `largest` is the value that is white in pictures of more than 8 bits, by default that of this one.
    """
    with picture(source, name) as image:
        return pixels_of(ImageOps.exif_transpose(image), resolution, channels, largest)


def pixels_of(picture: Image.Image, resolution: int, channels: int, largest: float | None = None) -> Array:
    """uint8 (resolution, resolution, channels): the largest centred square, on white where it is transparent."""
    if _deep(picture):
        values = np.nan_to_num(np.asarray(picture, dtype=np.float64), posinf=0, neginf=0)
        white = _white(float(values.max(initial=0)), picture.mode == "F") if largest is None else largest
        picture = Image.fromarray((values.clip(0, white) / white * 255).round().astype(np.uint8))
    if "A" in picture.getbands() or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    fitted = square(picture.convert("L" if channels == 1 else "RGB"), resolution)
    return fitted.reshape(resolution, resolution, channels)


def lost_detail(paths: Sequence[Path], resolution: int) -> float:
    """The share of what differs between pictures of twice this side that is lost at this side; 0 of small ones."""
    fine, coarse = [], []
    for path in paths:
        with suppress(InputError), picture(path, path.name) as image:
            upright = ImageOps.exif_transpose(image)
            if min(upright.size) >= 2 * resolution:
                fine.append(pixels_of(upright, 2 * resolution, 3).astype(float))
                coarse.append(pixels_of(upright, resolution, 3).astype(float))
    if len(fine) < 2:
        return 0.0
    exact = torch.from_numpy(np.stack(fine)).permute(0, 3, 1, 2)
    enlarged = interpolate(torch.from_numpy(np.stack(coarse)).permute(0, 3, 1, 2), scale_factor=2, mode="bilinear")
    lost = exact - enlarged  # of which some may be in every picture, as a background is
    total, missing = (float((part - part.mean(0)).square().sum()) for part in (exact, lost))
    return missing / total if total else 0.0


def _deep(picture: Image.Image) -> bool:
    """Whether it has more than 8 bits a pixel, which Pillow would clip."""
    return picture.mode == "F" or picture.mode.startswith("I")


def _white(largest: float, floats: bool) -> float:
    """The value that is white where `largest` occurs: 1, 255 or the largest of floats, else that of the bits in use."""
    if floats:
        return 1.0 if largest <= 1 else max(255.0, largest)
    return float(next((2**bits - 1 for bits in DEPTHS if largest < 2**bits), largest))


DEPTHS = (8, 10, 12, 14, 16)  # bits that cameras and scanners have


def _from_folder(folder: Path, resolution: int, channels: int) -> Pictures:
    names, reasons = _listed(folder)
    if not names and not reasons:
        raise InputError(f"{folder} holds no pictures; expected {', '.join(SUFFIXES)}")
    white, notes = _survey(folder, names, resolution)
    pixels = torch.empty(len(names), channels or 3, resolution, resolution, dtype=torch.uint8)
    read: list[str] = []
    with progress(f"reading {folder.name}", len(names)) as advance:
        for name in names:
            try:
                image = read_picture(folder / name, resolution, channels or 3, name, white.get(name))
            except InputError as error:
                reasons[name] = str(error).removeprefix(f"{name} ")
            else:
                pixels[len(read)] = torch.from_numpy(image.copy()).permute(2, 0, 1)
                read.append(name)
            advance()
    if reasons:
        some = ", ".join(list(reasons)[:5]) + (", …" if len(reasons) > 5 else "")
        total = len(read) + len(reasons)
        message = f"{len(reasons)} of {total} pictures could not be read and were skipped: {some}"
        if not read:
            raise InputError(f"{folder}: {message}")
        warnings.warn(message, stacklevel=3)
    pixels = pixels[: len(read)]
    grey = not channels and bool((pixels == pixels[:, :1]).all())
    pixels = pixels[:, :1].clone() if grey else pixels
    return Pictures(pixels, read, reasons, f"pictures in {folder.name}", notes, folder, white)


def _listed(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The names of the pictures below a folder, and of what cannot be opened, with the reason."""
    names: list[str] = []
    reasons: dict[str, str] = {}

    def unreadable(error: OSError) -> None:
        inner = Path(error.filename)
        reasons[f"{inner.relative_to(folder).as_posix()}/"] = error.strerror or str(error)

    for root, folders, files in os.walk(folder, onerror=unreadable):
        here = Path(root)
        folders[:] = [inner for inner in folders if not inner.startswith(".")]
        for inner in folders:
            if (here / inner).is_symlink():
                reasons[f"{(here / inner).relative_to(folder).as_posix()}/"] = "is a link to a folder"
        for file in files:
            path = here / file
            if path.suffix.lower() not in SUFFIXES or file.startswith("."):
                continue
            name = path.relative_to(folder).as_posix()
            if name != name.encode(errors="replace").decode():
                reasons[printable(name)] = "its name is not text in UTF-8, which no table could hold"
            elif path.is_file():
                names.append(name)
            else:
                reasons[name] = "is a link to nothing" if path.is_symlink() else "is not a regular file"
    return sorted(names), dict(sorted(reasons.items()))


def _survey(folder: Path, names: Sequence[str], resolution: int) -> tuple[dict[str, float], list[str]]:
    """The value that is white in the pictures of more than 8 bits, the same for all; and what there is to say of all.

    That is their sizes where they differ or are small, how deep pictures are scaled, and that of animated ones only the
    first frame counts.
    """
    largest: dict[bool, float] = {}
    deep: dict[str, bool] = {}
    sizes: Counter[tuple[int, int]] = Counter()
    animated = 0
    for name in names:
        with suppress(InputError), picture(folder / name, name) as image:
            sizes[image.size] += 1
            animated += bool(getattr(image, "is_animated", False))
            if _deep(image):
                floats = image.mode == "F"
                values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0, neginf=0)
                largest[floats] = max(largest.get(floats, 0.0), float(values.max(initial=0)))
                deep[name] = floats  # now that it could be decoded
    white = {floats: _white(value, floats) for floats, value in largest.items()}
    counts = Counter(deep.values())
    words = {True: "floats", False: "more than 8 bits"}
    notes = [
        f"{counts[floats]:,} pictures of {words[floats]} have values up to {largest[floats]:g}: {value:g} is white"
        for floats, value in white.items()
    ]
    if len(sizes) > 1:
        least, most = (key(sizes, key=lambda size: size[0] * size[1]) for key in (min, max))
        notes.append(f"their sizes go from {least[0]} x {least[1]} to {most[0]} x {most[1]} pixels")
    small = sum(count for size, count in sizes.items() if min(size) < resolution)
    if small:
        notes.append(f"smaller than {resolution} pixels, and enlarged: {small:,} of them")
    if animated:
        notes.append(f"animated, of which the first frame counts: {animated:,} of them")
    return {name: white[floats] for name, floats in deep.items()}, notes


def _from_npz(path: Path, resolution: int, channels: int) -> tuple[Pictures, Any]:
    """The pictures of an .npz, and its labels if it has some."""
    arrays = _arrays(path)
    images = as_bytes(str(path), arrays["images"] if "images" in arrays else next(iter(arrays.values())))
    channels = channels or (1 if images.ndim == 3 else 3)
    pixels = torch.empty(len(images), channels, resolution, resolution, dtype=torch.uint8)
    with progress(f"reading {path.name}", len(images)) as advance:
        for row, image in enumerate(images):
            fitted = pixels_of(Image.fromarray(image), resolution, channels)
            pixels[row] = torch.from_numpy(fitted.copy()).permute(2, 0, 1)
            advance()
    pictures = Pictures(pixels, [str(row) for row in range(len(images))], {}, f"pictures in {path.name}")
    if "images" not in arrays or "factors" not in arrays:
        return pictures, None
    factors, names = arrays["factors"], None
    if "names" in arrays:
        listed, count = np.atleast_1d(arrays["names"]), factors.shape[1] if factors.ndim == 2 else 1
        if listed.shape != (count,):
            raise InputError(f"{path} holds {listed.size:,} names for {count} factors; expected one per factor")
        names = [str(name) for name in listed]
    return pictures, as_labels(factors, names)


def _arrays(path: Path) -> dict[str, Array]:
    """The member `images`, or the only one there is, with `factors` and `names`. Nothing is unpickled."""

    def check(members: Collection[str]) -> None:
        if "images" not in members and len(members) != 1:
            raise InputError(f"{path} holds {', '.join(members) or 'nothing'}; expected an array called 'images'")

    return read_arrays(path, "pictures", check=check)


DECLARED = DataSet(
    "image_folder", NAMES, SIZES, "your own folder or .npz of pictures: path=…, with labels: factors=…",
    open_image_folder, embedded=True, user_files={"path": (), "factors": ()},
)  # fmt: skip
