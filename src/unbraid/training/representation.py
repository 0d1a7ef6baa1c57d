"""Encode once; every metric reads the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unbraid.arguments import checked, need_whole
from unbraid.data import ArrayData, FactorData, load
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.progress import progress
from unbraid.training.device import keep_freed_memory
from unbraid.training.encoders import as_encode, load_encoder

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

    def known_factors(self) -> Tensor:
        """The factors (n, k), as floats with NaN for missing labels if there are any."""
        missing = self.factors < 0
        return self.factors.double().masked_fill(missing, torch.nan) if bool(missing.any()) else self.factors

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
    encoder: Any,
    data: Any,
    rng: Rng = 0,
    *,
    samples: int | None = None,
    batch: int = 256,
    preprocess: Callable[[Tensor], Any] | None = None,
    device: str | None = None,
) -> Representation:
    """Encode the whole data set where it has at most `samples` rows (50,000 by default), else that many random rows.

    `encoder` is a method; a module or function that takes float images in [0, 1], (n, C, H, W), and returns codes (n,
    d); a scikit-learn transformer, which takes each image as a row of numbers; or the file of one (FILE.py:NAME,
    TorchScript, ONNX). `preprocess` is applied to the float images first. `batch` images are encoded at a time, on
    `device` (a module is moved there; by default it stays where it is). `data` is a data set, the name of one, or a
    pair of images and factors.

    No row is drawn twice, so that some rows can test what was fitted on others; where rows have weights they are drawn
    by weight, and may repeat.
    """
    data = as_data(data)
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder)
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
    encode = as_encode(encoder, preprocess, device)
    with torch.inference_mode(), evaluating(encoder), progress("encoding", len(rows)) as advance:
        for part in torch.split(rows, batch):
            encodings.append(encode(data.batch_at(part, rng)))
            advance(len(part))
    return Representation(
        codes=torch.cat([encoding.codes.cpu() for encoding in encodings]),
        factors=data.factors_at(rows),
        rows=rows,
        names=data.names,
        sizes=data.sizes,
        groups=encoder.code_groups if isinstance(encoder, Method) else None,
        logvar=_joined([encoding.logvar for encoding in encodings]),
        whole=whole,
        projection=_joined([encoding.projection for encoding in encodings]),
    )


def as_data(data: Any) -> FactorData:
    """A data set, the name of one, or a pair of images and factors, as a data set."""
    if isinstance(data, FactorData):
        return data
    if isinstance(data, str):
        return load(data)
    if isinstance(data, tuple) and len(data) == 2:
        return ArrayData(*data)
    name = type(data).__name__
    raise InputError(f"data is {name}; expected a data set, the name of one, or a pair (images, factors)")


@contextmanager
def evaluating(encoder: Any) -> Iterator[None]:
    """Within it, a module is in its evaluation mode; afterwards each of its parts is in the mode it was in."""
    modes = [(part, part.training) for part in encoder.modules()] if isinstance(encoder, nn.Module) else []
    if modes:
        encoder.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    known = [part.cpu() for part in parts if part is not None]
    return torch.cat(known) if known else None


def encode_all(method: Method, data: FactorData) -> Tensor:
    """The codes of every row, in order: float32 (len, d)."""
    assert data.weights is None
    return represent(method, data, samples=len(data)).codes
