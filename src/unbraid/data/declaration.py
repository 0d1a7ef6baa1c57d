"""How data sets and wrappers are declared: factors, opener, settings, and which settings are the user's files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from unbraid.data.factors import FactorData
from unbraid.data.files import RemoteFile, stored
from unbraid.errors import InputError

UserFiles = Mapping[str, tuple[str, ...]]  # settings that are user paths, each with the keywords that are not paths


@dataclass(frozen=True)
class DataSet:
    """A data set as `unbraid data list` shows it."""

    name: str
    names: tuple[str, ...]
    """Of the factors."""
    sizes: tuple[int, ...]
    source: str
    """A few words: drawn here, a look-alike of what, or whose official file."""
    open: Callable[..., FactorData]
    """`open(resolution=64, **settings)`."""
    files: tuple[RemoteFile, ...] = ()
    """What `unbraid data get` downloads."""
    embedded: bool = False
    """Whether it needs no file."""
    count: int | None = None
    """Number of images, where that is not one per combination of factors."""
    parts: Callable[[], str] | None = None
    """For data composed here: says which of its parts are real on this machine."""
    user_files: UserFiles = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Of settings that the command line should give in the type of their default."""

    @property
    def images(self) -> int | None:
        """Number of images, None where that depends on the user's files."""
        return self.count or (math.prod(self.sizes) if self.sizes else None)

    @property
    def description(self) -> str:
        """`source`, with the parts that are real on this machine."""
        return self.source if self.parts is None else f"{self.source}: {self.parts()}"

    @property
    def here(self) -> bool:
        """Whether it can be opened on this machine without a download."""
        return self.embedded or all(stored(file) is not None for file in self.files)

    @cached_property
    def settings(self) -> set[str]:
        """What `open` takes besides the resolution."""
        bound = self.open.keywords if isinstance(self.open, partial) else {}
        return set(inspect.signature(self.open).parameters) - {"resolution"} - set(bound)


def own_data_set(name: str, value: Any) -> DataSet:
    """The declaration of a data set of the user's own: as it is, or made from the function or class that opens it.

    Settings are the parameters of that function; one annotated as a `Path` is a file or a folder of the user's, and its
    content is part of the id of a run.
    """
    if isinstance(value, DataSet):
        return replace(value, name=name)
    if not callable(value):
        raise InputError(f"{name} is {value!r}; expected a function or a class that gives a FactorData, or a DataSet")
    parameters = inspect.signature(value).parameters
    paths = [one for one, parameter in parameters.items() if parameter.annotation in (Path, "Path", "pathlib.Path")]

    def open(resolution: int, **settings: Any) -> FactorData:
        given = {one: Path(value) if one in paths else value for one, value in settings.items()}
        data = value(**({"resolution": resolution} if "resolution" in parameters else {}), **given)
        if not isinstance(data, FactorData):
            raise InputError(f"{name} gives {data!r}; expected a FactorData")
        return data

    kept = [parameter for one, parameter in parameters.items() if one != "resolution"]
    open.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
    typed = {one.name: one.default for one in kept if type(one.default) in (int, float)}
    return DataSet(name, (), (), "your own", open, embedded=True, user_files=dict.fromkeys(paths, ()), defaults=typed)


@dataclass(frozen=True)
class Wrapper:
    """What can be put around any data set by settings of its own."""

    wrap: Callable[..., FactorData]
    """`wrap(data, **settings)`."""
    help: Mapping[str, str]
    """One sentence per setting."""
    gives: str = ""
    """What a batch then holds besides images and factors; nothing where it only chooses rows."""
    divides: bool = False
    """Whether it decides which rows training sees, and how often: a run's whole data set is without it."""
    user_files: UserFiles = field(default_factory=dict)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Each setting with its default."""
        parameters = inspect.signature(self.wrap).parameters
        return {name: parameters[name].default for name in self.help}
