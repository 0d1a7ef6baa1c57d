from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid import nets
from unbraid.errors import InputError
from unbraid.nets import LastUpConv

LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of each layer's weight, in order."""
    return [tuple(value.shape) for name, value in module.named_parameters() if name.endswith("weight")]


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


SIZES = [("assumptions", 64), ("assumptions", 32), ("assumptions", 16), ("multitask", 64), ("mlp", 64), ("mlp", 5),
         ("small", 32), ("small", 8), ("small", 64), ("tiny", 32), ("intervention", 64), ("intervention", 32),
         ("intervention_cmnist", 28), ("intervention_cmnist_tiny", 16), ("intervention_flowers", 32)]  # fmt: skip


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("name", "side"), SIZES)
def test_networks_map_images_to_codes_and_back(name: str, side: int, channels: int) -> None:
    image_shape = (channels, side, side)
    codes = nets.encoder(name, image_shape, 7)(torch.rand(2, *image_shape))
    assert codes.shape == (2, 7)
    assert nets.decoder(name, 7, image_shape)(codes).shape == (2, *image_shape)


def test_every_network_is_tested() -> None:
    assert {name for name, _ in SIZES} == set(nets.NETWORKS)


def test_assumptions_has_the_layers_of_the_papers_table_2() -> None:
    encoder, decoder = nets.encoder("assumptions", (3, 64, 64), 20), nets.decoder("assumptions", 10, (3, 64, 64))
    assert shapes(encoder) == [
        (32, 3, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (64, 64, 4, 4), (256, 4 * 4 * 64), (20, 256),
    ]  # fmt: skip
    assert shapes(decoder) == [
        (256, 10), (4 * 4 * 64, 256), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 3, 4, 4),
    ]  # fmt: skip
    for network in (encoder, decoder):
        assert all(m.stride == (2, 2) for m in network.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d))
        assert sum(isinstance(m, nn.ReLU) for m in network.modules()) == 5  # after every layer but the last


def test_multitask_has_the_layers_of_the_papers_table_2() -> None:
    encoder, decoder = nets.encoder("multitask", (3, 64, 64), 8), nets.decoder("multitask", 8, (3, 64, 64))
    assert shapes(encoder) == [
        (32, 3, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (128, 64, 4, 4), (256, 128, 4, 4), (256, 256, 4, 4), (8, 256),
    ]  # fmt: skip
    assert shapes(decoder) == [
        (256, 8, 1, 1), (256, 256, 4, 4), (256, 128, 4, 4), (128, 128, 4, 4), (128, 64, 4, 4), (64, 64, 4, 4),
        (64, 3, 3, 3),
    ]  # fmt: skip
    strides = [m.stride[0] for m in decoder.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)]
    assert strides == [2, 2, 2, 2, 2, 2, 1]


CONVOLUTIONS = [(32, 3, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (64, 64, 4, 4)]
CMNIST = [(64, 3, 4, 4), (128, 64, 4, 4), (128, 128, 3, 3)]
FLOWERS = [(64, 3, 4, 4), (64, 64, 4, 4), (128, 64, 4, 4), (128, 128, 4, 4)]
TABLES = {  # encoder, decoder, and discriminator or weight network
    "intervention": (
        64, 10, [*CONVOLUTIONS, (128, 1024), (10, 128)],
        [(128, 10), (1024, 128), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 3, 4, 4)],
        [*CONVOLUTIONS, (128, 1024), (1, 128)],
    ),
    "intervention_cmnist": (
        28, 32, [*CMNIST, (32, 128 * 7 * 7)], [(64 * 7 * 7, 32), (64, 64, 4, 4), (64, 3, 4, 4)],
        [*CMNIST, (128, 128 * 7 * 7), (1, 128)],
    ),
    "intervention_flowers": (
        64, 48, [(128, 3, 4, 4), (128, 128, 4, 4), (256, 128, 4, 4), (256, 256, 4, 4), (512, 4096), (48, 512)],
        [(512, 48), (4096, 512), (256, 256, 4, 4), (256, 128, 4, 4), (128, 128, 4, 4), (128, 3, 4, 4)],
        [*FLOWERS, (256, 2048), (256, 256), (1, 256)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_intervention_has_the_layers_of_its_tables_4_to_9(name: str) -> None:
    side, codes, encoder, decoder, critic = TABLES[name]
    image_shape = (3, side, side)
    assert shapes(nets.encoder(name, image_shape, codes)) == encoder
    assert shapes(nets.decoder(name, codes, image_shape)) == decoder
    found = nets.critic(name, image_shape)
    assert shapes(found) == critic
    assert found(torch.rand(2, *image_shape)).shape == (2, 1)
    leaky = [m.negative_slope for m in found.modules() if isinstance(m, nn.LeakyReLU)]
    assert leaky == ([0.2] * 6 if name == "intervention_flowers" else [])


def test_a_critic_of_other_networks_is_an_encoder_with_one_output() -> None:
    assert shapes(nets.critic("small", (1, 32, 32))) == shapes(nets.encoder("small", (1, 32, 32), 1))


def test_mlp_has_the_layers_of_the_first_beta_vae() -> None:
    assert shapes(nets.encoder("mlp", (1, 64, 64), 20)) == [(1200, 4096), (1200, 1200), (20, 1200)]
    assert shapes(nets.decoder("mlp", 10, (1, 64, 64))) == [(1200, 10), (1200, 1200), (1200, 1200), (4096, 1200)]


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


def test_the_discriminator_of_the_released_code_and_of_the_papers_table_4() -> None:
    released = nets.discriminator(10)
    assert shapes(released) == [(1000, 10), *[(1000, 1000)] * 5, (2, 1000)]
    assert [m.negative_slope for m in released.modules() if isinstance(m, nn.LeakyReLU)] == [0.2] * 6
    assert shapes(nets.discriminator(10, layers=1)) == [(1000, 10), (2, 1000)]
    assert nets.discriminator(10, 2, 8)(torch.zeros(3, 10)).shape == (3, 2)


@pytest.mark.parametrize("name", nets.NETWORKS)
def test_codes_and_outputs_are_not_rounded_to_bf16(name: str) -> None:
    side = 64 if name == "multitask" else 32
    torch.manual_seed(0)
    encoder, decoder = nets.encoder(name, (1, side, side), 6), nets.decoder(name, 6, (1, side, side))
    with torch.autocast("cpu", torch.bfloat16):
        codes = encoder(torch.rand(4, 1, side, side))
        outputs = decoder(codes)
    for values in (codes, outputs):
        assert values.dtype == torch.float32
        assert not torch.equal(values, values.bfloat16().float())
