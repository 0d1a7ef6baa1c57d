"""Pairs of images that share some of their factors: two views of one thing (contrastive, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, Index, Rng, RowLookup, generator
from unbraid.data.wrappers.annotated import Annotated
from unbraid.errors import InputError

SAME = "same"
_TRIES = 1000  # draws of a partner that differs


class PairData(Annotated):
    """`data` with a partner for each row of a batch: a random row that has the same values of the `shared` factors.

    A batch also holds `partners`, uint8 (n, C, H, W), with factors of their own, `partner_factors` (n, k), and
    `shared`, the values that both have, int64 (n, number of shared factors). All rows with these values are
    equally likely, so other factors are redrawn from the data; where images are stochastic, so is the partner's. With
    `shared` None a row is its own partner, for data without factors: then only views tell the two apart. If pairs
    `differ`, partners with the same value of any other factor are not drawn.
    """

    def __init__(self, data: FactorData, shared: Sequence[str] | None, differ: bool = False) -> None:
        super().__init__(data)
        if shared is not None:
            data.need_labels("pairs")
        self.differ = differ
        self.shared = None if shared is None else tuple(shared)
        self.columns = [data.column(name) for name in self.shared or ()]
        if shared is not None and not self.columns:
            raise InputError(f"pairs share no factor; expected names of factors, or {SAME} for a row and itself")
        if len(set(self.columns)) != len(self.columns):
            raise InputError(f"pairs is '{','.join(self.shared or ())}', which names a factor twice")
        if data.held_out is not None:
            self.held_out = PairData(data.held_out, shared, differ)

    @cached_property
    def _lookup(self) -> RowLookup:
        return RowLookup(self, self._alone(self.all_factors()))

    def _alone(self, factors: Tensor) -> Tensor:
        """Factors (n, k) with 0 for those that are not shared."""
        kept = torch.zeros_like(factors)
        kept[:, self.columns] = factors[:, self.columns]
        return kept

    def partners_of(self, rows: Tensor, rng: Rng) -> Tensor:
        """A random partner for each of these rows, (n,) -> (n,)."""
        if self.shared is None:
            return rows
        rng, wanted = generator(rng), self._alone(self.factors_at(rows))
        partners = self._lookup.random(wanted, rng)
        if self.differ:
            others = [column for column in range(len(self.names)) if column not in self.columns]
            for _ in range(_TRIES):
                same = (self.factors_at(rows)[:, others] == self.factors_at(partners)[:, others]).any(1)
                if not bool(same.any()):
                    return partners
                partners[same] = self._lookup.random(wanted[same], rng)
            raise InputError(f"no partner was found that differs in {', '.join(self.names[at] for at in others)}")
        return partners

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {"shared": self.factors_at(rows)[:, self.columns]}

    def batch_at(self, index: Index, rng: Rng = None) -> dict[str, Tensor]:
        rng, rows = generator(rng), self.check_index(index)
        batch = super().batch_at(rows, rng)
        partners = self.partners_of(rows, rng)
        images = batch["images"] if self.shared is None else self.data.images_at(partners, rng)
        return {**batch, "partners": images, "partner_factors": self.factors_at(partners)}

    def describe(self) -> dict[str, Any]:
        name = {"data": self.opened["name"]} if self.opened else {}
        pairs = {"pairs": SAME if self.shared is None else list(self.shared)}
        return {**super().describe(), **name, **pairs, **({"differ": True} if self.differ else {})}


def with_pairs(data: FactorData, pairs: str = "") -> PairData:
    """Pairs that share the factors named, as `shape,scale`; or `same` for two views of every image."""
    return PairData(data, None if pairs == SAME else [name for name in pairs.split(",") if name])


DECLARED = Wrapper(
    with_pairs, {"pairs": "Factors that both images of a pair share, as digit,background; or same."}, gives="shared"
)
