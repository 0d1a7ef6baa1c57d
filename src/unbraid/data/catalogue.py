"""Every data set by name: what it holds, where its images come from, and how to open it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from unbraid.data import (
    cars3d,
    dsprites_official,
    flowers102,
    image_folder,
    mnist,
    mpi3d,
    shapes3d_official,
    small_norb,
    stl10,
)
from unbraid.data.arm3d import Arm3D
from unbraid.data.color_dsprites import ColorDSprites
from unbraid.data.dsprites import DSprites
from unbraid.data.factors import FactorData
from unbraid.data.files import SCREAM, RemoteFile, stored
from unbraid.data.noisy_dsprites import NoisyDSprites
from unbraid.data.scream_dsprites import ScreamDSprites
from unbraid.data.shapes3d import Shapes3D
from unbraid.errors import InputError, nearest


@dataclass(frozen=True)
class Declared:
    """A data set as `unbraid data list` shows it."""

    name: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    source: str
    """A few words: drawn here, a look-alike of what, or whose official file."""
    open: Callable[..., FactorData]
    """`open(resolution=64, **settings)`."""
    files: tuple[RemoteFile, ...] = ()
    """What `unbraid data get` fetches."""
    embedded: bool = False
    """Whether it needs no file."""
    count: int | None = None
    """How many images, where that is not one for each combination of factors."""

    @property
    def images(self) -> int | None:
        """How many images, None where that depends on the user's files."""
        return self.count or (math.prod(self.sizes) if self.sizes else None)

    @property
    def here(self) -> bool:
        """Whether it can be opened on this machine without a download."""
        return self.embedded or all(stored(file) is not None for file in self.files)

    def settings(self) -> set[str]:
        """What `open` takes besides the resolution."""
        bound = self.open.keywords if isinstance(self.open, partial) else {}
        return set(inspect.signature(self.open).parameters) - {"resolution"} - set(bound)


def _drawn(name: str, data: type[FactorData], source: str, files: tuple[RemoteFile, ...] = ()) -> Declared:
    return Declared(name, data.names, data.sizes, source, data, files, embedded=True)


def _mpi3d(variant: str) -> Declared:
    opener = partial(mpi3d.open_mpi3d, variant=variant)
    return Declared(
        f"mpi3d_{variant}", mpi3d.NAMES, mpi3d.SIZES[variant], "MPI3D's file", opener, mpi3d.FILES[variant]
    )


_DECLARED = [
    _drawn("dsprites", DSprites, "drawn here, bit for bit the published images"),
    _drawn("color_dsprites", ColorDSprites, "drawn here by the paper's rule"),
    _drawn("noisy_dsprites", NoisyDSprites, "drawn here by the paper's rule"),
    _drawn("scream_dsprites", ScreamDSprites, "drawn here, on The Scream if fetched, else on our texture", (SCREAM,)),
    _drawn("shapes3d", Shapes3D, "look-alike of 3D Shapes, drawn here"),
    _drawn("arm3d", Arm3D, "look-alike of MPI3D, drawn here"),
    Declared(
        "dsprites_official", dsprites_official.NAMES, dsprites_official.SIZES, "dSprites' file",
        dsprites_official.open_dsprites_official, dsprites_official.FILES,
    ),
    Declared(
        "shapes3d_official", shapes3d_official.NAMES, shapes3d_official.SIZES, "3D Shapes' file",
        shapes3d_official.open_shapes3d_official, shapes3d_official.FILES,
    ),
    _mpi3d("toy"),
    _mpi3d("realistic"),
    _mpi3d("real"),
    _mpi3d("complex"),
    Declared("cars3d", cars3d.NAMES, cars3d.SIZES, "Cars3D's file", cars3d.open_cars3d, cars3d.FILES),
    Declared(
        "small_norb", small_norb.NAMES, small_norb.SIZES, "SmallNORB's files, toys a nuisance",
        small_norb.open_small_norb, small_norb.FILES, count=48_600,
    ),
    Declared("mnist", mnist.NAMES, mnist.SIZES, "MNIST's files", mnist.open_mnist, mnist.FILES, count=70_000),
    Declared("stl10", stl10.NAMES, stl10.SIZES, "STL-10's file", stl10.open_stl10, stl10.FILES, count=113_000),
    Declared(
        "flowers102", flowers102.NAMES, flowers102.SIZES, "Oxford Flowers' files",
        flowers102.open_flowers102, flowers102.FILES, count=8_189,
    ),
    Declared(
        "image_folder", (), (), "your own folder or .npz of pictures: path=…",
        image_folder.open_image_folder, embedded=True,
    ),
]  # fmt: skip
CATALOGUE: dict[str, Declared] = {declared.name: declared for declared in _DECLARED}
DRAWN = [declared.name for declared in _DECLARED if declared.embedded and declared.names]


def declared(name: str) -> Declared:
    """The declaration of a data set, or an InputError that suggests the nearest name."""
    if name not in CATALOGUE:
        raise InputError(f"there is no data set '{name}'{nearest(name, CATALOGUE)}")
    return CATALOGUE[name]


def load(name: str, resolution: int = 64, **settings: object) -> FactorData:
    """Open a data set by name. `unbraid data list` shows them all; settings are those of the data set itself."""
    entry = declared(name)
    known = entry.settings()
    for setting in settings:
        if setting not in known:
            hint = nearest(setting, known) if known else "; it takes none but resolution"
            raise InputError(f"data set '{name}' has no setting '{setting}'{hint}")
    data = entry.open(resolution=resolution, **settings)
    data.opened = {"name": name, "resolution": resolution, "settings": dict(settings)}
    return data
