from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid.nets import LastUpConv

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def pair(channels: int, outputs: int) -> tuple[LastUpConv, nn.ConvTranspose2d]:
    torch.manual_seed(0)
    plain = nn.ConvTranspose2d(channels, outputs, 4, 2, 1)
    ours = LastUpConv(channels, outputs)
    ours.load_state_dict(plain.state_dict())
    return ours, plain


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("channels", "outputs", "side"), [(1, 1, 1), (3, 1, 4), (32, 3, 8), (5, 7, 3)])
def test_last_up_conv_is_the_transposed_convolution(channels: int, outputs: int, side: int, layout: str) -> None:
    ours, plain = (layer.double() for layer in pair(channels, outputs))
    ours.to(memory_format=LAYOUTS[layout])  # type: ignore[call-overload]
    x = torch.randn(3, channels, side, side + 1, dtype=torch.float64)
    weight = torch.randn(3, outputs, 2 * side, 2 * side + 2, dtype=torch.float64)
    results = []
    for layer in (ours, plain):
        inputs = x.contiguous(memory_format=LAYOUTS[layout]).requires_grad_()
        y = layer(inputs)
        results.append([y, *torch.autograd.grad((y * weight).sum(), [inputs, layer.weight, layer.bias])])
    for ours_, theirs in zip(*results, strict=True):
        assert ours_.shape == theirs.shape
        assert torch.allclose(ours_, theirs, atol=1e-10)


def test_last_up_conv_stays_in_fp32() -> None:
    ours, plain = pair(32, 1)
    x = torch.randn(4, 32, 16, 16)
    with torch.autocast("cpu", torch.bfloat16):
        found = ours(x)
    assert torch.allclose(found, plain(x), atol=1e-5)


def test_last_up_conv_starts_with_the_weights_of_the_transposed_convolution() -> None:
    torch.manual_seed(1)
    ours = LastUpConv(32, 1)
    torch.manual_seed(1)
    plain = nn.ConvTranspose2d(32, 1, 4, 2, 1)
    assert torch.equal(ours.weight, plain.weight)
    assert isinstance(ours, nn.ConvTranspose2d)
