"""Encoders, decoders and discriminators, each with the table it comes from.

`encoder(name, image_shape, outputs)` and `decoder(name, codes, image_shape)` build a pair by name. Encoders take float
images (n, C, H, W), decoders give logits (or means) of the same shape. Weights start as PyTorch's layers start them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from unbraid.errors import InputError, nearest

ImageShape = tuple[int, int, int]


class FullLinear(nn.Linear):
    """A linear layer in fp32 also where the rest runs in bf16: next to codes and at a decoder's end.

    A posterior is often narrower than one percent of its mean's range, which the eight bits of bf16 would round away;
    a logit's rounding error is multiplied by the number of pixels.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.to(self.weight.dtype))


class FullUpConv(nn.ConvTranspose2d):
    """A transposed convolution in fp32 also where the rest runs in bf16, at a decoder's end."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.to(self.weight.dtype), output_size)


class LastUpConv(nn.ConvTranspose2d):
    """A 4x4 transposed convolution of stride 2, computed as four 2x2 convolutions whose results interleave.

    The same map and parameters as `nn.ConvTranspose2d(…, 4, 2, 1)`, and several times faster on a CPU where there are
    few output channels: an output pixel sees 2x2 of the inputs, through one of the four quarters of the kernel. In fp32
    like the other full layers.
    """

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__(channels, outputs, 4, 2, 1)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return self._forward(x.to(self.weight.dtype))

    def _forward(self, x: Tensor) -> Tensor:
        channels, outputs, (height, width) = self.in_channels, self.out_channels, x.shape[2:]
        # Even output rows see input rows i-1 and i through kernel rows 3 and 1, odd ones i and i+1 through 2 and 0:
        # read backwards, the kernel's rows are (tap, parity).
        taps = self.weight.flip(2, 3).view(channels, outputs, 2, 2, 2, 2)  # (…, tap, odd row, tap, odd column)
        kernel = taps.permute(1, 3, 5, 0, 2, 4).reshape(4 * outputs, channels, 2, 2)
        maps = F.conv2d(x, kernel, padding=1).view(-1, outputs, 2, 2, height + 1, width + 1)
        windows = [maps[:, :, a, b, a : a + height, b : b + width] for a in (0, 1) for b in (0, 1)]
        bias = 0 if self.bias is None else self.bias[:, None, None]
        return F.pixel_shuffle(torch.stack(windows, 2).flatten(1, 2), 2) + bias


@dataclass(frozen=True)
class Network:
    """An encoder and a decoder that belong together."""

    encoder: Callable[[ImageShape, int], nn.Module]
    decoder: Callable[[int, ImageShape], nn.Module]
    multiple: int
    """The side of an image must be a multiple of this."""
    largest: int = 256
    critic: Callable[[ImageShape], nn.Module] | None = None
    """Images -> one logit, where its paper has a table for that; elsewhere an encoder with one output serves."""


def _stride_two(channels: list[int], slope: float = 0.0) -> list[nn.Module]:
    """4x4 convolutions of stride 2 with (leaky) ReLU, each of which halves the side."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(channels):
        activation = nn.LeakyReLU(slope, inplace=True) if slope else nn.ReLU(inplace=True)
        layers += [nn.Conv2d(inputs, outputs, 4, 2, 1), activation]
    return layers


def _conv_encoder(channels: tuple[int, ...], hidden: int) -> Callable[[ImageShape, int], nn.Module]:
    def build(image_shape: ImageShape, outputs: int) -> nn.Module:
        side = image_shape[1] // 2 ** len(channels)
        return nn.Sequential(
            *_stride_two([image_shape[0], *channels]),
            nn.Flatten(),
            nn.Linear(channels[-1] * side * side, hidden),
            nn.ReLU(),
            FullLinear(hidden, outputs),
        )

    return build


def _conv_decoder(channels: tuple[int, ...], hidden: int) -> Callable[[int, ImageShape], nn.Module]:
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


