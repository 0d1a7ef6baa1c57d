"""Networks whose layers are all matrix multiplications: patches of pixels, merged two by two.

A convolution of few channels on a small image suits no CPU kernel. These layers see patches that do not overlap, each
as one row of a matrix, and reach the quality of `tiny` in less time (`bench/networks.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from unbraid.nets.layers import FullLinear, ImageShape

PATCH = 4  # the side of a patch of pixels


class Merge(nn.Module):
    """Each block of side x side places as one: (n, h, w, c) -> (n, h/side, w/side, side²·c)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        n, height, width, channels = x.shape
        rows, columns = height // self.side, width // self.side
        blocks = x.reshape(n, rows, self.side, columns, self.side, channels).transpose(2, 3)
        return blocks.reshape(n, rows, columns, self.side**2 * channels)


class Split(nn.Module):
    """The inverse of `Merge`: (n, h, w, side²·c) -> (n, h·side, w·side, c)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        n, rows, columns, channels = x.shape
        blocks = x.reshape(n, rows, columns, self.side, self.side, channels // self.side**2).transpose(2, 3)
        return blocks.reshape(n, rows * self.side, columns * self.side, channels // self.side**2)


class ChannelsLast(nn.Module):
    """(n, c, h, w) -> (n, h, w, c)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1)


class ChannelsFirst(nn.Module):
    """(n, h, w, c) -> (n, c, h, w)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 3, 1, 2)


def patch_encoder(width: int, hidden: int) -> Callable[[ImageShape, int], nn.Module]:
    """Patches to `width` numbers each, 2x2 of them merged to as many, one hidden layer, the outputs."""

    def build(image_shape: ImageShape, outputs: int) -> nn.Module:
        channels, side = image_shape[0], image_shape[1] // (2 * PATCH)
        return nn.Sequential(
            ChannelsLast(), Merge(PATCH), nn.Linear(PATCH**2 * channels, width), nn.ReLU(),
            Merge(2), nn.Linear(4 * width, width), nn.ReLU(),
            nn.Flatten(), nn.Linear(side**2 * width, hidden), nn.ReLU(),
            FullLinear(hidden, outputs),
        )  # fmt: skip

    return build


def patch_decoder(width: int, hidden: int) -> Callable[[int, ImageShape], nn.Module]:
    """The mirror image of `patch_encoder`."""

    def build(codes: int, image_shape: ImageShape) -> nn.Module:
        channels, side = image_shape[0], image_shape[1] // (2 * PATCH)
        return nn.Sequential(
            FullLinear(codes, hidden), nn.ReLU(),
            nn.Linear(hidden, side**2 * width), nn.ReLU(), nn.Unflatten(1, (side, side, width)),
            nn.Linear(width, 4 * width), nn.ReLU(), Split(2),
            FullLinear(width, PATCH**2 * channels), Split(PATCH), ChannelsFirst(),
        )  # fmt: skip

    return build
