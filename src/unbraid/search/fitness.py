"""How fit models are: a score of their codes with all labels, with a few, with made-up ones, or with none (UDR)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from unbraid.arguments import need_whole
from unbraid.data import FactorData
from unbraid.data.wrappers.selection import Selection
from unbraid.errors import InputError, nearest
from unbraid.methods import Method
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import METRICS, udr
from unbraid.own import is_reference, label, refer
from unbraid.training.representation import Representation, represent

Array = np.ndarray[Any, Any]
BINS = 20  # into which continuous labels are cut, as codes are


@dataclass(frozen=True)
class Score:
    """What is measured, and on how many rows of the data."""

    name: str = "udr"
    """`udr`, or a metric of `unbraid.metrics`: `mig`, `dci` (its first score, disentanglement), `dci.completeness`."""
    labels: int | None = None
    """How many rows have their factors for labels; None for all."""
    points: int | None = None
    """Rows to measure on, at most; None for 1,000 of UDR, 15,000 of metrics that fit predictors, else 50,000."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the metric; the others have their defaults. Continuous labels are cut into 20 bins."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", refer(self.name))
        if self.metric != "udr" and self.metric not in METRICS and not is_reference(self.metric):
            raise InputError(f"there is no score '{self.metric}'{nearest(self.metric, ['udr', *METRICS])}")
        if self.labels is not None and self.unsupervised:
            raise InputError(f"score {self.name} needs no labels; leave out labels={self.labels}")
        for name, least in (("labels", 3), ("points", 3)):
            value = getattr(self, name)
            if value is not None:
                need_whole(name, value, least)
        for name in self.settings:
            if name not in (known := self._known()):
                raise InputError(f"score '{self.metric}' has no setting '{name}'{nearest(name, known)}")

    @property
    def metric(self) -> str:
        return self.name if is_reference(self.name) else self.name.partition(".")[0]

    @property
    def unsupervised(self) -> bool:
        return self.metric == "udr" or METRICS[self.metric].reads == "codes"

    @property
    def rows(self) -> int:
        """At most so many rows are encoded for a set of labels."""
        if self.points is not None:
            return self.points
        if self.metric == "udr":
            return 1_000
        return 15_000 if METRICS[self.metric].reads == "split" else 50_000

    def _known(self) -> set[str]:
        function = udr if self.metric == "udr" else METRICS[self.metric].function
        return set(inspect.signature(function).parameters) - {"codes", "factors", "test", "rng", "kl"}

    def value(self, codes: Array, labels: Array, seed: int) -> float:
        """The metric of codes (n, d) against labels (n, k)."""
        metric = METRICS[self.metric]
        settings = {"factor_bins": BINS, **self.settings} if "factor_bins" in self._known() else self.settings
        given = (codes,) if metric.reads == "codes" else (codes, labels)
        scores = metric.function(*given, rng=seed, **settings)
        named, own = label(self.metric), is_reference(self.name)
        part = ("" if own else self.name.partition(".")[2]) or (named if named in scores else next(iter(scores)))
        if part not in scores:
            raise InputError(f"score '{self.metric}' has no part '{part}'{nearest(part, scores)}")
        return float(scores[part])


@dataclass(frozen=True)
class Labels:
    """Labels of some rows."""

    rows: Array
    """int64 (n,), in order."""
    values: Array
    """(n, k)."""


LabelSet = list[Labels]  # of columns that are known on the same rows, one Labels


def label_sets(score: Score, data: FactorData, given: Sequence[Array] | None, seed: int) -> list[LabelSet]:
    """The labels that a score is measured against: the data's factors, or the sets `given`.

    A set is an array (rows of the data, k) of numbers, NaN where a row has no label. Columns that are known on the same
    rows belong together, and at most `score.rows` of these are drawn.
    """
    rng = np.random.default_rng([seed, 0])
    if given is None:
        if score.unsupervised:
            return [[Labels(_some(np.arange(len(data)), score.rows, rng), np.empty((0, 0)))]]
        if not data.names:
            raise InputError(f"score {score.name} needs factors, and this data has none; udr needs none")
        if score.labels is not None and score.labels > len(data):
            raise InputError(f"labels is {score.labels:,}; the data has {len(data):,} rows")
        known = _some(np.arange(len(data)), score.labels or len(data), rng)
        rows = _some(known, score.rows, rng)
        return [[Labels(rows, data.factors_at(rows).numpy())]]
    if score.unsupervised or score.labels is not None:
        raise InputError(f"score {score.name} takes no label sets{' beside labels' if score.labels else ''}")
    if not len(given):
        raise InputError("the label sets are empty; expected at least one array (rows, k)")
    return [_groups(number, np.asarray(table), len(data), score.rows, rng) for number, table in enumerate(given)]


