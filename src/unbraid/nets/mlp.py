"""The fully connected encoder and decoder of the first β-VAE paper (Higgins et al. 2017, table 1, dSprites)."""

from __future__ import annotations

import math

from torch import nn

from unbraid.nets.layers import FullLinear, ImageShape


def mlp_encoder(image_shape: ImageShape, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(image_shape), 1200), nn.ReLU(), nn.Linear(1200, 1200), nn.ReLU(),
        FullLinear(1200, outputs),
    )  # fmt: skip


def mlp_decoder(codes: int, image_shape: ImageShape) -> nn.Module:
    return nn.Sequential(
        FullLinear(codes, 1200), nn.Tanh(), nn.Linear(1200, 1200), nn.Tanh(), nn.Linear(1200, 1200), nn.Tanh(),
        FullLinear(1200, math.prod(image_shape)), nn.Unflatten(1, image_shape),
    )  # fmt: skip
