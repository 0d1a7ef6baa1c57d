"""A few labelled rows (Locatello et al. 2020, "Disentangling factors of variation using few labels")."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, Index, Rng, digest, generator
from unbraid.data.user_files import read_array
from unbraid.data.wrappers.annotated import Annotated, Array, one_row_each
from unbraid.errors import InputError


class LabelledData(Annotated):
    """`data` of which some rows have labels: a batch also holds equally many random labelled rows.

    `labelled_images` is uint8 (n, C, H, W), `labels` float32 (n, k) from 0 to 1, NaN where a row has none. They
    are drawn separately from the other rows, as in the paper's released code: of 1,000 labelled rows among 737,280,
    only one batch of 64 in twelve would hold one.
    """

    def __init__(self, data: FactorData, labels: Tensor | Array) -> None:
        """`labels` is (rows, k) from 0 to 1, NaN where there is none."""
        super().__init__(data)
        self.held_out = data.held_out
        self._table = torch.from_numpy(_checked(np.asarray(labels), data))
        self.labelled = (~self._table.isnan()).any(1).nonzero().flatten()
        """The rows with a label, int64 (m,)."""

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {"labels": self._table[rows]}

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        rng = generator(rng)
        batch = self.data.batch_at(index, rng)
        rows = self.labelled[torch.randint(len(self.labelled), (len(batch["images"]),), generator=rng)]
        return {**batch, "labelled_images": self.data.images_at(rows, rng), **self.extras(rows)}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "labels": digest(self._table)}


def _checked(labels: Array, data: FactorData) -> Array:
    table = one_row_each(labels, data, "labels")
    if table.dtype.kind not in "fiub":
        raise InputError(f"labels are {table.dtype}; expected numbers, NaN where there is none")
    table = table.astype(np.float32)
    bad = np.argwhere((table < 0) | (table > 1))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"labels column {column} is {table[row, column]:g} at row {row}; expected 0 to 1, or NaN")
    if np.isnan(table).all():
        raise InputError("no row has a label; expected a number in at least one")
    return table


def factor_labels(data: FactorData, count: int, rng: Rng = 0) -> Tensor:
    """The factors of `count` random rows, each over its number of values, and NaN for all other rows: (rows, k).

    A factor of 6 values has the labels 0, 1/6, … 5/6, as the paper's released code divides them.
    """
    if not data.names:
        raise InputError("this data has no factors to use as labels; expected label_file=FILE.npy")
    if not 1 <= count <= len(data):
        raise InputError(f"labels is {count:,}; expected 1 to {len(data):,}, the rows of the data")
    rows = torch.randperm(len(data), generator=generator(rng))[:count]
    labels = torch.full((len(data), len(data.names)), float("nan"))
    factors = data.factors_at(rows)
    labels[rows] = (factors / torch.tensor(data.sizes, dtype=torch.float32)).masked_fill(factors < 0, float("nan"))
    return labels


def _unit(table: Array) -> Array:
    """Each column shifted and scaled to run from 0 to 1; a constant one is 0."""
    known = ~np.isnan(table)
    low = np.min(table, 0, where=known, initial=np.inf)
    spread = np.max(table, 0, where=known, initial=-np.inf) - low
    scaled: Array = (table - low) / np.where(spread > 0, spread, 1)
    return scaled.clip(0, 1)


def with_labels(data: FactorData, labels: int = 0, label_seed: int = 0, label_file: str = "") -> LabelledData:
    """The factors of `labels` random rows, or the labels in an .npy file (rows, k), NaN where a row has none."""
    if label_file and labels:
        raise InputError("labels takes factors as labels and label_file your own; expected one of them")
    if not label_file:
        return LabelledData(data, factor_labels(data, labels, label_seed))
    table = one_row_each(read_array(label_file, "labels"), data, "labels")
    if table.dtype.kind not in "fiub" or np.isinf(table).any():
        raise InputError(f"{label_file} holds {table.dtype}; expected finite numbers, NaN where there is no label")
    return LabelledData(data, _unit(table.astype(np.float64)))


DECLARED = Wrapper(
    with_labels,
    {
        "labels": "How many random rows have their factors as labels.",
        "label_seed": "Seed that chooses these rows.",
        "label_file": "An .npy of your own labels (rows, k) instead, NaN where there is none.",
    },
    gives="labels",
    user_files={"label_file": ()},
)
