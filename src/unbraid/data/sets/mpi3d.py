"""MPI3D (Gondal et al. 2019): a robot arm, rendered in two ways and photographed, from the published files."""

from __future__ import annotations

import math
from functools import partial

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution
from unbraid.data.files import RemoteFile
from unbraid.data.stored import StoredGrid, npz_member
from unbraid.errors import InputError, nearest

NAMES = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)
_SIMPLE = (6, 6, 2, 3, 3, 40, 40)
SIZES = {"toy": _SIMPLE, "realistic": _SIMPLE, "real": _SIMPLE, "complex": (4, 4, 2, 3, 3, 40, 40)}
_HUB = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main"
_DRIVE = "1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm"


def _hub_file(name: str) -> RemoteFile:
    return RemoteFile(f"mpi3d/{name}", (f"{_HUB}/{name}",))


# No checksum of the files at their present addresses is known.
FILES: dict[str, tuple[RemoteFile, ...]] = {
    "toy": (_hub_file("mpi3d_toy.npz"),),
    "realistic": (_hub_file("mpi3d_realistic.npz"),),
    "real": (_hub_file("mpi3d_real.npz"),),
    "complex": (
        RemoteFile(
            "mpi3d/real3d_complicated_shapes_ordered.npz",
            (
                f"https://drive.usercontent.google.com/download?id={_DRIVE}&export=download&confirm=t",
                f"https://drive.google.com/uc?export=download&confirm=t&id={_DRIVE}",
            ),
        ),
    ),
}


def open_mpi3d(resolution: int = 64, variant: str = "toy") -> FactorData:
    """`variant` is toy or realistic (rendered), real or complex (photographed)."""
    check_resolution(resolution)
    if variant not in FILES:
        raise InputError(f"mpi3d has no variant '{variant}'{nearest(variant, FILES)}")
    sizes = SIZES[variant]
    pixels = npz_member(f"mpi3d_{variant}", FILES[variant][0], "images", (math.prod(sizes), 64, 64, 3))
    return StoredGrid(pixels, NAMES, sizes, resolution=resolution, source="the published file")


DECLARED = tuple(
    DataSet(f"mpi3d_{name}", NAMES, SIZES[name], "MPI3D's file", partial(open_mpi3d, variant=name), FILES[name])
    for name in SIZES
)
