"""Translation difficulty: how hard it is to translate one value of a feature into another (intervention, section 3)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Generator, Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.translation import Pairs, difficulty, entropy, first_weights
from unbraid.metrics import Scores
from unbraid.progress import progress


class Coder(Protocol):
    """What the score needs of a method; any `Method` with a decoder provides it."""

    def encode(self, images: Tensor) -> Tensor:
        """uint8 (n, C, H, W) -> codes (n, d)."""

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (n, d) -> images in [0, 1], (n, C, H, W)."""

    @property
    def code_groups(self) -> list[list[int]] | None:
        """The columns of the codes that form each feature; None if each column is a feature."""


def translation_difficulty(
    method: Coder,
    data: FactorData,
    rng: Rng = 0,
    *,
    values: int = 11,
    images: int = 64,
    steps: int = 5,
    rate: float = 2.0,
    width: int = 64,
) -> Scores:
    """L_diff of intervention as a score of any method that encodes and decodes; lower is better.

    For each feature, `values` values are drawn from the data. Each ordered pair of values is a task: given `images`
    random images with the first value, predict the same images with the second. A translation network of `width` hidden
    units takes `steps` steps of gradient descent at this `rate` (algorithm 1). `translation_difficulty` is its
    cross-entropy on as many other images, in nats per image, averaged over features and pairs. `excess` is the
    difference to the entropy of the predicted images, which is the lower bound. `spread_features` is the standard
    deviation over features, `spread_values` that over the pairs of a feature.

    `arrays`: `difficulty` and `excess` of each task, (features, values, values), NaN on the diagonal.
    """
    for name, value, least in (("values", values, 2), ("images", images, 1), ("steps", steps, 0), ("width", width, 1)):
        if value < least:
            raise InputError(f"{name} is {value}; expected at least {least}")
    if not rate > 0:
        raise InputError(f"rate is {rate}; expected a number above 0")
    rng = generator(rng)
    networks = generator(int(torch.randint(2**31, (), generator=rng)))  # apart: any width sees the same images
    if isinstance(method, torch.nn.Module):
        method.eval()
    with torch.no_grad():
        latents = method.encode(data.sample(1, rng)[0]).shape[1]
    groups = method.code_groups or [[column] for column in range(latents)]
    losses = torch.full((2, len(groups), values, values), torch.nan, dtype=torch.float64)
    with progress("translating", len(groups) * values) as advance:
        for feature, group in enumerate(groups):
            decoded = _with_each_value(method, data, group, values, 2 * images, rng)
            for a in range(values):
                others = [b for b in range(values) if b != a]
                u, v = decoded[a].expand(len(others), -1, -1), decoded[others]
                train, test = Pairs(u[:, :images], v[:, :images]), Pairs(u[:, images:], v[:, images:])
                weights = first_weights(train, width, networks)
                with torch.no_grad():
                    loss = difficulty(train, test, weights, steps, rate)
                losses[:, feature, a, others] = torch.stack([loss, loss - entropy(test.v)]).double().cpu()
                advance()
    hard, excess = losses
    by_feature = hard.nanmean((1, 2))
    by_pair = torch.stack([one[~one.isnan()] for one in hard])  # (features, ordered pairs)
    scores = {
        "translation_difficulty": float(by_feature.mean()),
        "excess": float(excess.nanmean()),
        "spread_features": float(by_feature.std(correction=0)),
        "spread_values": float(by_pair.std(1, correction=0).mean()),
    }
    return Scores(scores, difficulty=hard.numpy(), excess=excess.numpy())


@torch.no_grad()
def _with_each_value(
    method: Coder, data: FactorData, group: list[int], values: int, images: int, rng: Generator
) -> Tensor:
    """Decoded images of the data with a feature set to each of its values, (values, images, pixels)."""
    codes = method.encode(data.sample(images, rng)[0])
    drawn = method.encode(data.sample(values, rng)[0])[:, group]
    decoded = []
    for value in drawn:
        moved = codes.clone()
        moved[:, group] = value
        decoded.append(method.decode(moved).float().flatten(1))
    return torch.stack(decoded)
