"""What a population searches of a method: by default its learning rate, batch size and strength."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.methods import method_class
from unbraid.search.hyperparameters import Hyperparameter

# The start values of the paper's released code. It has no smallest batch and no range of learning rates; here halving
# ends at the smallest batch it begins with, and at a tenth of the least learning rate.
KNOWN = {
    "learning_rate": Hyperparameter(tuple(np.logspace(-5, 0, 30).tolist()), 1e-6, 1.0),
    "batch_size": Hyperparameter((8, 16, 32, 64, 128, 256, 512, 1024), 8, 1024, whole=True),
    "beta": Hyperparameter(
        (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 37, 47, 60, 77, 99, 127, 163, 208, 267, 342, 437),
        1, math.inf, whole=True,
    ),
}  # fmt: skip
AROUND = (0.2, 0.4, 1.0, 2.0, 4.0, 10.0)  # start values of other strengths, times their default
FROM_ZERO = (0.001, 0.01, 0.1)  # start values of a strength whose default is 0


def search_space(method: str, fixed: Mapping[str, Any] | None = None) -> dict[str, Hyperparameter]:
    """What is searched by default: learning rate, batch size and the method's strength, except those that are `fixed`.

    A strength that is not called beta starts around its default, or at small values where that is 0, and may go to a
    tenth of the least start value and ten times the largest.
    """
    defaults, strengths = method_class(method).config_class().live(), {}
    for name in method_class(method).strength:
        start = tuple(defaults[name] * factor for factor in AROUND) if defaults[name] else FROM_ZERO
        strengths[name] = Hyperparameter(start, min(start) / 10, max(start) * 10)
    space, live = {**strengths, **KNOWN}, live_settings(method)
    return {name: space[name] for name in live if name in space and name not in (fixed or {})}


def live_settings(method: str) -> dict[str, type]:
    """The settings of a method that may change while it trains, each with its type."""
    fields = dataclasses.fields(method_class(method).config_class)
    return {one.name: type(one.default) for one in fields if one.metadata["live"]}


def check_space(method: str, space: Mapping[str, Hyperparameter], settings: Mapping[str, Any]) -> None:
    """Raise an InputError unless the method takes every value of the space beside these settings."""
    live = live_settings(method)
    for name, one in space.items():
        if name not in live:
            raise InputError(f"{method} has no live setting '{name}'{nearest(name, live)}")
        if name in settings:
            raise InputError(f"{name} is both set to {settings[name]} and searched; expected one of them")
        if live[name] is int and not (one.whole and all(float(value).is_integer() for value in one.start)):
            raise InputError(f"{name} is a whole number; expected whole start values, and whole=True")
        for value in (one.low, one.high, *one.start):
            if math.isfinite(value):
                method_class(method).config_class.make({**settings, name: live[name](value)})
