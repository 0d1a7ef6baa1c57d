"""dSprites from its published file. `dsprites` draws the same images without a download."""

from __future__ import annotations

import math

from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution
from unbraid.data.files import RemoteFile
from unbraid.data.stored import StoredGrid, npz_member

NAMES = ("shape", "scale", "orientation", "x", "y")
SIZES = (3, 6, 40, 32, 32)
_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
FILES = (
    RemoteFile(
        f"dsprites/{_FILE}",
        (
            f"https://raw.githubusercontent.com/google-deepmind/dsprites-dataset/master/{_FILE}",
            f"https://github.com/deepmind/dsprites-dataset/raw/master/{_FILE}",
        ),
        md5="7da33b31b13a06f4b04a70402ce90c2e",
    ),
)


def open_dsprites_official(resolution: int = 64) -> FactorData:
    """The published images, which are 0 and 1 in the file, as 0 and 255."""
    check_resolution(resolution)
    pixels = npz_member("dsprites_official", FILES[0], "imgs", (math.prod(SIZES), 64, 64))
    return StoredGrid(pixels, NAMES, SIZES, resolution=resolution, source="the published file", binary=True)


DECLARED = DataSet("dsprites_official", NAMES, SIZES, "dSprites' file", open_dsprites_official, FILES)
