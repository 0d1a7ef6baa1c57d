"""A classifier two-sample test (Lopez-Paz & Oquab 2017): can anybody tell images of one kind from those of another?"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid import nets
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError

BATCH = 128
RATE = 1e-3


def two_sample_accuracy(
    real: Tensor, fake: Tensor, weights: Tensor | None = None, *, network: str, steps: int = 400, rng: Rng = 0
) -> float:
    """How often a new network tells images of two kinds apart, (n, C, H, W) and (m, C, H, W) in [0, 1].

    The first half of each kind trains it, the other tests it; both kinds weigh the same whatever their numbers. With
    `weights` (m,) the second kind counts by them, in training and in testing. 0.5 where nobody could tell the two, and
    for the best classifier 0.5 + half the total variation between them. `network` is one of `nets.NETWORKS`.
    """
    if min(len(real), len(fake)) < 2:
        raise InputError(f"there are {len(real)} and {len(fake)} images; expected at least two of each kind")
    counts = torch.ones(len(fake)) if weights is None else weights.detach().float().cpu()
    if counts.shape != (len(fake),) or not bool((counts >= 0).all() and counts.sum() > 0):
        raise InputError(
            f"weights are of shape {tuple(counts.shape)}; expected ({len(fake)},), none below 0, not all 0"
        )
    a, b = len(real) // 2, len(fake) // 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator(rng).initial_seed())
        model = nets.critic(network, (real.shape[1], real.shape[2], real.shape[3]))
        _train(model, real[:a], fake[:b], counts[:b], steps)
    with torch.no_grad():
        right_real = (_logits(model, real[a:]) > 0).float().mean()
        right_fake = (_logits(model, fake[b:]) <= 0).float()
        return float(right_real + (counts[b:] * right_fake).sum() / counts[b:].sum()) / 2


def _train(model: nn.Module, real: Tensor, fake: Tensor, weights: Tensor, steps: int) -> None:
    """Logits above 0 are for the first kind. The second is drawn by its weights."""
    adam = torch.optim.Adam(model.parameters(), RATE)
    for _ in range(steps):
        first = real[torch.randint(len(real), (BATCH // 2,))]
        second = fake[torch.multinomial(weights, BATCH // 2, replacement=True)]
        logits = model(torch.cat([first, second]).float())[:, 0]
        truth = torch.arange(BATCH) < BATCH // 2
        loss = F.binary_cross_entropy_with_logits(logits, truth.float())
        adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()


def _logits(model: nn.Module, images: Tensor) -> Tensor:
    return torch.cat([model(part.float())[:, 0] for part in torch.split(images, 512)])


def effective_share(weights: Tensor) -> float:
    """(Σw)² / (n Σw²): which share of the images the weighted ones are worth, 1 where all weigh the same."""
    return float(weights.sum().square() / (len(weights) * weights.square().sum()))
