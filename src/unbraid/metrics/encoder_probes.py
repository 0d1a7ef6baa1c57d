"""Linear probes of a trained encoder and of groups of its codes (contrastive, section 3.3)."""

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
    """Codes to fit probes on, and held-out codes to test them on if the data holds out rows."""

    codes: Tensor
    """(n, d)"""
    factors: Tensor
    """(n, k)"""
    test: tuple[Tensor, Tensor] | None
    """Held-out codes and factors."""
    groups: list[list[int]] | None
    """The columns of each group."""


def read(method: Method, data: FactorData, rng: Rng = 0, rows: int = ROWS) -> dict[str, Reading]:
    """The codes, `r`, and the outputs of the projection network, `z`, if the method has one.

    They come from `rows` images of the data and as many held-out ones. The same `rng` gives the same images.
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
    """`probes` of the codes, `r`, and of the outputs of the projection network, `z`, if the method has one.

    Classifiers are fitted to `rows` images and tested on as many held-out ones; if the data holds out none, on a third
    of the images.
    """
    if not data.names:
        raise InputError("this data has no factors; probes need factors to predict")
    rng = generator(rng)
    seed = int(torch.randint(2**31, (1,), generator=rng))
    return {
        code: probes(one.codes, one.factors, test=one.test, groups=one.groups, names=data.names, code=code, rng=seed)
        for code, one in read(method, data, rng, rows).items()
    }