def _some(rows: Array, count: int, rng: np.random.Generator) -> Array:
    """At most so many of the rows, in order."""
    return rows if len(rows) <= count else np.sort(rng.choice(rows, count, replace=False))


def _groups(number: int, table: Array, rows: int, limit: int, rng: np.random.Generator) -> LabelSet:
    """Columns by the rows that they are known on."""
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != rows or not table.shape[1] or table.dtype.kind not in "iubf":
        raise InputError(f"label set {number} is {table.dtype} of shape {table.shape}; expected numbers ({rows}, k)")
    known = ~np.isnan(table)
    groups = []
    for pattern in np.unique(known, axis=1).T:
        columns = (known == pattern[:, None]).all(0)
        labelled = np.flatnonzero(pattern)
        if len(labelled) < 3:
            raise InputError(
                f"label set {number} has {len(labelled)} labels in column {columns.argmax()}; expected at least 3"
            )
        chosen = _some(labelled, limit, rng)
        groups.append(Labels(chosen, table[np.ix_(chosen, columns)]))
    return groups


def check(score: Score, sets: Sequence[LabelSet], models: int) -> None:
    """Raise an InputError if the score cannot be computed at all, before anything is trained."""
    if score.metric == "udr":
        if models < 2:
            raise InputError(f"udr compares the models of a member; models is {models}, expected at least 2")
        return
    for labels in (labels for group in sets for labels in group):
        rng = np.random.default_rng(0)
        some = _some(np.arange(len(labels.rows)), 300, rng)
        score.value(rng.normal(size=(len(some), 3)), labels.values[some] if len(labels.values) else labels.values, 0)


def fitness(
    score: Score, methods: Sequence[Method], data: FactorData, sets: Sequence[LabelSet], seed: int
) -> list[float]:
    """The score of each model; NaN where its codes are not finite.

    By UDR each model is compared with the others. Other scores are the median over the label sets of the mean over a
    set's columns, which for MIG is exact: a factor's gap does not depend on the other factors.
    """
    rows = np.unique(np.concatenate([labels.rows for group in sets for labels in group]))
    chosen = Selection(data, torch.from_numpy(rows), weights=None)  # these rows, in order, without their weights
    encoded = [represent(method, chosen, seed, samples=len(rows)) for method in methods]
    finite = [bool(one.codes.isfinite().all()) for one in encoded]
    if score.metric == "udr":
        return _udr(score, encoded) if all(finite) else [0.0 if good else float("nan") for good in finite]
    return [
        _supervised(score, one.codes.numpy(), rows, sets, seed) if good else float("nan")
        for one, good in zip(encoded, finite, strict=True)
    ]


def _udr(score: Score, encoded: Sequence[Representation]) -> list[float]:
    kl = [kl_per_latent(one.codes, one.logvar).mean(0).numpy() for one in encoded if one.logvar is not None]
    codes = [one.codes.numpy() for one in encoded]
    values: list[float] = udr(codes, kl if len(kl) == len(codes) else None, **score.settings)["scores"].tolist()
    return values


def _supervised(score: Score, codes: Array, rows: Array, sets: Sequence[LabelSet], seed: int) -> float:
    values = []
    for group in sets:
        indices = [np.searchsorted(rows, labels.rows) for labels in group]
        parts = [score.value(codes[at], labels.values, seed) for at, labels in zip(indices, group, strict=True)]
        values.append(np.average(parts, weights=[max(labels.values.shape[1], 1) for labels in group]))
    return float(np.median(values))
