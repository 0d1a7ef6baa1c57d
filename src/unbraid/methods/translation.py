"""Algorithm 1 of intervention: how hard images with one value of a feature are to translate into those with another."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

EDGE = 0.02  # a copied black pixel is predicted to be black with probability 1 - EDGE
LEAST = 0.01  # squared distance of images from their mean below which they count as equal
TARGETS = ("written", "detached", "excess")
"""What is minimised: the cross-entropy with v, that with a v which does not move, or its excess over v's entropy."""


@dataclass(frozen=True)
class Pairs:
    """Images with one value of a feature and the same images with another: u and v, (tasks, n, pixels) in [0, 1].

    A task is a feature and two of its values; each has a translation network of its own.
    """

    u: Tensor
    v: Tensor


@dataclass(frozen=True)
class Weights:
    """θ_M: of the hidden layer (tasks, pixels, width), of the output (tasks, width, pixels), and the output's bias."""

    hidden: Tensor
    output: Tensor
    bias: Tensor


def first_weights(pairs: Pairs, width: int, rng: Generator | None = None) -> Weights:
    """θ_M before its first step, for each task of these pairs: M copies u. From torch's default generator or `rng`."""
    tasks, _, pixels = pairs.u.shape
    hidden = torch.randn(tasks, pixels, width, generator=rng, dtype=pairs.u.dtype).to(pairs.u.device)
    return Weights(hidden, hidden.new_zeros(tasks, width, pixels), hidden.new_zeros(tasks, 1, pixels))


def copied(u: Tensor) -> Tensor:
    """The logits of v that M begins with."""
    return torch.logit(EDGE + (1 - 2 * EDGE) * u)


def standardised(u: Tensor, images: Tensor) -> Tensor:
    """What the hidden layer sees: u less the mean of these images, over their spread, so that one rate suits all."""
    mean = images.mean(1, keepdim=True)
    return (u - mean) / ((images - mean).square().sum(2, keepdim=True).mean(1, keepdim=True) + LEAST).sqrt()


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


def difficulty(train: Pairs, test: Pairs, weights: Weights, steps: int, rate: float) -> Tensor:
    """L̃_trans of algorithm 1, (tasks,): the cross-entropy of the test pairs after `steps` of M on the training pairs.

    M(u) = copied(u) + output · relu(hidden · standardised(u)) / √width + bias, the logits of v. θ_M ← θ_M - α ∇L_trans,
    α = `rate`; for the hidden layer, whose gradient is a sum over pixels, over their number. The gradients are spelled
    out, so the result can be differentiated through the steps, with respect to u and v.

    >>> u = torch.tensor([[[0.0, 0.0], [1.0, 1.0]]])  # one task, two images of two pixels
    >>> copies, inverted = Pairs(u, u), Pairs(u, 1 - u)
    >>> def hard(pairs):
    ...     weights = first_weights(pairs, width=8, rng=torch.Generator().manual_seed(0))
    ...     return difficulty(pairs, pairs, weights, steps=5, rate=0.5)
    >>> hard(copies) < hard(inverted)  # M starts as a copy
    tensor([True])
    """
    (_, n, pixels), scale = train.u.shape, weights.hidden.shape[2] ** -0.5
    u = torch.cat([train.u, test.u], 1)
    seen = standardised(u, train.u)
    # The hidden weights move along training images alone. So their products with all images move along the inner
    # products of images, and the weights themselves, as many as pixels, need not be moved.
    hidden, inner = seen @ weights.hidden, seen @ seen[:, :n].mT / pixels
    output, bias, copy = weights.output, weights.bias, copied(train.u)
    for _ in range(steps):
        units = torch.relu(hidden[:, :n]) * scale
        errors = (torch.sigmoid(copy + torch.baddbmm(bias, units, output)) - train.v) / n  # ∂L_trans/∂logits
        hidden = hidden - rate * (inner @ (scale * (errors @ output.mT) * (units > 0)))
        output = output - rate * (units.mT @ errors)
        bias = bias - rate * errors.sum(1, keepdim=True)
    units = torch.relu(hidden[:, n:]) * scale
    return cross_entropy(test.v, copied(test.u) + torch.baddbmm(bias, units, output))
