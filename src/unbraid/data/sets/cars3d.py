"""Cars3D (Reed et al. 2015): 183 car models seen from 24 sides and 4 heights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution
from unbraid.data.files import RemoteFile, checked, needed
from unbraid.data.stored import StoredGrid, fit, mat_array, tar_members
from unbraid.errors import InputError

NAMES = ("elevation", "azimuth", "object")
SIZES = (4, 24, 183)
FILES = (
    RemoteFile(
        "cars3d/nips2015-analogy-data.tar.gz",
        (
            "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
            "http://www-personal.umich.edu/~reedscot/files/nips2015-analogy-data.tar.gz",
        ),
        md5="4e866a7919c1beedf53964e6f7a23686",
    ),
)


def open_cars3d(resolution: int = 64) -> FactorData:
    """The published images, the cars in the order of their file names."""
    check_resolution(resolution)
    needed("cars3d", FILES)
    shape = (math.prod(SIZES), resolution, resolution, 3)
    pixels = drawn_array(f"cars3d_{resolution}", shape, np.uint8, lambda: _read(resolution))
    return StoredGrid(pixels, NAMES, SIZES, resolution=resolution, source="the published file")


def _read(resolution: int) -> Iterator[Array]:
    path = checked("cars3d", FILES[0])
    heights, sides, count = SIZES
    cars: dict[str, Array] = {}
    for name, contents in tar_members(path, "*cars/*.mat"):
        views = mat_array(f"{path}: {name}", contents, "im")
        if views.shape[2:] != (3, sides, heights) or views.dtype != np.uint8:
            raise InputError(
                f"{path}: {name} is {views.dtype} {views.shape}; expected uint8 (128, 128, 3, {sides}, {heights})"
            )
        views = np.ascontiguousarray(views.transpose(4, 3, 0, 1, 2)).reshape(heights * sides, *views.shape[:3])
        cars[Path(name).name] = fit(views, resolution)
    if len(cars) != count:
        raise InputError(f"{path} holds {len(cars)} cars; expected {count}")
    grid = np.stack([cars[name] for name in sorted(cars)], axis=1)  # (elevation and azimuth, object, H, W, C)
    yield cast(Array, grid.reshape(-1, *grid.shape[2:]))


DECLARED = DataSet("cars3d", NAMES, SIZES, "Cars3D's file", open_cars3d, FILES)
