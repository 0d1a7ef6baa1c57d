"""Networks on codes: the heads of supervised tasks, and FactorVAE's discriminator."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn


class Heads(nn.Module):
    """`count` fully connected networks on the same codes, run as one: (n, codes) -> (count, n, outputs).

    Multitask, table 3: three hidden layers of 300. Each starts as networks of `nn.Linear` would.
    """

    def __init__(
        self, count: int, codes: int, outputs: int, width: int = 300, layers: int = 3, activation: str = "relu"
    ) -> None:
        super().__init__()
        sizes = [codes, *[width] * layers, outputs]
        self.activation = {"relu": torch.relu_, "tanh": torch.tanh_}[activation]
        self.weights = nn.ParameterList(_uniform(count, inputs, width, inputs) for inputs, width in pairwise(sizes))
        self.biases = nn.ParameterList(_uniform(count, 1, width, inputs) for inputs, width in pairwise(sizes))

    def forward(self, codes: Tensor, chosen: slice = slice(None)) -> Tensor:
        """The outputs of all heads, or of the chosen ones."""
        with torch.autocast(codes.device.type, enabled=False):  # codes in fp32, as in FullLinear
            first, bias = self.weights[0][chosen], self.biases[0][chosen]
            x = torch.baddbmm(bias, codes.float().expand(len(first), *codes.shape), first)
        for weights, biases in zip(self.weights[1:], self.biases[1:], strict=True):
            x = torch.baddbmm(biases[chosen], self.activation(x), weights[chosen])
        return x


def _uniform(count: int, rows: int, columns: int, inputs: int) -> nn.Parameter:
    """How `nn.Linear` with this many inputs starts its weights and biases."""
    bound = 1 / math.sqrt(inputs)
    return nn.Parameter(torch.empty(count, rows, columns).uniform_(-bound, bound))


def discriminator(codes: int, layers: int = 6, width: int = 1000) -> nn.Module:
    """FactorVAE's discriminator: codes -> two logits. Assumptions' released code has six layers, its table 4 one."""
    modules: list[nn.Module] = []
    for layer in range(layers):
        modules += [nn.Linear(width if layer else codes, width), nn.LeakyReLU(0.2)]
    return nn.Sequential(*modules, nn.Linear(width, 2))
