from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import InputError


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of each layer's weight, in order."""
    return [tuple(value.shape) for name, value in module.named_parameters() if name.endswith("weight")]


SIZES = [("assumptions", 64), ("assumptions", 32), ("assumptions", 16), ("dlib", 64), ("multitask", 64), ("mlp", 64),
         ("mlp", 5), ("multitask_tanh", 64), ("population", 64), ("population", 32),
         ("small", 32), ("small", 8), ("small", 64), ("tiny", 32), ("patches", 32), ("patches", 16),
         ("intervention", 64), ("intervention", 32), ("intervention_cmnist", 28), ("intervention_cmnist_tiny", 16),
         ("intervention_flowers", 32)]  # fmt: skip


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("name", "side"), SIZES)
def test_networks_map_images_to_codes_and_back(name: str, side: int, channels: int) -> None:
    image_shape = (channels, side, side)
    codes = nets.encoder(name, image_shape, 7)(torch.rand(2, *image_shape))
    assert codes.shape == (2, 7)
    assert nets.decoder(name, 7, image_shape)(codes).shape == (2, *image_shape)


def test_every_pair_is_tested() -> None:
    assert {name for name, _ in SIZES} == set(nets.PAIRS)


@pytest.mark.parametrize("name", nets.NETWORKS)
def test_every_network_declares_its_source_and_its_cost(name: str) -> None:
    network = nets.NETWORKS[name]
    known = ("table", "disentanglement_lib", "released code", "Unbraid")
    assert any(word in network.source for word in known)
    assert 1e5 < network.encoder_speed < 3e7
    assert (network.decoder is None) == math.isinf(network.decoder_speed)


def test_the_speed_of_a_pair_is_that_of_its_parts_one_after_the_other() -> None:
    parts = [nets.speed("tiny", decoder=False), nets.speed("tiny", encoder=False)]
    assert parts == [nets.NETWORKS["tiny"].encoder_speed, nets.NETWORKS["tiny"].decoder_speed]
    assert nets.speed("tiny") == pytest.approx(1 / (1 / parts[0] + 1 / parts[1]))
    assert nets.speed("resnet18") == nets.speed("resnet18", decoder=False) == nets.NETWORKS["resnet18"].encoder_speed
    assert nets.speed("my own network") == 1e6


def test_a_network_without_a_decoder_says_which_have_one() -> None:
    with pytest.raises(InputError, match="network 'resnet18' has no decoder; those that have one are assumptions, "):
        nets.decoder("resnet18", 8, (3, 64, 64))


def test_a_critic_of_other_networks_is_an_encoder_with_one_output() -> None:
    assert shapes(nets.critic("small", (1, 32, 32))) == shapes(nets.encoder("small", (1, 32, 32), 1))


@pytest.mark.parametrize(
    ("name", "image_shape"),
    [
        ("assumptions", (1, 40, 40)),
        ("assumptions", (3, 64, 32)),
        ("multitask", (1, 128, 128)),
        ("multitask", (1, 32, 32)),
        ("small", (1, 28, 28)),
        ("mlp", (1, 8, 9)),
    ],
)
def test_images_that_a_network_cannot_take_are_refused_by_name(name: str, image_shape: tuple[int, int, int]) -> None:
    _, height, width = image_shape
    for make in (lambda: nets.encoder(name, image_shape, 4), lambda: nets.decoder(name, 4, image_shape)):
        with pytest.raises(InputError, match=f"network '{name}' cannot take images of {width} x {height}") as error:
            make()
        assert "\n" not in str(error.value)


def test_an_unknown_network_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no network 'assumption'; did you mean 'assumptions'"):
        nets.encoder("assumption", (1, 64, 64), 4)


@pytest.mark.parametrize("name", nets.PAIRS)
def test_codes_and_outputs_are_not_rounded_to_bf16(name: str) -> None:
    side = 64 if name.startswith("multitask") else 32
    torch.manual_seed(0)
    encoder, decoder = nets.encoder(name, (1, side, side), 6), nets.decoder(name, 6, (1, side, side))
    with torch.autocast("cpu", torch.bfloat16):
        codes = encoder(torch.rand(4, 1, side, side))
        outputs = decoder(codes)
    for values in (codes, outputs):
        assert values.dtype == torch.float32
        assert not torch.equal(values, values.bfloat16().float())
