"""A score without factors: how hard one value of a feature is to translate into another (intervention, section 3)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Generator, Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.translation import Pairs, difficulty, first_weights
from unbraid.metrics import Scores
from unbraid.progress import progress


class Coder(Protocol):
    """What the score asks of a method; any `Method` with a decoder has it."""

    def encode(self, images: Tensor) -> Tensor:
        """uint8 (n, C, H, W) -> codes (n, d)."""

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (n, d) -> images in [0, 1], (n, C, H, W)."""

    @property
    def code_groups(self) -> list[list[int]] | None:
        """Which columns of the codes form one feature; None where each column is one."""


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

    For every feature, `values` of it are drawn from the data, and every ordered pair of them is a task: given `images`
    random images of the data with the one value, predict the same images with the other. `translation_difficulty` is
    the cross-entropy, in nats an image, of as many other images after a translation network of `width` hidden units
    has taken `steps` of gradient descent at this `rate` (algorithm 1), on average over features and pairs.
    `excess` is what it is above the entropy of the predicted images, below which nobody could be; `spread_features`
    the standard deviation over features, `spread_values` that over the pairs of a feature. `arrays["difficulty"]` has
    every task, (features, values, values), NaN on the diagonal.
    """
    for name, value, least in (("values", values, 2), ("images", images, 1), ("steps", steps, 0), ("width", width, 1)):
        if value < least:
            raise InputError(f"{name} is {value}; expected at least {least}")
    if not rate > 0:
        raise InputError(f"rate is {rate}; expected a number above 0")
    rng = generator(rng)
    if isinstance(method, torch.nn.Module):
        method.eval()
    with torch.no_grad():
        latents = method.encode(data.sample(1, rng)[0]).shape[1]
    groups = method.code_groups or [[column] for column in range(latents)]
    found = torch.full((2, len(groups), values, values), torch.nan, dtype=torch.float64)
    with progress("translating", len(groups) * values) as advance:
        for feature, group in enumerate(groups):
            decoded = _with_each_value(method, data, group, values, 2 * images, rng)
            for a in range(values):
                others = [b for b in range(values) if b != a]
                u, v = decoded[a].expand(len(others), -1, -1), decoded[others]
                train, test = Pairs(u[:, :images], v[:, :images]), Pairs(u[:, images:], v[:, images:])
                weights = first_weights(train, width, rng)
                with torch.no_grad():
                    loss = difficulty(train, test, weights, steps, rate, through=False)
                found[:, feature, a, others] = torch.stack([loss, loss - _entropy(test.v)]).double().cpu()
                advance()
    hard, excess = found
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


def _entropy(v: Tensor) -> Tensor:
    """-Σ(v log v + (1-v) log(1-v)) in nats an image, averaged over images: (tasks, n, pixels) -> (tasks,)."""
    return -(torch.xlogy(v, v) + torch.xlogy(1 - v, 1 - v)).sum(2).mean(1)
