"""What a learner is built from: its settings, and the facts it needs about its data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from unbraid.data import FactorData
from unbraid.errors import InputError, nearest, shown
from unbraid.own import is_reference, refer

T = TypeVar("T")
MOST = 10**9  # of whatever a setting counts


def setting(
    default: T,
    help: str,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    group: str = "",
    live: bool = False,
) -> T:
    """A field of a Config.

    `help` is one sentence. A value below `low`, not above `above`, above `high` or not among `choices` is refused by
    name. Where it has a `group` of entry points, such as `unbraid.networks`, a reference to the user's own is a choice
    too. A `live` setting may change while training runs.
    """
    limits = {"low": low, "above": above, "high": high, "choices": tuple(choices), "group": group}
    return dataclasses.field(default=default, metadata={"help": help, "live": live, **limits})


@dataclass(frozen=True)
class Config:
    """The settings of a learner. Subclasses add fields with `setting`; values are checked on construction."""

    batch_size: int = setting(64, "images in a batch", low=1, high=1_000_000, live=True)
    learning_rate: float = setting(1e-4, "learning rate of Adam", above=0, live=True)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, group = getattr(self, field.name), field.metadata["group"]
            if group and value not in field.metadata["choices"]:
                value = refer(value, group)
                object.__setattr__(self, field.name, value)
            self._check(field, value)

    @staticmethod
    def _check(field: dataclasses.Field[Any], value: Any) -> None:
        expected = type(field.default)
        if expected is float and type(value) is int:
            return Config._check(field, float(value))
        if type(value) is not expected:
            raise InputError(f"{field.name} is {shown(value)}; expected {_TYPES.get(expected, expected.__name__)}")
        limits = field.metadata
        own = limits["group"] and is_reference(value)
        if limits["choices"] and value not in limits["choices"] and not own:
            raise InputError(f"{field.name} is {shown(value)}{nearest(str(value), limits['choices'])}")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{field.name} is {value}; expected a finite number")
        if isinstance(value, int) and abs(value) > MOST:
            raise InputError(f"{field.name} is {shown(value)}; expected at most {MOST:,}")
        if limits["low"] is not None and not value >= limits["low"]:
            raise InputError(f"{field.name} is {value}; expected at least {limits['low']}")
        if limits["above"] is not None and not value > limits["above"]:
            raise InputError(f"{field.name} is {value}; expected more than {limits['above']}")
        if limits["high"] is not None and not value <= limits["high"]:
            raise InputError(f"{field.name} is {value}; expected at most {limits['high']}")
        return None

    def live(self) -> dict[str, float]:
        """The hyperparameters that may change while training runs."""
        fields = dataclasses.fields(self)
        return {field.name: float(getattr(self, field.name)) for field in fields if field.metadata["live"]}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """A config from settings by name; an unknown name is an InputError with the nearest one."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in settings:
            if name not in known:
                raise InputError(f"there is no setting {shown(name)}{nearest(str(name), known)}")
        floats = {field.name for field in dataclasses.fields(cls) if type(field.default) is float}
        typed: dict[str, Any] = {
            name: float(value) if name in floats and type(value) is int else value for name, value in settings.items()
        }
        return cls(**typed)


_TYPES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


@dataclass(frozen=True)
class Spec:
    """The facts about its data that a learner is built from, and can be built from again without the data."""

    image_shape: tuple[int, int, int]
    rows: int
    """Number of images: minibatch estimators of q(z) depend on it."""
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()
    """Number of classes of each task, 1 where its target is a number; empty for data without targets."""
    codes: int = 0
    """Dimensions of the codes that come with the data; 0 without codes."""

    @classmethod
    def of(cls, data: FactorData) -> Spec:
        return cls(data.image_shape, len(data), data.names, data.sizes, data.tasks, data.codes)
