"""Layers that several networks share, and the check of the images they take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, repeat

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import InputError

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


def stride_two(
    channels: list[int], slope: float = 0.0, kernels: Sequence[int] = (), activation: type[nn.Module] | None = None
) -> list[nn.Module]:
    """Convolutions of stride 2, each of which halves the side; kernels of 4x4, or of these sides.

    After each a (leaky) ReLU, or another activation.
    """
    layers: list[nn.Module] = []
    for (inputs, outputs), kernel in zip(pairwise(channels), kernels or repeat(4), strict=bool(kernels)):
        rectified = nn.LeakyReLU(slope, inplace=True) if slope else nn.ReLU(inplace=True)
        after = rectified if activation is None else activation()
        layers += [nn.Conv2d(inputs, outputs, kernel, 2, kernel // 2 - 1), after]
    return layers


@torch.no_grad()
def start_glorot(network: nn.Module) -> nn.Module:
    """Weights uniform within ±sqrt(6 / (inputs + outputs)) and biases 0, as TensorFlow's layers start; the network."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                layer.bias.zero_()
    return network


def check_side(name: str, image_shape: ImageShape, multiple: int, largest: int) -> None:
    _, height, width = image_shape
    if height != width or height % multiple or height > largest:
        sides = f"exactly {largest}" if largest == multiple else f"a multiple of {multiple} up to {largest}"
        raise InputError(f"{name} cannot take images of {width} x {height}; they must be square with a side of {sides}")
