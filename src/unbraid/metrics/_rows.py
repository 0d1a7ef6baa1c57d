"""The rows that are scored: codes with all their labels, and the sets that metrics read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, Pair, as_codes, as_pair, need_rows
from unbraid.metrics.protocols import Protocol

if TYPE_CHECKING:
    from unbraid.data.labels import Labels


@dataclass(frozen=True)
class Rows:
    """Codes and labels of the rows that have every label: the training rows first if there is a test set."""

    codes: Array
    labels: Labels
    train: int | None
    """How many rows are the training set, where it was given."""
    rows: Array
    """The row of each in what was given."""
    notes: list[str]


def rows_of(
    codes: Any, factors: Any, test: Pair | None, names: Iterable[str] | None, types: Mapping[str, str] | None
) -> Rows:
    from unbraid.data.labels import as_labels, together

    table = as_codes(codes)
    if test is None:
        labels, cut = as_labels(factors, names, types), len(table)
        _paired(len(table), len(labels))
    else:
        other, other_factors = as_pair(test)
        unseen = as_codes(other, "test codes")
        if table.shape[1] != unseen.shape[1]:
            raise InputError(f"codes have {table.shape[1]} columns but {unseen.shape[1]} in the test set")
        labels, cut = together(factors, other_factors, names, types)
        _paired(len(table), cut)
        _paired(len(unseen), len(labels) - cut, "test ")
        table = np.concatenate([table, unseen])
    notes, complete = list(labels.notes), labels.complete
    if not complete.all():
        lost = int((~complete).sum())
        culprits = [name for name, column in zip(labels.names, labels.values.T, strict=True) if np.isnan(column).any()]
        if not complete.any():
            raise InputError(f"no row has all labels; leave out some of {', '.join(culprits)}")
        notes.append(f"left out {lost:,} of {len(labels):,} rows without a label for {', '.join(culprits)}")
    rows = np.flatnonzero(complete)
    train = None if test is None else int(complete[:cut].sum())
    return Rows(table[rows], labels.rows(rows), train, rows, notes)


def _paired(codes: int, factors: int, which: str = "") -> None:
    if codes != factors:
        raise InputError(f"there are {codes} rows of {which}codes but {factors} of {which}factors")


@dataclass(frozen=True)
class Sets:
    """Codes and factors of the training rows, of the test rows and of all rows."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    whole: tuple[Array, Array]

    def each(self, change: Callable[[Array, Array], tuple[Array, Array]]) -> Sets:
        """Each of the three, changed."""
        return Sets(change(*self.train), change(*self.test), change(*self.whole))


def split(data: Rows, protocol: Protocol, rng: np.random.Generator) -> Sets:
    table, labels = data.codes, data.labels.table()
    if data.train is not None:
        cut = data.train
        for count in (cut, len(table) - cut):
            if not count:
                raise InputError("no row of the training or of the test set has all labels")
        return Sets((table[:cut], labels[:cut]), (table[cut:], labels[cut:]), (table, labels))
    rows = len(table)
    need_rows(rows)
    order = rng.permutation(rows)
    cut = min(protocol.train, round(rows * protocol.train / (protocol.train + protocol.test)))
    first, second = order[:cut], order[cut : cut + protocol.test]
    return Sets((table[first], labels[first]), (table[second], labels[second]), (table, labels))
