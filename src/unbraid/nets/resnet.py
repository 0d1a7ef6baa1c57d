"""Residual networks (He et al. 2016), written once for all sizes: images (n, C, H, W) -> features (n, outputs)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets.layers import FullLinear, ImageShape


@dataclass(frozen=True)
class Layout:
    """How a ResNet is built: each stage has twice the channels and half the side of the one before."""

    blocks: tuple[int, ...]
    """Blocks of two 3x3 convolutions in each stage."""
    width: int
    """Channels of the first stage."""
    published_stem: bool = True
    """7x7 of stride 2 and a maximum of 3x3 of stride 2, as published; else 3x3 of stride 2."""

    @property
    def features(self) -> int:
        return self.width << (len(self.blocks) - 1)


class Block(nn.Module):
    """x -> ReLU(shortcut(x) + two convolutions of x), each with batch normalisation."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(_conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
        self.second = nn.Sequential(_conv(outputs, outputs, 3), nn.BatchNorm2d(outputs))
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.shortcut(x) + self.second(self.first(x)), inplace=True)


class ResNet(nn.Module):
    """The spatial mean of the last stage, then a linear layer where its width is not `outputs`."""

    def __init__(self, layout: Layout, channels: int, outputs: int) -> None:
        super().__init__()
        width = layout.width
        size = 7 if layout.published_stem else 3
        stem = [_conv(channels, width, size, 2), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        self.stem = nn.Sequential(*stem, *([nn.MaxPool2d(3, 2, 1)] if layout.published_stem else []))
        self.stages, inputs = nn.Sequential(), width
        for stage, blocks in enumerate(layout.blocks):
            for block in range(blocks):
                outward = width * 2**stage
                self.stages.append(Block(inputs, outward, 2 if stage and not block else 1))
                inputs = outward
        self.last = nn.Identity() if outputs == inputs else FullLinear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        features = self.stages(self.stem(x)).float().mean((2, 3))
        out: Tensor = self.last(features)
        return out


def resnet_encoder(layout: Layout) -> Callable[[ImageShape, int], ResNet]:
    """For square images of any size."""

    def build(image_shape: ImageShape, outputs: int) -> ResNet:
        return ResNet(layout, image_shape[0], outputs)

    return build


def _conv(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    """Without bias, which the normalisation after it has; initialised by fan-out as in He et al. (2015)."""
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