def _multitask_encoder(image_shape: ImageShape, outputs: int) -> nn.Module:
    return nn.Sequential(
        *_stride_two([image_shape[0], 32, 32, 64, 128, 256, 256]), nn.Flatten(), FullLinear(256, outputs)
    )


def _multitask_decoder(codes: int, image_shape: ImageShape) -> nn.Module:
    """Sides 1, 2, 6, 14, 30, 62, 64: the paddings are those of the code the paper builds on."""
    return nn.Sequential(
        nn.Unflatten(1, (codes, 1, 1)),
        nn.Conv2d(codes, 256, 1, 2),
        nn.ReLU(),
        nn.ConvTranspose2d(256, 256, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(256, 128, 4, 2),
        nn.ReLU(),
        nn.ConvTranspose2d(128, 128, 4, 2),
        nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 64, 4, 2),
        nn.ReLU(),
        FullUpConv(64, image_shape[0], 3, 1),
    )


def _mlp_encoder(image_shape: ImageShape, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(image_shape), 1200), nn.ReLU(), nn.Linear(1200, 1200), nn.ReLU(),
        FullLinear(1200, outputs),
    )  # fmt: skip


def _mlp_decoder(codes: int, image_shape: ImageShape) -> nn.Module:
    return nn.Sequential(
        FullLinear(codes, 1200), nn.Tanh(), nn.Linear(1200, 1200), nn.Tanh(), nn.Linear(1200, 1200), nn.Tanh(),
        FullLinear(1200, math.prod(image_shape)), nn.Unflatten(1, image_shape),
    )  # fmt: skip


def _cmnist_trunk(image_shape: ImageShape, width: int) -> list[nn.Module]:
    """What tables 6 and 7 of intervention begin with: it ends in 2·width channels of a quarter of the side."""
    convolutions = _stride_two([image_shape[0], width, 2 * width])
    return [*convolutions, nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.ReLU(inplace=True), nn.Flatten()]


