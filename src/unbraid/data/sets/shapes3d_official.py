"""3D Shapes from its published file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import h5py

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution
from unbraid.data.files import RemoteFile, checked, needed
from unbraid.data.stored import Pixels, StoredGrid, unpacked
from unbraid.errors import InputError

NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
SIZES = (10, 10, 10, 8, 4, 15)
FILES = (
    RemoteFile(
        "shapes3d/3dshapes.h5",
        ("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
        sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
        size=267_573_662,
    ),
)


def open_shapes3d_official(resolution: int = 64) -> FactorData:
    """The published images, in the order of the file."""
    check_resolution(resolution)
    return StoredGrid(_pixels(), NAMES, SIZES, resolution=resolution, source="the published file")


def _pixels() -> Pixels:
    """The images in the file where a random row is cheap to read, else unpacked beside it once.

    A compressed block that spans thousands of images is decompressed whole for every one of them.
    """
    path = needed("shapes3d_official", FILES)[0]
    shape = (math.prod(SIZES), 64, 64, 3)
    try:
        images = h5py.File(checked("shapes3d_official", FILES[0]), "r")["images"]
        if images.shape != shape or images.dtype != "uint8":
            raise InputError(f"{path}: 'images' is {images.dtype} {images.shape}; expected uint8 {shape}")
        if images.chunks is None or images.chunks[0] == 1:
            return images  # type: ignore[no-any-return]
        return unpacked(path, "images", shape, lambda: _blocks(images, rows=images.chunks[0]))
    except (KeyError, AttributeError) as error:
        raise InputError(f"{path} has no array 'images'; it is not the published file") from error
    except OSError as error:
        raise InputError(f"{path} is damaged or not an HDF5 file: {error}") from error


def _blocks(images: Any, rows: int) -> Iterator[bytes]:
    for start in range(0, len(images), rows):
        yield images[start : start + rows].tobytes()


DECLARED = DataSet("shapes3d_official", NAMES, SIZES, "3D Shapes' file", open_shapes3d_official, FILES)
