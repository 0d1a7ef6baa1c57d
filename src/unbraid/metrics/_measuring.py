"""One metric of a protocol, measured on the sets that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unbraid.metrics._arrays import Array, ContinuousFactorError, Scores
from unbraid.metrics._rows import Sets
from unbraid.metrics.declaration import Metric, Settings
from unbraid.metrics.protocols import METRICS, Part
from unbraid.own import label

if TYPE_CHECKING:
    from unbraid.data.labels import Labels


class Seeds(dict[str, int]):
    """A seed per metric, drawn when it is first asked for: scores beside others are those of their protocol alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._rng = rng

    def __missing__(self, metric: str) -> int:
        self[metric] = int(self._rng.integers(2**31))
        return self[metric]


@dataclass(frozen=True)
class Measured:
    scores: dict[str, float]
    arrays: dict[str, Array]
    dropped: list[int]
    """The continuous factors that the metric could not use."""
    error: ContinuousFactorError | None = None
    """Why it has no score: it could use none of the factors."""


@dataclass(frozen=True)
class Work:
    """What metrics are computed on."""

    sets: Sets
    labels: Labels
    named: bool
    """Whether the factors were given names."""

    def measure(self, part: Part, seed: int, sets: Sets | None = None, share: float = 1.0) -> Measured:
        """The scores of a metric, without the continuous factors that it refuses; it draws a share of its points."""
        declared, sets = METRICS[part.metric], sets or self.sets
        settings = _with_points(declared, part.settings, share) if share < 1 else part.settings
        columns, dropped, error = list(range(len(self.labels.names))), list[int](), None
        while columns:
            try:
                scores = self._call(declared, settings, sets, columns, seed)
            except ContinuousFactorError as refused:
                error = error or refused
                dropped.append(columns.pop(refused.column))
            else:
                arrays = {
                    name: _expanded(array, declared.axes.get(name, ""), columns, len(self.labels.names))
                    for name, array in scores.arrays.items()
                }
                flat = {_flat(label(part.metric), name): value for name, value in scores.items()}
                named = {prefix + name: value for prefix in part.prefixes for name, value in flat.items()}
                return Measured(named, arrays, dropped)
        return Measured({}, {}, dropped, error)

    def _call(self, declared: Metric, settings: Settings, sets: Sets, columns: Sequence[int], seed: int) -> Scores:
        if declared.reads == "codes":
            return declared.function(sets.train[0], rng=seed, **settings)
        given = dict(settings)
        if "categorical" in declared.settings and "categorical" not in given:
            given["categorical"] = [index for index, column in enumerate(columns) if column in self.labels.classes]
        if "names" in declared.settings and self.named:
            given.setdefault("names", [self.labels.names[column] for column in columns])
        chosen = sets.each(lambda codes, factors: (codes, _columns(factors, columns)))
        if declared.reads == "split":
            return declared.function(*chosen.train, test=chosen.test, rng=seed, **given)
        return declared.function(*(chosen.whole if declared.reads == "all" else chosen.train), rng=seed, **given)


def _with_points(metric: Metric, settings: Settings, share: float) -> Settings:
    """Settings of a metric that draws points from the rows, with a share of them."""
    if "train_points" not in metric.settings:
        return settings
    points = {"train_points": 10_000, "test_points": 5_000, **settings}
    return {**points, **{name: max(1, round(points[name] * share)) for name in ("train_points", "test_points")}}


def _flat(metric: str, name: str) -> str:
    return metric if name == metric else f"{metric}.{name}"


def _columns(factors: Array, columns: Sequence[int]) -> Array:
    return factors if len(columns) == factors.shape[1] else factors[:, columns]


def _expanded(array: Array, axes: str, columns: Sequence[int], count: int) -> Array:
    """An array over some factors as one over all, NaN for the others."""
    if len(columns) == count or "f" not in axes:
        return array
    axis = axes.index("f")
    shape = list(array.shape)
    shape[axis] = count
    whole = np.full(shape, np.nan)
    whole[(slice(None),) * axis + (list(columns),)] = array
    return whole