def _cmnist(width: int) -> Network:
    """Tables 6 and 7 of intervention, where `width` is 64.

    Table 6 decodes from 4x4, from which two upconvolutions cannot reach 28x28; 7x7 can.
    """

    def encoder(image_shape: ImageShape, outputs: int) -> nn.Module:
        inputs = 2 * width * (image_shape[1] // 4) ** 2
        return nn.Sequential(*_cmnist_trunk(image_shape, width), FullLinear(inputs, outputs))

    def decoder(codes: int, image_shape: ImageShape) -> nn.Module:
        side = image_shape[1] // 4
        return nn.Sequential(
            FullLinear(codes, width * side * side), nn.ReLU(), nn.Unflatten(1, (width, side, side)),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(inplace=True), LastUpConv(width, image_shape[0]),
        )  # fmt: skip

    def critic(image_shape: ImageShape) -> nn.Module:
        inputs = 2 * width * (image_shape[1] // 4) ** 2
        trunk = _cmnist_trunk(image_shape, width)
        return nn.Sequential(*trunk, nn.Linear(inputs, 2 * width), nn.ReLU(), FullLinear(2 * width, 1))

    return Network(encoder, decoder, multiple=4, critic=critic)


def _flowers_critic(image_shape: ImageShape) -> nn.Module:
    return nn.Sequential(
        *_stride_two([image_shape[0], 64, 64, 128, 128], slope=0.2), nn.Flatten(),
        nn.Linear(128 * (image_shape[1] // 16) ** 2, 256), nn.LeakyReLU(0.2), nn.Linear(256, 256), nn.LeakyReLU(0.2),
        FullLinear(256, 1),
    )  # fmt: skip


NETWORKS: dict[str, Network] = {
    # assumptions, table 2
    "assumptions": Network(
        _conv_encoder((32, 32, 64, 64), 256), _conv_decoder((64, 64, 32, 32), 256), multiple=16
    ),
    # multitask, table 2
    "multitask": Network(_multitask_encoder, _multitask_decoder, multiple=64, largest=64),
    # the fully connected pair of the first β-VAE paper (Higgins et al. 2017, table 1, dSprites)
    "mlp": Network(_mlp_encoder, _mlp_decoder, multiple=1),
    # intervention, tables 4 and 5, 6 and 7, 8 and 9; a critic is its discriminator and its weight network
    "intervention": Network(_conv_encoder((32, 32, 64, 64), 128), _conv_decoder((64, 64, 32, 32), 128), multiple=16),
    "intervention_cmnist": _cmnist(64),
    "intervention_flowers": Network(
        _conv_encoder((128, 128, 256, 256), 512), _conv_decoder((256, 256, 128, 128), 512), multiple=16,
        critic=_flowers_critic,
    ),
    # ours, for 32x32 images and experiments on a desk; `tiny` where many models must train in an hour
    "small": Network(_conv_encoder((16, 32, 32), 128), _conv_decoder((32, 32, 16), 128), multiple=8),
    "tiny": Network(_conv_encoder((8, 16, 16), 128), _conv_decoder((16, 16, 8), 128), multiple=8),
    "intervention_cmnist_tiny": _cmnist(8),
}


def _network(name: str, image_shape: ImageShape) -> Network:
    if name not in NETWORKS:
        raise InputError(f"there is no network '{name}'{nearest(name, NETWORKS)}")
    network = NETWORKS[name]
    _check_side(f"network '{name}'", image_shape, network.multiple, network.largest)
    return network


def _check_side(name: str, image_shape: ImageShape, multiple: int, largest: int) -> None:
    _, height, width = image_shape
    if height != width or height % multiple or height > largest:
        sides = f"exactly {largest}" if largest == multiple else f"a multiple of {multiple} up to {largest}"
        raise InputError(f"{name} cannot take images of {width} x {height}; they must be square with a side of {sides}")


def encoder(name: str, image_shape: ImageShape, outputs: int) -> nn.Module:
    """Images (n, *image_shape) -> (n, outputs)."""
    return _network(name, image_shape).encoder(image_shape, outputs)


def decoder(name: str, codes: int, image_shape: ImageShape) -> nn.Module:
    """Codes (n, codes) -> (n, *image_shape)."""
    return _network(name, image_shape).decoder(codes, image_shape)


def critic(name: str, image_shape: ImageShape) -> nn.Module:
    """Images (n, *image_shape) -> a logit (n, 1): what tells images apart, beside the encoder of this name."""
    network = _network(name, image_shape)
    return network.encoder(image_shape, 1) if network.critic is None else network.critic(image_shape)


def discriminator(codes: int, layers: int = 6, width: int = 1000) -> nn.Module:
    """FactorVAE's discriminator: codes -> two logits. Assumptions' released code has six layers, its table 4 one."""
    modules: list[nn.Module] = []
    for layer in range(layers):
        modules += [nn.Linear(width if layer else codes, width), nn.LeakyReLU(0.2)]
    return nn.Sequential(*modules, nn.Linear(width, 2))


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


# InfoGAN-CR's networks, from its authors' code for dSprites


def infogan_generator(codes: int, image_shape: ImageShape, channels: int = 32) -> nn.Module:
    """Codes and noise (n, codes) -> logits of images, with batch norm behind each activation."""
    _check_side("infogan_cr", image_shape, 16, 256)
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
    _check_side("infogan_cr", image_shape, 16, 256)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([image_shape[0], channels, channels, 2 * channels, 2 * channels]):
        layers += [spectral_norm(nn.Conv2d(inputs, outputs, 4, 2, 1)), nn.LeakyReLU(0.2)]
    inputs = 2 * channels * (image_shape[1] // 16) ** 2
    return nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(inputs, 128)), nn.LeakyReLU(0.2))
