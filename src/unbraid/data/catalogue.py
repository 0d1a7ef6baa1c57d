"""Every data set by name: what it holds, where its images come from, and how to open it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from unbraid.data.factors import FactorData
from unbraid.data.files import SCREAM, RemoteFile, stored
from unbraid.data.sets import (
    cars3d,
    cmnist,
    dsprites_official,
    flowers102,
    image_folder,
    mnist,
    mnist_stl10,
    mpi3d,
    shapes3d_official,
    small_norb,
    stl10,
)
from unbraid.data.sets.arm3d import Arm3D
from unbraid.data.sets.color_dsprites import ColorDSprites
from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.noisy_dsprites import NoisyDSprites
from unbraid.data.sets.scream_dsprites import ScreamDSprites
from unbraid.data.sets.shapes3d import Shapes3D
from unbraid.data.wrappers.codes import with_codes
from unbraid.data.wrappers.labelled import with_labels
from unbraid.data.wrappers.pairs import with_pairs
from unbraid.data.wrappers.sampling import (
    with_coarse,
    with_correlated,
    with_draws,
    with_held_out,
    with_row_file,
    with_rows,
)
from unbraid.data.wrappers.tasks import with_tasks
from unbraid.data.wrappers.weak_pairs import with_weak_pairs
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
    parts: Callable[[], str] | None = None
    """Of data put together here, which of its parts are real on this machine."""

    @property
    def images(self) -> int | None:
        """How many images, None where that depends on the user's files."""
        return self.count or (math.prod(self.sizes) if self.sizes else None)

    @property
    def told(self) -> str:
        """`source`, with what it is made of on this machine."""
        return self.source if self.parts is None else f"{self.source}: {self.parts()}"

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
    Declared(
        "cmnist", cmnist.NAMES, cmnist.SIZES, "MNIST's digits if fetched, else scikit-learn's 1,797, in ten colours",
        cmnist.open_cmnist, cmnist.FILES, embedded=True, count=700_000,
    ),
    Declared("stl10", stl10.NAMES, stl10.SIZES, "STL-10's file", stl10.open_stl10, stl10.FILES, count=113_000),
    Declared(
        "mnist_stl10", mnist_stl10.NAMES, mnist_stl10.SIZES, "put together here in pairs",
        mnist_stl10.open_mnist_stl10, mnist_stl10.FILES, embedded=True, count=mnist_stl10.ROWS["train"],
        parts=mnist_stl10.parts_here,
    ),
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


