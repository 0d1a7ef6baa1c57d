"""InfoGAN-CR's networks, from its authors' code for dSprites."""

from __future__ import annotations

from itertools import pairwise

from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from unbraid.nets.layers import FullLinear, ImageShape, LastUpConv, check_side


def infogan_generator(codes: int, image_shape: ImageShape, channels: int = 32) -> nn.Module:
    """Codes and noise (n, codes) -> logits of images, with batch norm behind each activation."""
    check_side("infogan_cr", image_shape, 16, 256)
    side, deep = image_shape[1] // 16, 2 * channels
    layers: list[nn.Module] = [
        FullLinear(codes, 128), nn.ReLU(), nn.BatchNorm1d(128),
        nn.Linear(128, deep * side * side), nn.ReLU(), nn.BatchNorm1d(deep * side * side),
        nn.Unflatten(1, (deep, side, side)),
    ]  # fmt: skip
    for inputs, outputs in pairwise([deep, deep, channels, channels]):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1), nn.LeakyReLU(0.2), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, LastUpConv(channels, image_shape[0]))


def infogan_trunk(image_shape: ImageShape, channels: int = 32) -> nn.Module:
    """Images -> 128 features, every layer spectrally normalised: what all of its discriminators begin with."""
    check_side("infogan_cr", image_shape, 16, 256)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([image_shape[0], channels, channels, 2 * channels, 2 * channels]):
        layers += [spectral_norm(nn.Conv2d(inputs, outputs, 4, 2, 1)), nn.LeakyReLU(0.2)]
    inputs = 2 * channels * (image_shape[1] // 16) ** 2
    return nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(inputs, 128)), nn.LeakyReLU(0.2))
