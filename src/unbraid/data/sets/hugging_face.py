"""Data sets of Hugging Face with images and labels (extra `[datasets]`)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from unbraid.data.array_data import ArrayData
from unbraid.data.declaration import DataSet
from unbraid.data.factors import check_resolution
from unbraid.data.labels import read_types
from unbraid.data.reading import picture
from unbraid.data.sets.image_folder import pixels_of
from unbraid.errors import InputError, nearest
from unbraid.progress import progress


def from_dataset(
    dataset: Any,
    image: str = "image",
    factors: Sequence[str] = (),
    *,
    resolution: int = 64,
    channels: int = 3,
    types: Mapping[str, str] | None = None,
    source: str = "a Hugging Face data set",
) -> ArrayData:
    """The images and labels of a `datasets.Dataset`, each image the largest centred square.

    `image` is the column of images. `factors` are the columns of labels, by default all that hold class labels, numbers
    or booleans. A class label of -1 is missing.
    """
    check_resolution(resolution)
    if str(channels) not in ("1", "3"):
        raise InputError(f"channels is {channels}; expected 1 or 3")
    columns = list(dataset.features)
    for name in (image, *factors):
        if name not in columns:
            raise InputError(f"the data set has no column '{name}'{nearest(name, columns)}")
    chosen = list(factors) or [name for name in columns if name != image and _is_label(dataset.features[name])]
    if not chosen:
        raise InputError(f"no column of the data set holds labels; name some of {', '.join(columns)} as factors")
    labels = {name: _labels(dataset.features[name], dataset[name]) for name in chosen}
    pixels = torch.empty(len(dataset), channels, resolution, resolution, dtype=torch.uint8)
    with progress("reading images", len(dataset)) as advance:
        for row, cell in enumerate(dataset[image]):
            fitted = pixels_of(_picture(cell, row), resolution, channels)
            pixels[row] = torch.from_numpy(fitted.copy()).permute(2, 0, 1)
            advance()
    return ArrayData(pixels, labels, types=types, source=source)


def _is_label(feature: Any) -> bool:
    dtype = str(getattr(feature, "dtype", ""))
    return hasattr(feature, "names") or dtype.startswith(("int", "uint", "float", "bool"))


def _labels(feature: Any, column: Any) -> Any:
    """Class labels by their names, so that they are classes; other columns as they are."""
    cells = list(column)
    if not hasattr(feature, "names"):
        return np.array(cells, dtype=object) if any(cell is None for cell in cells) else np.asarray(cells)
    return np.array([None if cell is None or cell < 0 else feature.names[cell] for cell in cells], dtype=object)


def _picture(cell: Any, row: int) -> Image.Image:
    if isinstance(cell, Image.Image):
        return ImageOps.exif_transpose(cell)
    if isinstance(cell, Mapping) and cell.get("bytes"):  # not decoded
        with picture(io.BytesIO(cell["bytes"]), f"image {row}") as opened:
            return ImageOps.exif_transpose(opened)
    array = np.asarray(cell)
    if array.dtype == np.uint8 and array.ndim in (2, 3):
        return Image.fromarray(array)
    raise InputError(f"image {row} is a {type(cell).__name__}; expected a picture")


def open_hugging_face(
    resolution: int = 64,
    hub: str = "",
    path: str | Path = "",
    split: str = "train",
    image: str = "image",
    factors: str = "",
    channels: int = 3,
    types: str = "",
) -> ArrayData:
    """A data set by its name on the `hub`, or one that `save_to_disk` wrote to `path`."""
    if bool(hub) == bool(str(path)):
        raise InputError("hugging_face needs one of the settings hub (a name there) and path (a folder)")
    try:
        import datasets
    except ImportError as error:
        raise InputError("hugging_face needs datasets; pip install 'unbraid[datasets]' brings it") from error
    try:
        loaded = datasets.load_dataset(hub, split=split) if hub else datasets.load_from_disk(str(path))
    except Exception as error:  # the library raises exceptions of many types
        raise InputError(f"{hub or path} cannot be opened: {' '.join(str(error).split())}") from error
    if isinstance(loaded, Mapping):  # several splits
        if split not in loaded:
            raise InputError(f"{path} has no split '{split}'{nearest(split, loaded)}")
        loaded = loaded[split]
    chosen = [column.strip() for column in factors.split(",")] if factors else []
    source = f"{hub or Path(path).name} of Hugging Face"
    return from_dataset(
        loaded, image, chosen, resolution=resolution, channels=int(channels), types=read_types(types), source=source
    )


DECLARED = DataSet(
    "hugging_face", (), (), "images and labels of a Hugging Face data set: hub=…", open_hugging_face, embedded=True,
    user_files={"path": ()},
)  # fmt: skip
