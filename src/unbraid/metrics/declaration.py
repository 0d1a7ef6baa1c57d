"""How a metric is declared: its function, the rows it reads, what its scores mean and what it costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from unbraid.metrics._arrays import Scores

Settings = Mapping[str, Any]
_GIVEN = ("codes", "factors", "test", "rng", "method", "data", "representation")  # parameters that are no settings


@dataclass(frozen=True)
class Size:
    """How much there is to score."""

    rows: int
    """Training rows."""
    codes: int
    factors: int
    values: int
    """Of all factors together; a continuous factor counts as one."""


@dataclass(frozen=True)
class Metric:
    """A metric as `unbraid metrics` and docs/metrics/README.md show it."""

    function: Callable[..., Scores]
    reads: str
    """`train`: the training rows. `split`: the training and the test rows. `all`: all rows, to intervene on factors.
    `codes`: the training codes without factors. `model`: the trained method, its data and their representation; such an
    evaluator scores runs only."""
    asks: str = ""
    """The question that its scores answer, in a few words."""
    range: str = ""
    better: str = "neither"
    """`higher`, `lower`, or `neither`."""
    noise: str = ""
    """What uninformative codes score."""
    perfect: str = ""
    """What one code per factor scores."""
    invariant: str = ""
    """What may change without changing the score: `order` and `sign` of codes, `scale` of each, `rotation` of all."""
    trust: str = ""
    """When to trust it."""
    report: str = ""
    """Whether to report it: `yes`, or for what."""
    seconds: Callable[[Size, Settings], float] = lambda size, settings: 0.0
    """What it costs on one core of a desk machine, roughly."""
    axes: Mapping[str, str] = field(default_factory=dict)
    """The axes of its arrays: `c` for codes, `f` for factors, another letter for anything else."""
    refits: bool = False
    """Whether it fits models, which is slow."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def settings(self) -> Settings:
        """Its settings with their defaults."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameter.default for name, parameter in parameters.items() if name not in _GIVEN}
