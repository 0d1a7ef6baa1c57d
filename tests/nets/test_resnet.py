from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unbraid import nets
from unbraid.errors import InputError
from unbraid.nets.resnet import Block, ResNet

RESNETS = [name for name in nets.NETWORKS if name.startswith("resnet")]


def resnet(name: str, shape: tuple[int, int, int], outputs: int) -> ResNet:
    network = nets.encoder(name, shape, outputs)
    assert isinstance(network, ResNet)
    return network


def shapes_of(name: str, shape: tuple[int, int, int], outputs: int) -> ResNet:
    """A network without numbers: shapes alone are computed."""
    with torch.device("meta"):
        return resnet(name, shape, outputs).eval()


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("name", "parameters"), [("resnet34", 21_284_672), ("resnet18", 11_176_512)])
def test_published_networks_have_their_published_number_of_parameters(name: str, parameters: int) -> None:
    """Those of the paper's table without the last layer of 512 x 1000 + 1000."""
    network = shapes_of(name, (3, 64, 64), 512)
    assert count(network) == parameters
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    layers = [layer for layer in convolutions if layer.kernel_size != (1, 1)]
    assert len(layers) + 1 == int(name.removeprefix("resnet"))


@pytest.mark.parametrize("name", RESNETS)
@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 32, 32)])
def test_features_and_outputs(name: str, shape: tuple[int, int, int]) -> None:
    features = nets.network(name).features
    assert features is not None
    network = shapes_of(name, shape, features)
    assert network(torch.empty(2, *shape, device="meta")).shape == (2, features)
    assert isinstance(network.last, nn.Identity)


def test_another_width_takes_a_linear_layer() -> None:
    network = resnet("resnet_tiny", (3, 16, 16), 5).eval()
    with torch.no_grad():
        assert network(torch.rand(2, 3, 16, 16)).shape == (2, 5)
    assert isinstance(network.last, nn.Linear)
    assert network.last.in_features == nets.network("resnet_tiny").features == 64


def test_sides_halve_from_stage_to_stage() -> None:
    network = shapes_of("resnet34", (3, 64, 64), 512)
    x = network.stem(torch.empty(1, 3, 64, 64, device="meta"))
    sides = [tuple(x.shape[1:])]
    for block in network.stages:
        x = block(x)
        sides.append(tuple(x.shape[1:]))
    expected = [(64, 16, 16)] * 4 + [(128, 8, 8)] * 4 + [(256, 4, 4)] * 6 + [(512, 2, 2)] * 3
    assert sides == expected


@pytest.mark.parametrize(("inputs", "outputs", "stride"), [(4, 4, 1), (4, 8, 2), (4, 8, 1)])
def test_a_block_adds_its_shortcut(inputs: int, outputs: int, stride: int) -> None:
    torch.manual_seed(0)
    block = Block(inputs, outputs, stride).eval()
    x = torch.randn(2, inputs, 6, 6)
    convolutions = [module.weight for module in block.modules() if isinstance(module, nn.Conv2d)]
    scale = (1 + 1e-5) ** -0.5  # normalisation by mean 0 and variance 1, as it starts
    inner = F.conv2d(F.relu(F.conv2d(x, convolutions[0], stride=stride, padding=1) * scale), convolutions[1], padding=1)
    short = x if len(convolutions) == 2 else F.conv2d(x, convolutions[2], stride=stride) * scale
    assert (len(convolutions) == 2) == (inputs == outputs and stride == 1)
    assert torch.allclose(block(x), F.relu(inner * scale + short), atol=1e-5)


def test_features_are_in_full_precision() -> None:
    network = resnet("resnet_tiny", (3, 16, 16), 64)
    with torch.autocast("cpu", torch.bfloat16):
        assert network(torch.rand(4, 3, 16, 16)).dtype == torch.float32


def test_an_unknown_network_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no network 'resnet43'; did you mean 'resnet34'"):
        resnet("resnet43", (3, 64, 64), 512)
