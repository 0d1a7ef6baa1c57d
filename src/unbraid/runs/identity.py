"""Which run a run is: an id that follows from all that changes its numbers, and from nothing else.

A run has one id, its job's: the one that `unbraid.jobs.training.Train` has with the same arguments, whether it was
trained as a job of a study or by itself. Nothing is opened to know it; files of the user's own are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unbraid.errors import InputError

if TYPE_CHECKING:
    from unbraid.data import FactorData
    from unbraid.metrics import ProtocolLike

NUMBERS = 3  # raised whenever the same settings would give other numbers than before


def identity(kind: str, version: int, content: Mapping[str, Any]) -> str:
    """Twelve digits of a hash of what a job is."""
    text = json.dumps([kind, version, content], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_SCALARS = {type(None), str, bool, int, float}
_known: dict[int, tuple[Any, dict[str, Any]]] = {}
"""Frozen dataclasses as JSON holds them, by id; each is kept with its record, so that no other can have its id."""


def plain(value: Any) -> Any:
    """A value as JSON holds it; a dataclass by its fields, without those that change no number.

    A field with `metadata={"numbers": "if given"}` is left out while it is empty: what lacks it keeps its id.
    """
    if type(value) in _SCALARS or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        if id(value) in _known:
            return _known[id(value)][1]
        numbers = {one.name: one.metadata.get("numbers", True) for one in fields(value)}
        counted = [
            name for name, counts in numbers.items() if (getattr(value, name) if counts == "if given" else counts)
        ]
        record = {name: plain(getattr(value, name)) for name in counted}
        if len(_known) < 100:  # thousands of jobs share a protocol
            _known[id(value)] = value, record
        return record
    raise InputError(f"{value!r} cannot be part of an id: it is not made of words, numbers and dataclasses of them")


def run_id(
    method: str,
    settings: Mapping[str, Any],
    data: FactorData,
    *,
    steps: int,
    seed: int,
    precision: str,
    samples: int | None,
    protocol: ProtocolLike | None,
    start: str | None = None,
) -> str:
    """The id of the job `Train` with these arguments; data made in Python, which no job has, counts as it is."""
    from unbraid.data import catalogue  # PyTorch, which the id of a job without data does not need

    if data.opened is None:
        described: dict[str, Any] = {"data": data.describe()}
    else:
        name, resolution, given = (data.opened[key] for key in ("name", "resolution", "settings"))
        described = {"data": name, "resolution": resolution, "data_settings": catalogue.content(name, given)}
    content = {
        "method": method, "settings": full_settings(method, settings), **described, "steps": steps, "seed": seed,
        "precision": precision, "samples": samples, "protocol": plain(protocol), "encoder": None, "start": start,
    }  # fmt: skip
    return identity("Train", NUMBERS, content)


def full_settings(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A method's settings with its defaults filled in, checked."""
    try:
        return dict(_full_settings(method, tuple(settings.items()), tuple(map(type, settings.values()))))
    except TypeError:  # settings that cannot be hashed, which the method will name
        return _full_settings.__wrapped__(method, tuple(settings.items()), ())


@lru_cache(maxsize=4096)  # the seeds of a study share their settings
def _full_settings(method: str, settings: tuple[tuple[str, Any], ...], types: tuple[type, ...]) -> dict[str, Any]:
    """`types` tell 1 from 1.0 and True, which are equal."""
    from unbraid.methods import method_class

    return dict(vars(method_class(method).config_class.make(dict(settings))))