@dataclass(frozen=True)
class Wrapper:
    """What may be put around any data set by settings of its own."""

    wrap: Callable[..., FactorData]
    """`wrap(data, **settings)`."""
    gives: str
    """What a batch then holds besides images and factors; nothing where it only chooses rows."""
    help: Mapping[str, str]
    """A sentence for each setting."""

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Each setting with its default."""
        parameters = inspect.signature(self.wrap).parameters
        return {name: parameters[name].default for name in self.help}


_HELD_OUT = Wrapper(
    with_held_out,
    "",
    {"held_out": "Fraction of the rows kept for testing.", "split_seed": "Seed that chooses the rows held out."},
)
_CORRELATED = Wrapper(
    with_correlated,
    "",
    {
        "correlated": "Two factors that go together, as x,scale, or several pairs, as x,scale;shape,y.",
        "correlation_width": "How far apart they stray: the width of p(a, b), both from 0 to 1; 0.1 is strong.",
        "joint_file": "An .npy of p(a, b) instead, a row for each value of the first.",
    },
)
_DRAWS = Wrapper(
    with_draws,
    "",
    {"draws": "Take this many random draws for the whole data set.", "draws_seed": "Seed that chooses them."},
)
# In the order in which they are put around a data set.
WRAPPERS = (
    Wrapper(
        with_coarse, "", {"coarse": "Keep every so many values of factors: x=4,y=4 keeps a fourth of each."}
    ),
    Wrapper(
        with_rows,
        "",
        {"rows": "Take this many random rows for the whole data set.", "rows_seed": "Seed that chooses these rows."},
    ),
    Wrapper(with_row_file, "", {"row_file": "An .npy of the rows to take for the whole data set."}),
    Wrapper(
        with_codes,
        "codes",
        {
            "codes": "An .npy of codes, one for each row (`unbraid encode` writes it); or factors, for the true ones.",
            "code_scale": "as_is, or standard for mean 0 and variance 1.",
        },
    ),
    Wrapper(
        with_tasks,
        "targets",
        {
            "tasks": "How many random tasks: networks of the factors.",
            "task_seed": "Seed of the random tasks.",
            "task_factors": "What a task depends on: all, random, halves, or factors by name as x,y.",
            "task_networks": "own for a network each, shared for tasks that are the outputs of one network.",
            "task_width": "Units in each of the four hidden layers of a random task.",
            "task_scale": "Factors run from 0 to this; a larger one makes rougher tasks.",
            "targets": "An .npy of your own targets (rows, tasks) instead.",
            "task_kind": "regression or classification, for all targets or a list by commas.",
        },
    ),
    _HELD_OUT,
    _CORRELATED,
    _DRAWS,
    Wrapper(
        with_labels,
        "labels",
        {
            "labels": "How many random rows have their factors for labels.",
            "label_seed": "Seed that chooses these rows.",
            "label_file": "An .npy of your own labels (rows, k) instead, NaN where there is none.",
        },
    ),
    Wrapper(
        with_weak_pairs,
        "partners",
        {"pair_changes": "In how many factors, chosen at random, a pair differs; 0 for one to all but one."},
    ),
    Wrapper(with_pairs, "shared", {"pairs": "Factors that both images of a pair share, as digit,background; or same."}),
)


def declared(name: str) -> Declared:
    """The declaration of a data set, or an InputError that suggests the nearest name."""
    if name not in CATALOGUE:
        raise InputError(f"there is no data set '{name}'{nearest(name, CATALOGUE)}")
    return CATALOGUE[name]


def load(name: str, resolution: int = 64, **settings: object) -> FactorData:
    """Open a data set by name. `unbraid data list` shows them all.

    Settings are those of the data set itself and those of WRAPPERS, which choose rows of any, add codes and tasks, and
    hold rows out.
    """
    entry, typed = declared(name), typed_settings(name, settings)
    own = {setting: value for setting, value in typed.items() if setting in entry.settings()}
    data = entry.open(resolution=resolution, **own)
    data.opened = {"name": name, "resolution": resolution, "settings": own}
    for wrapper in WRAPPERS:
        chosen = {setting: typed[setting] for setting in wrapper.help if setting in typed}
        data = wrapper.wrap(data, **chosen) if chosen else data
    data.opened = {"name": name, "resolution": resolution, "settings": typed}
    return data


def typed_settings(name: str, settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings of a data set, checked; those of WRAPPERS of the type of their defaults."""
    defaults = {setting: default for wrapper in WRAPPERS for setting, default in wrapper.defaults.items()}
    known = declared(name).settings() | defaults.keys()
    for setting in settings:
        if setting not in known:
            raise InputError(f"data set '{name}' has no setting '{setting}'{nearest(setting, known)}")
    return {
        setting: _typed(setting, value, defaults[setting]) if setting in defaults else value
        for setting, value in settings.items()
    }


def load_plain(opened: Mapping[str, Any], held_out: bool = False) -> FactorData:
    """What `load` opened without its codes and tasks: all rows of the data set, or with `held_out` the rows it had."""
    parting = (_HELD_OUT, _CORRELATED, _DRAWS)
    without = [wrapper for wrapper in WRAPPERS if wrapper.gives or (wrapper in parting and not held_out)]
    left = {name for wrapper in without for name in wrapper.help}
    settings = {name: value for name, value in opened["settings"].items() if name not in left}
    return load(opened["name"], opened["resolution"], **settings)


def _typed(name: str, value: Any, default: Any) -> Any:
    """A setting of the kind of its default; the command line gives all of them as words."""
    if type(value) is type(default) or (type(default) is float and type(value) is int):
        return type(default)(value)
    if isinstance(value, str):
        with suppress(ValueError):
            return type(default)(value)
    kind = {int: "a whole number", float: "a number"}.get(type(default), "a word")
    raise InputError(f"{name} is {value!r}; expected {kind}")
