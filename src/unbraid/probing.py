"""What linear classifiers read from a trained encoder, and from parts of its codes (contrastive, section 3.3)."""

from __future__ import annotations

import torch

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.methods.contrastive import Contrastive
from unbraid.metrics import Scores, probes
from unbraid.represent import represent

ROWS = 10_000  # images to fit on, and to test on


def probe(method: Method, data: FactorData, rng: Rng = 0, rows: int = ROWS) -> dict[str, Scores]:
    """`probes` of the codes, `r`, and of what a projection network makes of them, `z`, where there is one.

    Classifiers are fitted on `rows` images of the data and tested on as many of those it holds out; where it holds out
    none, on a third of them.
    """
    if not data.names:
        raise InputError("this data has no factors; there is nothing to read from codes")
    rng = generator(rng)
    seed = int(torch.randint(2**31, (1,), generator=rng))
    fitted = represent(method, data, rng, samples=rows)
    tested = None if data.held_out is None else represent(method, data.held_out, rng, samples=rows)
    codes = {"r": (fitted.codes, None if tested is None else tested.codes, method.code_groups)}
    if isinstance(method, Contrastive) and len(method.heads):
        with torch.no_grad():
            z = method.project(fitted.codes).cpu()
            test_z = None if tested is None else method.project(tested.codes).cpu()
        codes["z"] = z, test_z, method.projection_groups
    found = {}
    for code, (train, test, groups) in codes.items():
        held = None if tested is None else (test, tested.factors)
        found[code] = probes(
            train, fitted.factors, test=held, groups=groups, names=data.names, code=code, rng=seed
        )  # fmt: skip
    return found
