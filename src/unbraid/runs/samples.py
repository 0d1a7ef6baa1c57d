"""Some pictures of a run's data, kept with it: they can be shown where the folder they come from is gone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from unbraid.data import FactorData
from unbraid.data.atomic import replacing
from unbraid.data.reading import Declared, read_arrays
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.runs.folder import unlinked

COUNT, LIMIT = 48, 10_000  # how many are kept, and read


def path(folder: Path) -> Path:
    """The file of a run's folder that holds them."""
    return unlinked(folder / "samples.npz")


def write(folder: Path, data: FactorData) -> None:
    """Keep random pictures of the data, always the same ones, in the order of their rows."""
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
    rows = order[:COUNT].sort().values
    names = np.array([data.files[row] for row in rows.tolist()])
    with replacing(path(folder)) as part, part.open("wb") as file:
        np.savez_compressed(file, images=data.images_at(rows).numpy(), files=names)


def read(folder: Path) -> Pictures | None:
    """The pictures that are kept in a run's folder; None where there are none."""
    file = path(folder)
    if not file.exists():
        return None
    arrays = read_arrays(file, "pictures", check=lambda declared: _check(file, declared))
    images = torch.from_numpy(arrays["images"])
    return Pictures(images, [str(name) for name in arrays["files"]], {}, "pictures kept with the run")


def _check(file: Path, declared: Mapping[str, Declared]) -> None:
    if not {"images", "files"} <= declared.keys():
        raise InputError(f"{file} holds {', '.join(declared) or 'nothing'}; expected 'images' and 'files'")
    images, files = declared["images"], declared["files"]
    if images.dtype != np.uint8 or len(images.shape) != 4 or not images.size or images.shape[1] not in (1, 3):
        raise InputError(f"{file}: images are {images}; expected uint8 (n, C, H, W) of one or three channels")
    if images.shape[0] > LIMIT:
        raise InputError(f"{file} holds {images.shape[0]:,} images; expected at most {LIMIT:,}")
    if files.shape != images.shape[:1] or files.dtype.kind != "U":
        raise InputError(f"{file}: files are {files}; expected the name of each of {images.shape[0]} images")
