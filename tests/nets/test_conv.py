"""Networks against the tables of the papers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from unbraid import nets


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of each layer's weight, in order."""
    return [tuple(value.shape) for name, value in module.named_parameters() if name.endswith("weight")]


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


def test_dlib_is_the_network_of_the_released_code() -> None:
    """disentanglement_lib's conv_encoder and deconv_decoder: the last two kernels of the encoder are 2x2."""
    encoder, decoder = nets.encoder("dlib", (3, 64, 64), 20), nets.decoder("dlib", 10, (3, 64, 64))
    assert shapes(encoder) == [
        (32, 3, 4, 4), (32, 32, 4, 4), (64, 32, 2, 2), (64, 64, 2, 2), (256, 4 * 4 * 64), (20, 256),
    ]  # fmt: skip
    assert shapes(decoder) == shapes(nets.decoder("assumptions", 10, (3, 64, 64)))
    convolutions = [m for m in encoder.modules() if isinstance(m, nn.Conv2d)]
    assert [m.stride[0] for m in convolutions] == [2, 2, 2, 2]
    assert [m.padding[0] for m in convolutions] == [1, 1, 0, 0]  # TensorFlow's "same" at even sides


@pytest.mark.parametrize("part", ["encoder", "decoder", "discriminator"])
def test_dlib_starts_with_glorots_weights(part: str) -> None:
    torch.manual_seed(0)
    image = (1, 64, 64)
    parts = {
        "encoder": nets.encoder("dlib", image, 20),
        "decoder": nets.decoder("dlib", 10, image),
        "discriminator": nets.started("dlib", nets.discriminator(10, 2, 1000)),
    }
    for name, value in parts[part].state_dict().items():
        if name.endswith("bias"):
            assert not value.any()
        else:
            area = value[0, 0].numel()  # of the kernel
            bound = math.sqrt(6 / (area * (value.shape[0] + value.shape[1])))
            assert 0.9 * bound < value.abs().max() <= bound
            assert float(value.std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_other_networks_start_as_pytorchs_layers_do() -> None:
    bias = dict(nets.encoder("assumptions", (1, 64, 64), 20).named_parameters())["0.bias"]
    assert bias.any()


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


def test_population_is_the_network_of_the_released_code() -> None:
    """`ConvEncoder` and `ConvDecoder` of github.com/besterma/robust_disentanglement, beta-tcvae/vae_quant.py."""
    encoder, decoder = nets.encoder("population", (3, 64, 64), 20), nets.decoder("population", 10, (3, 64, 64))
    kinds = [type(layer).__name__ for layer in encoder]
    assert kinds == ["Conv2d", "BatchNorm2d", "ReLU"] * 5 + ["Flatten", "FullLinear"]
    weights = [tuple(layer.weight.shape) for layer in encoder if isinstance(layer, nn.Conv2d | nn.Linear)]
    assert weights == [(32, 3, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (64, 64, 4, 4), (512, 64, 4, 4), (20, 512)]
    weights = [tuple(layer.weight.shape) for layer in decoder if isinstance(layer, nn.ConvTranspose2d)]
    assert weights == [(10, 512, 1, 1), (512, 64, 4, 4), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 3, 4, 4)]
    assert sum(isinstance(layer, nn.BatchNorm2d) for layer in decoder) == 5


def test_multitask_tanh_is_the_same_network_with_another_activation() -> None:
    for part, arguments in ((nets.encoder, ((1, 64, 64), 8)), (nets.decoder, (8, (1, 64, 64)))):
        plain, tanh = part("multitask", *arguments), part("multitask_tanh", *arguments)
        assert [tuple(one.shape) for one in plain.parameters()] == [tuple(one.shape) for one in tanh.parameters()]
        kinds = [type(layer).__name__ for layer in plain]
        assert [type(layer).__name__ for layer in tanh] == [kind.replace("ReLU", "Tanh") for kind in kinds]
        assert "ReLU" in kinds
