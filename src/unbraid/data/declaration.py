"""How data sets and wrappers are declared: factors, opener, settings, and which settings are the user's files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from unbraid.data.factors import FactorData
from unbraid.data.files import RemoteFile, stored

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
