"""Convolutional encoders, decoders and critics of the papers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from torch import nn

from unbraid.nets.layers import FullLinear, FullUpConv, ImageShape, LastUpConv, stride_two

EncoderBuilder = Callable[[ImageShape, int], nn.Module]
DecoderBuilder = Callable[[int, ImageShape], nn.Module]
CriticBuilder = Callable[[ImageShape], nn.Module]


def conv_encoder(channels: tuple[int, ...], hidden: int, kernels: tuple[int, ...] = ()) -> EncoderBuilder:
    """Convolutions that halve the side to these numbers of channels, one hidden layer, the outputs.

    Kernels are 4x4, or have these sides.
    """

    def build(image_shape: ImageShape, outputs: int) -> nn.Module:
        side = image_shape[1] // 2 ** len(channels)
        return nn.Sequential(
            *stride_two([image_shape[0], *channels], kernels=kernels),
            nn.Flatten(),
            nn.Linear(channels[-1] * side * side, hidden),
            nn.ReLU(),
            FullLinear(hidden, outputs),
        )

    return build


def conv_decoder(channels: tuple[int, ...], hidden: int) -> DecoderBuilder:
    """One hidden layer, then transposed convolutions that double the side from these numbers of channels."""

    def build(codes: int, image_shape: ImageShape) -> nn.Module:
        first, side = channels[0], image_shape[1] // 2 ** len(channels)
        layers: list[nn.Module] = [
            FullLinear(codes, hidden),
            nn.ReLU(),
            nn.Linear(hidden, first * side * side),
            nn.ReLU(),
            nn.Unflatten(1, (first, side, side)),
        ]
        for inputs, outputs in pairwise(channels):
            layers += [nn.ConvTranspose2d(inputs, outputs, 4, 2, 1), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, LastUpConv(channels[-1], image_shape[0]))

    return build


def multitask_encoder(activation: type[nn.Module]) -> EncoderBuilder:
    """Table 2 of multitask: sides 32, 16, 8, 4, 2, 1. In appendix C.3 the activation is tanh."""

    def build(image_shape: ImageShape, outputs: int) -> nn.Module:
        layers = stride_two([image_shape[0], 32, 32, 64, 128, 256, 256], activation=activation)
        return nn.Sequential(*layers, nn.Flatten(), FullLinear(256, outputs))

    return build


def multitask_decoder(activation: type[nn.Module]) -> DecoderBuilder:
    """Table 2 of multitask: sides 1, 2, 6, 14, 30, 62, 64; the paddings are those of the code the paper builds on."""

    def build(codes: int, image_shape: ImageShape) -> nn.Module:
        return nn.Sequential(
            nn.Unflatten(1, (codes, 1, 1)),
            nn.Conv2d(codes, 256, 1, 2),
            activation(),
            nn.ConvTranspose2d(256, 256, 4, 2, 1),
            activation(),
            nn.ConvTranspose2d(256, 128, 4, 2),
            activation(),
            nn.ConvTranspose2d(128, 128, 4, 2),
            activation(),
            nn.ConvTranspose2d(128, 64, 4, 2),
            activation(),
            nn.ConvTranspose2d(64, 64, 4, 2),
            activation(),
            FullUpConv(64, image_shape[0], 3, 1),
        )

    return build


def _normalised(layer: nn.Module, channels: int) -> list[nn.Module]:
    return [layer, nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]


def population_encoder(image_shape: ImageShape, outputs: int) -> nn.Module:
    """The network of population's released code: batch norm behind every convolution, 512 hidden units."""
    channels, side = [image_shape[0], 32, 32, 64, 64], image_shape[1] // 16
    layers = [layer for i, o in pairwise(channels) for layer in _normalised(nn.Conv2d(i, o, 4, 2, 1), o)]
    return nn.Sequential(*layers, *_normalised(nn.Conv2d(64, 512, side), 512), nn.Flatten(), FullLinear(512, outputs))


def population_decoder(codes: int, image_shape: ImageShape) -> nn.Module:
    """The mirror image of `population_encoder`."""
    channels, side = [64, 64, 32, 32], image_shape[1] // 16
    layers = [layer for i, o in pairwise(channels) for layer in _normalised(nn.ConvTranspose2d(i, o, 4, 2, 1), o)]
    return nn.Sequential(
        nn.Unflatten(1, (codes, 1, 1)), *_normalised(FullUpConv(codes, 512, 1), 512),
        *_normalised(nn.ConvTranspose2d(512, 64, side), 64), *layers, LastUpConv(32, image_shape[0]),
    )  # fmt: skip


def _cmnist_trunk(image_shape: ImageShape, width: int) -> list[nn.Module]:
    """The first layers of tables 6 and 7 of intervention: they end in 2·width channels of a quarter of the side."""
    convolutions = stride_two([image_shape[0], width, 2 * width])
    return [*convolutions, nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.ReLU(inplace=True), nn.Flatten()]


def cmnist_encoder(width: int) -> EncoderBuilder:
    """Table 6 of intervention, where `width` is 64."""

    def build(image_shape: ImageShape, outputs: int) -> nn.Module:
        inputs = 2 * width * (image_shape[1] // 4) ** 2
        return nn.Sequential(*_cmnist_trunk(image_shape, width), FullLinear(inputs, outputs))

    return build


def cmnist_decoder(width: int) -> DecoderBuilder:
    """Table 6 of intervention, where `width` is 64.

    The table decodes from 4x4, from which two transposed convolutions cannot reach 28x28; 7x7 can.
    """

    def build(codes: int, image_shape: ImageShape) -> nn.Module:
        side = image_shape[1] // 4
        return nn.Sequential(
            FullLinear(codes, width * side * side), nn.ReLU(), nn.Unflatten(1, (width, side, side)),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(inplace=True), LastUpConv(width, image_shape[0]),
        )  # fmt: skip

    return build


def cmnist_critic(width: int) -> CriticBuilder:
    """Table 7 of intervention, where `width` is 64."""

    def build(image_shape: ImageShape) -> nn.Module:
        inputs = 2 * width * (image_shape[1] // 4) ** 2
        trunk = _cmnist_trunk(image_shape, width)
        return nn.Sequential(*trunk, nn.Linear(inputs, 2 * width), nn.ReLU(), FullLinear(2 * width, 1))

    return build


def flowers_critic(image_shape: ImageShape) -> nn.Module:
    """Table 9 of intervention."""
    return nn.Sequential(
        *stride_two([image_shape[0], 64, 64, 128, 128], slope=0.2), nn.Flatten(),
        nn.Linear(128 * (image_shape[1] // 16) ** 2, 256), nn.LeakyReLU(0.2), nn.Linear(256, 256), nn.LeakyReLU(0.2),
        FullLinear(256, 1),
    )  # fmt: skip
