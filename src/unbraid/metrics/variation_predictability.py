"""Variation predictability (Zhu et al. 2020): can it be told which feature was changed between two images?"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from unbraid import nets
from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.metrics import Scores
from unbraid.metrics.translation_difficulty import Coder

BATCH = 64


def variation_predictability(
    method: Coder,
    data: FactorData,
    rng: Rng = 0,
    *,
    pairs: int = 4000,
    trained: float = 0.1,
    steps: int = 300,
    rate: float = 1e-3,
    network: str = "patches",
) -> Scores:
    """How often a network tells which feature differs between two decoded images; more is better, chance is 1/K.

    Each of the `pairs` is an image of the data, encoded and decoded, and the same with one of its K features, all
    equally often, replaced by that of another image. A network (an encoder of this name on both images, one on top of
    the other, with K outputs) learns from the share `trained` of them: `steps` steps of Adam at this `rate` on 64
    pairs. `variation_predictability` is its accuracy on the others, `overfit` how much better it is on its own.

    `arrays`: `confusion` (K, K), how often each feature (row) was taken for each other (column), as shares of a row.
    """
    rng = generator(rng)
    if isinstance(method, torch.nn.Module):
        method.eval()
    inputs, labels, features = _pairs(method, data, pairs, rng)
    first = round(trained * pairs)
    if not 0 < first < pairs:
        raise InputError(f"trained is {trained:g}; expected a share of {pairs} pairs, some to learn from, some to test")
    if features < 2:
        raise InputError("the method has one feature; expected at least 2, of which one was changed")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**31, (1,), generator=rng)))
        predictor = _trained(inputs[:first], labels[:first], features, steps, rate, network)
    own, others = (_guesses(predictor, part) for part in (inputs[:first], inputs[first:]))
    accuracy = float((others == labels[first:]).double().mean())
    confusion = torch.zeros(features, features, dtype=torch.float64)
    confusion.index_put_((labels[first:], others), torch.ones(len(others), dtype=torch.float64), accumulate=True)
    scores = {
        "variation_predictability": accuracy,
        "overfit": float((own == labels[:first]).double().mean()) - accuracy,
    }
    return Scores(scores, confusion=(confusion / confusion.sum(1, keepdim=True).clamp(min=1)).numpy())


@torch.no_grad()
def _pairs(method: Coder, data: FactorData, count: int, rng: Generator) -> tuple[Tensor, Tensor, int]:
    """Both images of each pair on top of each other (n, 2C, H, W), which feature differs (n,), and how many there are.

    In random order, all features equally often up to rounding.
    """
    codes, others = (method.encode(data.sample(count, rng)[0]) for _ in range(2))
    groups = method.code_groups or [[column] for column in range(codes.shape[1])]
    labels = (torch.arange(count) % len(groups))[torch.randperm(count, generator=rng)]
    moved = codes.clone()
    for feature, group in enumerate(groups):
        rows = (labels == feature).nonzero().to(codes.device)
        columns = torch.tensor(group, device=codes.device)
        moved[rows, columns] = others[rows, columns]
    return torch.cat([method.decode(codes).float(), method.decode(moved).float()], 1).cpu(), labels, len(groups)


def _trained(
    inputs: Tensor, labels: Tensor, features: int, steps: int, rate: float, network: str
) -> torch.nn.Module:  # fmt: skip
    channels, height, width = inputs.shape[1:]
    predictor = nets.encoder(network, (channels, height, width), features)
    optimiser = torch.optim.Adam(predictor.parameters(), rate)
    with torch.enable_grad():
        for _ in range(steps):
            rows = torch.randint(len(inputs), (BATCH,))
            loss = F.cross_entropy(predictor(inputs[rows]), labels[rows])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return predictor.eval()


@torch.no_grad()
def _guesses(predictor: torch.nn.Module, inputs: Tensor) -> Tensor:
    return torch.cat([predictor(part).argmax(1) for part in torch.split(inputs, 1000)])
