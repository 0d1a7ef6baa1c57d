"""What linear classifiers read from a trained encoder, and from parts of its codes (contrastive, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.metrics import Scores, probes
from unbraid.training.representation import represent

ROWS = 10_000  # images to fit on, and to test on


@dataclass(frozen=True)
class Reading:
    """One kind of code of images to fit on, and of others to test on where the data holds some out."""

    codes: Tensor
    """(n, d)"""
    factors: Tensor
    """(n, k)"""
    test: tuple[Tensor, Tensor] | None
    """Codes and factors."""
    groups: list[list[int]] | None
    """The columns of each part."""


def read(method: Method, data: FactorData, rng: Rng = 0, rows: int = ROWS) -> dict[str, Reading]:
    """The codes, `r`, and what a projection network makes of them, `z`, where there is one.

    Of `rows` images of the data, and of as many of those it holds out. The same `rng`, the same images.
    """
    rng = generator(rng)
    fitted = represent(method, data, rng, samples=rows)
    tested = None if data.held_out is None else represent(method, data.held_out, rng, samples=rows)
    test = None if tested is None else (tested.codes, tested.factors)
    readings = {"r": Reading(fitted.codes, fitted.factors, test, method.code_groups)}
    if fitted.projection is not None:
        projected = None if tested is None or tested.projection is None else (tested.projection, tested.factors)
        readings["z"] = Reading(fitted.projection, fitted.factors, projected, method.projection_groups)
    return readings


def probe(method: Method, data: FactorData, rng: Rng = 0, rows: int = ROWS) -> dict[str, Scores]:
    """`probes` of the codes, `r`, and of what a projection network makes of them, `z`, where there is one.

    Classifiers are fitted on `rows` images of the data and tested on as many of those it holds out; where it holds out
    none, on a third of them.
    """
    if not data.names:
        raise InputError("this data has no factors; there is nothing to read from codes")
    rng = generator(rng)
    seed = int(torch.randint(2**31, (1,), generator=rng))
    return {
        code: probes(
            found.codes, found.factors, test=found.test, groups=found.groups, names=data.names, code=code, rng=seed
        )
        for code, found in read(method, data, rng, rows).items()
    }
