"""Every network of the registry as the explorer takes it: a decoder to pixels, an encoder of pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unbraid import nets

LATENTS = 10


@dataclass(frozen=True)
class Case:
    """A function, and inputs for it."""

    name: str
    function: Callable[[Tensor], Tensor]
    inputs: Tensor
    pixels: bool
    """Whether it gives pixels in [0, 1], else codes."""


def side_of(name: str) -> int:
    multiple = nets.NETWORKS[name].multiple
    return 28 if multiple == 4 else max(multiple, 32)


def strong(module: nn.Module) -> nn.Module:
    """Larger weights than a network starts with: its outputs then vary as much as those of a trained one."""
    for parameter in module.parameters():
        parameter.data *= 2
    return module.eval()


def decoder_case(name: str, codes: int = 100) -> Case:
    side = side_of(name)
    torch.manual_seed(0)
    decoder = strong(nets.decoder(name, LATENTS, (3, side, side)))
    return Case(name, lambda z: decoder(z).sigmoid(), 2 * torch.randn(codes, LATENTS), True)


def encoder_case(name: str, pictures: int = 20) -> Case:
    side = side_of(name)
    torch.manual_seed(0)
    encoder = strong(nets.encoder(name, (3, side, side), 2 * LATENTS))
    images = torch.randint(0, 256, (pictures, 3, side, side), dtype=torch.uint8)
    return Case(f"{name} encoder", lambda x: encoder(x.float() / 255).chunk(2, 1)[0], images, False)


def other_cases() -> list[Case]:
    """Networks that are not encoder-decoder pairs, and the layers that only a user's own network has."""
    torch.manual_seed(0)
    generator = strong(nets.infogan_generator(LATENTS, (1, 32, 32), 16))
    trunk = nets.infogan_trunk((1, 32, 32), 16).eval()
    published, small = (nets.encoder(name, (3, 32, 32), 10).eval() for name in ("resnet18", "resnet_small"))
    own = nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1), nn.GELU(), nn.GroupNorm(2, 8), nn.AvgPool2d(2),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4), nn.SiLU(), nn.Upsample(scale_factor=2),
        nn.ConvTranspose2d(8, 6, 3, 2, 1, output_padding=1, groups=2), nn.ELU(), nn.PixelUnshuffle(2), nn.Hardswish(),
        nn.Flatten(), nn.LayerNorm(6 * 32 * 32), nn.Linear(6 * 32 * 32, 7), nn.Softplus(), nn.Dropout(),
    ).eval()  # fmt: skip
    pictures = torch.rand(4, 3, 32, 32)
    return [
        Case("infogan generator", lambda z: generator(z).sigmoid(), torch.randn(20, LATENTS), True),
        Case("infogan trunk", trunk, torch.rand(4, 1, 32, 32), False),
        Case("resnet18", published, pictures, False),
        Case("resnet_small", small, pictures, False),
        Case("own layers", own, torch.rand(4, 3, 16, 16), False),
        Case("joined", lambda x: torch.cat([x * 2, torch.tanh(x), 1 - x], 1).flip(1), torch.randn(4, 5), False),
        Case("unit length", lambda x: nn.functional.normalize(x, dim=1), torch.randn(4, 5), False),
        Case("padded", lambda x: nn.functional.pad(x.exp(), (1, 2)), torch.randn(4, 5), False),
    ]
