"""Metrics and evaluators of the user's own: functions, called and read like the built-in ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from unbraid.errors import InputError
from unbraid.metrics._arrays import Scores


def reads(function: Callable[..., Any]) -> str:
    """What a function reads, by its parameters: `method` makes it an evaluator, `test` a metric that fits and tests."""
    parameters = list(inspect.signature(function).parameters)
    if parameters[:1] == ["method"]:
        return "model"
    if "factors" not in parameters:
        return "codes"
    return "split" if "test" in parameters else "train"


def scoring(name: str, function: Callable[..., Any]) -> Callable[..., Scores]:
    """The function with Scores for a result, where it gives a number or a mapping; `rng` only where it takes that."""
    parameters = inspect.signature(function).parameters
    takes_rng = "rng" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())

    @functools.wraps(function)
    def scores(*given: Any, rng: Any = 0, **settings: Any) -> Scores:
        result = function(*given, **({"rng": rng} if takes_rng else {}), **settings)
        if isinstance(result, Scores):
            return result
        named = result if isinstance(result, Mapping) else {name: result}
        try:
            return Scores({str(one): float(value) for one, value in named.items()})
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} gave {result!r}; expected a number, or numbers by name") from error

    return scores
