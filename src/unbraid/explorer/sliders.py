"""What the sliders of a page move: the latents of a representation, or principal directions of its features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.errors import InputError
from unbraid.methods.gaussian import kl_per_latent
from unbraid.training.representation import Representation

UNUSED = 0.05  # nats of mean KL up to which a slider moves nothing that one can see
FAINT = 0.05  # of the largest spread: the same for a latent without KL
BINS = 40


@dataclass(frozen=True)
class Slider:
    """One direction in the space of codes, and how the data is spread along it."""

    name: str
    kl: float | None
    """Mean KL in nats, None where the encoder is not Gaussian."""
    spread: float
    """Standard deviation over the data."""
    low: float
    high: float
    histogram: list[int]
    """Codes in bins of equal width from `low` to `high`."""
    unused: bool


@dataclass(frozen=True)
class Sliders:
    """Sliders, most used first, and the map between their positions and codes."""

    sliders: list[Slider]
    columns: Tensor
    """(d,): which direction each slider moves, the latents themselves where there are no features."""
    features: tuple[Tensor, Tensor] | None = None
    """Where features have several dimensions: directions (d, d), orthonormal rows, and the codes' centre (d,)."""

    def codes(self, positions: Tensor) -> Tensor:
        along = positions.index_select(1, self.columns.argsort())
        return along if self.features is None else along @ self.features[0] + self.features[1]

    def positions(self, codes: Tensor) -> Tensor:
        along = codes if self.features is None else (codes - self.features[1]) @ self.features[0].T
        return along.index_select(1, self.columns)


def sliders_of(representation: Representation) -> Sliders:
    """Sliders by mean KL, or by spread where the encoder is not Gaussian. Codes that are not finite do not count."""
    kept = representation.codes.isfinite().all(1)
    if not bool(kept.any()):
        raise InputError("no code is a finite number: this model has diverged")
    codes = representation.codes[kept]
    width = codes.shape[1]
    names, features, positions = [f"z{latent}" for latent in range(width)], None, codes
    if representation.groups is not None:
        names, features = _principal(codes, representation.groups)
        positions = (codes - features[1]) @ features[0].T
    kl = None
    if representation.logvar is not None and representation.groups is None:
        kl = kl_per_latent(codes, representation.logvar[kept]).mean(0)
    spread = positions.std(0, correction=0)
    order = (spread if kl is None else kl).argsort(descending=True, stable=True).tolist()
    largest = float(spread.max())
    made = []
    for direction in order:
        divergence = None if kl is None else float(kl[direction])
        low, high = _range(positions[:, direction], divergence is not None)
        unused = float(spread[direction]) <= FAINT * largest if divergence is None else divergence <= UNUSED
        counts = torch.histc(positions[:, direction], BINS, low, high).int().tolist()
        made.append(Slider(names[direction], divergence, float(spread[direction]), low, high, counts, unused))
    return Sliders(made, torch.tensor(order), features)


def _principal(codes: Tensor, groups: list[list[int]]) -> tuple[list[str], tuple[Tensor, Tensor]]:
    """The principal directions of each feature (columns that belong together), most spread first, and the centre."""
    centre, directions, names = codes.mean(0), [], []
    for feature, group in enumerate(groups):
        _, vectors = torch.linalg.eigh(torch.cov((codes - centre)[:, group].T, correction=0).reshape(len(group), -1))
        for rank, vector in enumerate(vectors.T.flip(0)):
            vector = vector * vector[vector.abs().argmax()].sign()  # so that the same codes give the same slider
            direction = torch.zeros(codes.shape[1])
            direction[group] = vector
            directions.append(direction)
            names.append(f"f{feature} axis {rank + 1}")
    return names, (torch.stack(directions), centre)


def _range(values: Tensor, gaussian: bool) -> tuple[float, float]:
    """From nearly the smallest to nearly the largest value; at least ±2 where the prior is a standard normal."""
    ordered = values.sort().values
    edge = len(ordered) // 200
    low, high = float(ordered[edge]), float(ordered[-1 - edge])
    margin = 0.05 * (high - low)
    low, high = low - margin, high + margin
    if gaussian:
        low, high = min(low, -2.0), max(high, 2.0)
    return (low, high) if high - low > 1e-6 else (low - 1.0, high + 1.0)
