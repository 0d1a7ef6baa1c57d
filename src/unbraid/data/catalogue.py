"""Every data set by name, and the wrappers that can be put around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from unbraid.arguments import checked
from unbraid.data.declaration import DataSet, Wrapper, own_data_set
from unbraid.data.factors import FactorData
from unbraid.data.sets import (
    arm3d,
    cars3d,
    celeba,
    cmnist,
    color_dsprites,
    dsprites,
    dsprites_official,
    flowers102,
    hugging_face,
    image_folder,
    mnist,
    mnist_stl10,
    mpi3d,
    noisy_dsprites,
    scream_dsprites,
    shapes3d,
    shapes3d_official,
    small_norb,
    stl10,
)
from unbraid.data.user_files import content_digest
from unbraid.data.wrappers import codes, correlated, held_out, labelled, pairs, subset, tasks, weak_pairs
from unbraid.errors import InputError, nearest
from unbraid.own import look_up, refer

_SETS: tuple[DataSet, ...] = (
    dsprites.DECLARED,
    color_dsprites.DECLARED,
    noisy_dsprites.DECLARED,
    scream_dsprites.DECLARED,
    shapes3d.DECLARED,
    arm3d.DECLARED,
    dsprites_official.DECLARED,
    shapes3d_official.DECLARED,
    *mpi3d.DECLARED,
    cars3d.DECLARED,
    small_norb.DECLARED,
    mnist.DECLARED,
    cmnist.DECLARED,
    stl10.DECLARED,
    mnist_stl10.DECLARED,
    flowers102.DECLARED,
    celeba.DECLARED,
    image_folder.DECLARED,
    hugging_face.DECLARED,
)
GROUP = "unbraid.data"  # of entry points
CATALOGUE: dict[str, DataSet] = {entry.name: entry for entry in _SETS}
DRAWN = [entry.name for entry in _SETS if entry.embedded and entry.names]
# In the order in which they are put around a data set.
WRAPPERS: tuple[Wrapper, ...] = (
    subset.COARSE,
    subset.ROWS,
    subset.ROW_FILE,
    codes.DECLARED,
    tasks.DECLARED,
    held_out.DECLARED,
    correlated.DECLARED,
    subset.DRAWS,
    labelled.DECLARED,
    weak_pairs.DECLARED,
    pairs.DECLARED,
)


def declared(name: str) -> DataSet:
    """The declaration of a data set, or an InputError that suggests the nearest name."""
    value = look_up(name, CATALOGUE, "data set", GROUP)
    return value if name in CATALOGUE else own_data_set(name, value)


@checked
def load(name: str | Callable[..., FactorData] | DataSet, resolution: int = 64, **settings: object) -> FactorData:
    """Open a data set by name. `unbraid data list` shows them all.

    One of your own is a function or a class that gives a FactorData, or its declaration: the object itself, or
    `file.py:Name`.

    Settings are those of the data set itself and those of WRAPPERS, which choose rows of any, add codes and tasks, and
    hold rows out.
    """
    name = refer(name, GROUP) if name not in CATALOGUE else name
    entry, typed = declared(name), typed_settings(name, settings)
    own = {setting: value for setting, value in typed.items() if setting in entry.settings}
    data = entry.open(resolution=resolution, **own)
    data.opened = {"name": name, "resolution": resolution, "settings": own}
    for wrapper in WRAPPERS:
        chosen = {setting: typed[setting] for setting in wrapper.help if setting in typed}
        data = wrapper.wrap(data, **chosen) if chosen else data
    data.opened = {"name": name, "resolution": resolution, "settings": typed}
    return data


def load_plain(opened: Mapping[str, Any], held_out: bool = False) -> FactorData:
    """What `load` opened without its codes and tasks: all rows of the data set, or with `held_out` the rows it had."""
    without = [wrapper for wrapper in WRAPPERS if wrapper.gives or (wrapper.divides and not held_out)]
    dropped = {name for wrapper in without for name in wrapper.help}
    settings = {name: value for name, value in opened["settings"].items() if name not in dropped}
    return load(opened["name"], opened["resolution"], **settings)


def user_paths(opened: Mapping[str, Any]) -> dict[str, str]:
    """The settings of what `load` opened that are files or folders of the user's; all words of a data set of their own.

    What code of the user's own makes of a word is not known: it may open a file of that name.
    """
    entry = declared(opened["name"])
    declarations = [entry.user_files, *(wrapper.user_files for wrapper in WRAPPERS)]
    keywords = {setting: words for user_files in declarations for setting, words in user_files.items()}
    if opened["name"] not in CATALOGUE:
        keywords = dict.fromkeys(entry.settings, ()) | keywords
    named = {setting: str(value) for setting, value in opened["settings"].items() if setting in keywords and value}
    return {setting: value for setting, value in named.items() if value not in keywords[setting]}


def absolute(opened: Mapping[str, Any]) -> dict[str, Any]:
    """What `load` opened, with the paths of the user's files so that they mean the same in any folder."""
    declarations = (declared(opened["name"]).user_files, *(wrapper.user_files for wrapper in WRAPPERS))
    files = {setting for user_files in declarations for setting in user_files} & user_paths(opened).keys()
    paths = {setting: str(Path(opened["settings"][setting]).expanduser().absolute()) for setting in files}
    return {**opened, "settings": {**opened["settings"], **paths}}


def content(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a data set for an identity: no path, and no data is opened.

    Where a setting names a file or a folder of the user's, a digest of its contents stands for it.
    """
    typed = typed_settings(name, settings)
    if not typed:
        return typed
    for user_files in (declared(name).user_files, *(wrapper.user_files for wrapper in WRAPPERS)):
        for setting, keywords in user_files.items():
            if typed.get(setting) and str(typed[setting]) not in keywords:
                typed[setting] = {"content": content_digest(typed[setting], setting)}
    return typed


def typed_settings(name: str, settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings of a data set, checked; those of WRAPPERS in the type of their defaults."""
    entry = declared(name)
    own = entry.settings
    defaults = {setting: default for wrapper in WRAPPERS for setting, default in wrapper.defaults.items()}
    if name not in CATALOGUE and (shared := own & defaults.keys()):
        raise InputError(f"{name} has a setting '{min(shared)}', which all data sets have; choose another name")
    defaults |= entry.defaults
    for setting in settings:
        if setting not in own and setting not in defaults:
            raise InputError(f"data set '{name}' has no setting '{setting}'{nearest(setting, [*own, *defaults])}")
    return {
        setting: _typed(setting, value, defaults[setting]) if setting in defaults else value
        for setting, value in settings.items()
    }


def _typed(name: str, value: Any, default: Any) -> Any:
    """A setting in the type of its default; the command line gives all of them as words."""
    if type(value) is type(default) or (type(default) is float and type(value) is int):
        return type(default)(value)
    if isinstance(value, str):
        with suppress(ValueError):
            return type(default)(value)
    expected = {int: "a whole number", float: "a number"}.get(type(default), "a word")
    raise InputError(f"{name} is {value!r}; expected {expected}")
