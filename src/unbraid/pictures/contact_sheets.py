"""A data set at a glance: random images, and each factor moved by itself."""

from __future__ import annotations

import torch
from PIL import Image
from torch import Tensor

from unbraid.data.factors import FactorData, Rng, generator
from unbraid.errors import InputError
from unbraid.pictures.sheets import Strip, sheet


def contact_sheet(name: str, data: FactorData, rng: Rng = 0, columns: int = 12) -> Image.Image:
    """Two rows of random images, then one row per factor that moves only that factor."""
    rng = generator(rng)
    images, _ = data.sample(2 * columns, rng)
    strips = [Strip("random", images[:columns]), Strip("", images[columns:])]
    for factor, size in enumerate(data.sizes):
        column, values = _sweep(data, factor, columns, rng)
        shown = "all" if len(values) == size else f"{len(values)} of"
        strips.append(Strip(data.names[factor], column, f"{shown} {size} values"))
    channels, height, width = data.image_shape
    return sheet(name, f"{len(data):,} images of {width} x {height} x {channels}, {data.source}", strips)


def _sweep(data: FactorData, factor: int, columns: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Images of one random row with one factor moved over evenly spaced values, and the values.

    Where the data is not a full grid, a row is chosen for which most values exist.
    """
    size = data.sizes[factor]
    values = torch.linspace(0, size - 1, min(size, columns)).round().long()
    best: Tensor | None = None
    for _ in range(20):
        factors = data.factors_at(data.sample_index(1, rng)).repeat(len(values), 1)
        factors[:, factor] = values
        existing = _existing(data, factors)
        if best is None or len(existing) > len(best):
            best = existing
        if len(best) == len(values):
            break
    assert best is not None
    if not len(best):  # many factors, or missing labels: any image with each of the values
        return _any_with(data, factor, values)
    noise = rng.initial_seed()  # the same noise along the row, so that only the factor moves
    images = torch.cat([data.images(row[None], torch.Generator().manual_seed(noise)) for row in best])
    return images, best[:, factor]


def _existing(data: FactorData, factors: Tensor) -> Tensor:
    """Those of the factor combinations that occur in the data."""
    existing = []
    for row in factors:
        try:
            data.index_of(row[None])
        except InputError:
            continue
        existing.append(row)
    return torch.stack(existing) if existing else factors[:0]


def _any_with(data: FactorData, factor: int, values: Tensor) -> tuple[Tensor, Tensor]:
    """The first image with each of these values of a factor that occurs, and the values."""
    column = data.all_factors()[:, factor]
    present = [value for value in values.tolist() if bool((column == value).any())]
    rows = torch.tensor([int((column == value).nonzero()[0, 0]) for value in present])
    return data.images_at(rows), torch.tensor(present)
