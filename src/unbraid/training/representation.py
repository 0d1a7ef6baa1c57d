"""Encode once; every metric reads the result."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.methods.base import Method
from unbraid.methods.vae import VAE
from unbraid.progress import progress
from unbraid.training.device import keep_freed_memory

WHOLE = 50_000  # data sets up to this size are encoded whole, larger ones as a sample of this size


@dataclass(frozen=True)
class Representation:
    """Codes and factors of the same images, samples first."""

    codes: Tensor
    """float32 (n, d): the means, where the encoder is Gaussian."""
    factors: Tensor
    """int64 (n, k)."""
    rows: Tensor
    """int64 (n,): which rows of the data set they are."""
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    groups: list[list[int]] | None = None
    """Which columns of the codes form one feature, where a feature has more than one."""
    logvar: Tensor | None = None
    """float32 (n, d) of a Gaussian encoder."""
    whole: bool = False
    """Whether every row of the data set is here, in order."""


def represent(
    method: Method, data: FactorData, rng: Rng = 0, *, samples: int | None = None, batch: int = 256
) -> Representation:
    """Encode the whole data set where it has at most `samples` rows (50,000 by default), else that many random rows.

    No row is drawn twice, so that a part of them can test what another was fitted on; by weight where rows have some,
    which may repeat them.
    """
    keep_freed_memory()
    rng = generator(rng)
    limit = WHOLE if samples is None else samples
    whole = len(data) <= limit and data.weights is None
    if whole:
        rows = torch.arange(len(data))
    elif data.weights is None:
        rows = torch.randperm(len(data), generator=rng)[:limit]
    else:
        rows = data.sample_index(limit, rng)
    codes, logvars = [], []
    method.eval()
    with torch.inference_mode(), progress("encoding", len(rows)) as advance:
        for part in torch.split(rows, batch):
            found = data.batch_at(part, rng)
            if isinstance(method, VAE):
                mean, logvar = method.posterior(found["images"])
                codes.append(mean.cpu())
                logvars.append(logvar.cpu())
            else:
                codes.append(method.codes_of(found).cpu())
            advance(len(part))
    return Representation(
        codes=torch.cat(codes),
        factors=data.factors_at(rows),
        rows=rows,
        names=data.names,
        sizes=data.sizes,
        groups=method.code_groups,
        logvar=torch.cat(logvars) if logvars else None,
        whole=whole,
    )


def encode_all(method: Method, data: FactorData) -> Tensor:
    """The codes of every row, in order: float32 (len, d)."""
    assert data.weights is None
    return represent(method, data, samples=len(data)).codes
