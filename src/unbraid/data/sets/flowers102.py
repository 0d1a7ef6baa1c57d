"""Oxford Flowers 102 (Nilsback & Zisserman 2008): photographs of 102 kinds of flower."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
import torch

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Rows, check_resolution
from unbraid.data.files import RemoteFile, checked, needed
from unbraid.data.sets.image_folder import read_picture
from unbraid.data.stored import as_tensor, check_split, mat_array, tar_members
from unbraid.errors import InputError

NAMES = ("class",)
SIZES = (102,)


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    url = f"https://www.robots.ox.ac.uk/~vgg/data/flowers/102/{name}"
    return RemoteFile(f"flowers102/{name}", (url,), sha256=sha256, size=size)


FILES = (
    _file("102flowers.tgz", 344_862_509, "2d01ecc807db462958cfe3d92f57a8c252b4abd240eb955770201e45f783b246"),
    _file("imagelabels.mat", 502, "4903e94206bac23bf772aadf06451916df56b58fc483a62db32a97b82656651d"),
    _file("setid.mat", 14_989, "46b8678f91fd95d3c8f4feab80d271a6c834a1dd896fe29fd3e6ad9ce5c8dccd"),
)
SPLITS = {"all": "", "train": "trnid", "valid": "valid", "test": "tstid"}  # and the name of each in setid.mat


def open_flowers102(resolution: int = 64, split: str = "all") -> FactorData:
    """All 8,189 photographs or one of the published splits, each the largest centred square."""
    check_resolution(resolution)
    check_split("flowers102", split, SPLITS)
    needed("flowers102", FILES)
    labels = _numbers(FILES[1], "labels")
    shape = (len(labels), 3, resolution, resolution)
    pixels = drawn_array(f"flowers102_{resolution}", shape, np.uint8, lambda: _photographs(len(labels), resolution))
    images, factors = as_tensor(pixels), torch.from_numpy(labels)[:, None]
    if split != "all":
        rows = torch.from_numpy(_numbers(FILES[2], SPLITS[split]))
        if len(rows) and int(rows.max()) >= len(labels):
            raise InputError(f"{FILES[2].base} names image {int(rows.max()) + 1}; there are {len(labels)}")
        images, factors = images[rows], factors[rows]
    return Rows(images, factors, NAMES, SIZES, source="the published files")


def _numbers(file: RemoteFile, name: str) -> Array:
    """A row of numbers that count from 1, as int64 that count from 0."""
    path = checked("flowers102", file)
    numbers = mat_array(str(path), path.read_bytes(), name)
    return numbers.reshape(-1).astype(np.int64) - 1


def _photographs(count: int, resolution: int) -> Iterator[Array]:
    """uint8 (count, 3, resolution, resolution): image_00001.jpg is the first, whatever its position in the archive."""
    path = checked("flowers102", FILES[0])
    images = np.empty((count, resolution, resolution, 3), np.uint8)
    read = set()
    for name, contents in tar_members(path, "*image_*.jpg"):
        number = re.search(r"image_(\d+)\.jpg$", name)
        row = int(number[1]) - 1 if number else -1
        if not 0 <= row < count:
            raise InputError(f"{path} holds {name}; expected image_00001.jpg to image_{count:05d}.jpg")
        images[row] = read_picture(io.BytesIO(contents), resolution, 3, f"{path}: {name}")
        read.add(row)
    if len(read) != count:
        raise InputError(f"{path} holds {len(read)} images; expected {count}")
    yield images.transpose(0, 3, 1, 2)


DECLARED = DataSet("flowers102", NAMES, SIZES, "Oxford Flowers' files", open_flowers102, FILES, count=8_189)
