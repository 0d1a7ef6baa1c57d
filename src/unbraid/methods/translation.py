"""Algorithm 1 of intervention: how hard images with one value of a feature are to translate into those with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

EDGE = 0.02  # a copied black pixel is predicted to be black with probability 1 - EDGE
LEAST = 0.01  # squared distance of images from their mean below which they count as equal
Weights = Sequence[Tensor]  # of the hidden layer, of the output, and the output's bias
TARGETS = ("written", "detached", "excess")
"""What is minimised: the cross-entropy with v, that with a v which does not move, or its excess over v's entropy."""


@dataclass(frozen=True)
class Pairs:
    """Images with one value of a feature and the same images with another: u and v, (tasks, n, pixels) in [0, 1].

    A task is a feature and two of its values; each has a translation network of its own.
    """

    u: Tensor
    v: Tensor


def first_weights(pairs: Pairs, width: int, rng: Generator | None = None) -> Weights:
    """θ_M before its first step, for each task of these pairs: M copies u. From torch's default generator or `rng`."""
    tasks, _, pixels = pairs.u.shape
    hidden = torch.randn(tasks, pixels, width, generator=rng, dtype=pairs.u.dtype).to(pairs.u.device)
    output, bias = hidden.new_zeros(tasks, width, pixels), hidden.new_zeros(tasks, 1, pixels)
    return [weight.requires_grad_() for weight in (hidden, output, bias)]


@dataclass(frozen=True)
class Translation:
    """M: u -> logits of v. A copy of u, and what a hidden layer of ReLUs adds to it.

    The hidden layer sees u less the mean of the training images, over their spread, so that the same learning rate
    suits all images. `mean` and `spread` are (tasks, 1, pixels) and (tasks, 1, 1).
    """

    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, images: Tensor) -> Translation:
        mean = images.mean(1, keepdim=True)
        return cls(mean, ((images - mean).square().sum(2, keepdim=True).mean(1, keepdim=True) + LEAST).sqrt())

    def __call__(self, u: Tensor, weights: Weights) -> Tensor:
        hidden, output, bias = weights
        copied = torch.logit(EDGE + (1 - 2 * EDGE) * u)
        units = torch.relu(torch.bmm((u - self.mean) / self.spread, hidden)) / hidden.shape[2] ** 0.5
        return copied + torch.baddbmm(bias, units, output)


def cross_entropy(v: Tensor, logits: Tensor) -> Tensor:
    """crossentropy(v, M(u)) in nats per image: summed over pixels, averaged over images, (tasks,)."""
    return F.binary_cross_entropy_with_logits(logits, v, reduction="none").sum(2).mean(1)


def entropy(v: Tensor) -> Tensor:
    """-Σ(v log v + (1-v) log(1-v)) in nats per image, averaged over images: (tasks, n, pixels) -> (tasks,).

    The least that the cross-entropy with v can be. A pixel of exactly 0 or 1 adds nothing, and has no slope: that of
    v log v is infinite there, which a sigmoid that has saturated would turn into NaN.
    """
    grey = (v > 0) & (v < 1)
    inside = torch.where(grey, v, 0.5)
    nats = torch.special.entr(inside) + torch.special.entr(1 - inside)
    return torch.where(grey, nats, 0.0).sum(2).mean(1)


def difficulty(train: Pairs, test: Pairs, weights: Weights, steps: int, rate: float, through: bool) -> Tensor:
    """L̃_trans of algorithm 1, (tasks,): the cross-entropy of the test pairs after `steps` of M on the training pairs.

    θ_M ← θ_M - α ∇L_trans(θ_M), α = `rate`; for the hidden layer, whose gradient is a sum over pixels, over their
    number. With `through` the result can be differentiated through these steps, with respect to u and v.

    >>> u = torch.tensor([[[0.0, 0.0], [1.0, 1.0]]])  # one task, two images of two pixels
    >>> copies, inverted = Pairs(u, u), Pairs(u, 1 - u)
    >>> def hard(pairs):
    ...     weights = first_weights(pairs, width=8, rng=torch.Generator().manual_seed(0))
    ...     return difficulty(pairs, pairs, weights, steps=5, rate=0.5, through=False)
    >>> hard(copies) < hard(inverted)  # M starts as a copy
    tensor([True])
    """
    model = Translation.of(train.u)
    rates = (rate / train.u.shape[2], rate, rate)
    with torch.enable_grad():
        for _ in range(steps):
            loss = cross_entropy(train.v, model(train.u, weights)).sum()  # tasks share no weights
            slopes = torch.autograd.grad(loss, weights, create_graph=through)
            moved = [weight - r * slope for weight, r, slope in zip(weights, rates, slopes, strict=True)]
            weights = moved if through else [weight.detach().requires_grad_() for weight in moved]
    return cross_entropy(test.v, model(test.u, weights))
