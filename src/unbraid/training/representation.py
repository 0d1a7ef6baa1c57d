"""Encode once; every metric reads the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.arguments import checked, need_whole
from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.methods.base import Method
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
    """int64 (n,): their rows in the data set."""
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    groups: list[list[int]] | None = None
    """The columns of the codes that form each feature, where one has more than one."""
    logvar: Tensor | None = None
    """float32 (n, d) of a Gaussian encoder."""
    whole: bool = False
    """Whether it holds every row of the data set, in order."""
    projection: Tensor | None = None
    """float32 (n, p): what a projection network makes of the codes."""

    def __repr__(self) -> str:
        """`Representation(5,000 rows, 10 codes; shape 3, scale 6)`."""
        factors = ", ".join(f"{name} {size}" for name, size in zip(self.names, self.sizes, strict=True))
        return f"Representation({len(self.codes):,} rows, {self.codes.shape[1]} codes; {factors or 'no factors'})"

    def draw(self, rng: Rng = 0) -> Tensor:
        """Codes drawn from q(z|x) of a Gaussian encoder, float32 (n, d)."""
        assert self.logvar is not None
        return self.codes + torch.exp(self.logvar / 2) * torch.randn(self.codes.shape, generator=generator(rng))


@checked
def represent(
    method: Method, data: FactorData, rng: Rng = 0, *, samples: int | None = None, batch: int = 256
) -> Representation:
    """Encode the whole data set where it has at most `samples` rows (50,000 by default), else that many random rows.

    No row is drawn twice, so that some rows can test what was fitted on others; where rows have weights they are drawn
    by weight, and may repeat.
    """
    keep_freed_memory()
    rng = generator(rng)
    limit = WHOLE if samples is None else need_whole("samples", samples, 1)
    need_whole("batch", batch, 1)
    whole = len(data) <= limit and data.weights is None
    if whole:
        rows = torch.arange(len(data))
    elif data.weights is None:
        rows = torch.randperm(len(data), generator=rng)[:limit]
    else:
        rows = data.sample_index(limit, rng)
    encodings = []
    method.eval()
    with torch.inference_mode(), progress("encoding", len(rows)) as advance:
        for part in torch.split(rows, batch):
            encodings.append(method.encoding(data.batch_at(part, rng)))
            advance(len(part))
    return Representation(
        codes=torch.cat([encoding.codes.cpu() for encoding in encodings]),
        factors=data.factors_at(rows),
        rows=rows,
        names=data.names,
        sizes=data.sizes,
        groups=method.code_groups,
        logvar=_joined([encoding.logvar for encoding in encodings]),
        whole=whole,
        projection=_joined([encoding.projection for encoding in encodings]),
    )


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    known = [part.cpu() for part in parts if part is not None]
    return torch.cat(known) if known else None


def encode_all(method: Method, data: FactorData) -> Tensor:
    """The codes of every row, in order: float32 (len, d)."""
    assert data.weights is None
    return represent(method, data, samples=len(data)).codes
