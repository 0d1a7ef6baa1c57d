"""Every network by name, with the table it comes from, its parts and its cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from unbraid.errors import InputError
from unbraid.nets.conv import (
    cmnist_critic,
    cmnist_decoder,
    cmnist_encoder,
    conv_decoder,
    conv_encoder,
    flowers_critic,
    multitask_decoder,
    multitask_encoder,
    population_decoder,
    population_encoder,
)
from unbraid.nets.layers import ImageShape, check_side, start_glorot
from unbraid.nets.mlp import mlp_decoder, mlp_encoder
from unbraid.nets.patches import patch_decoder, patch_encoder
from unbraid.nets.resnet import Layout, resnet_encoder
from unbraid.own import is_reference, look_up


@dataclass(frozen=True)
class Network:
    """An encoder, and the decoder and critic that belong to it where there are some.

    One of your own in `mine.py`, as `--network mine.py:WIDE` or `network=WIDE`:

        WIDE = Network("a wide one", encoder, decoder=decoder)

    Speeds are rough, for estimates of time: pixels of training images per second, forward and backward, on one core of
    a desktop machine.
    """

    source: str
    """The table it comes from."""
    encoder: Callable[[ImageShape, int], nn.Module]
    """`encoder(image_shape, outputs)`."""
    encoder_speed: float = 1e6
    decoder: Callable[[int, ImageShape], nn.Module] | None = None
    """`decoder(codes, image_shape)`."""
    decoder_speed: float = math.inf
    critic: Callable[[ImageShape], nn.Module] | None = None
    """Images -> one logit, where its paper has a table for that; otherwise an encoder with one output serves."""
    multiple: int = 1
    """The side of an image must be a multiple of this."""
    largest: int = 256
    """The largest side of an image."""
    glorot: bool = False
    """Whether weights start as TensorFlow's layers start them, and not as PyTorch's."""
    features: int | None = None
    """Outputs of the encoder as published; another number costs one more linear layer."""


def _resnet(source: str, speed: float, layout: Layout) -> Network:
    return Network(source, resnet_encoder(layout), speed, features=layout.features, largest=4096)


_DESK = "Unbraid, for 32x32 images and experiments on a desk"
NETWORKS: dict[str, Network] = {
    "assumptions": Network(
        "assumptions, table 2",
        conv_encoder((32, 32, 64, 64), 256), 3.6e6, conv_decoder((64, 64, 32, 32), 256), 2.5e6, multiple=16,
    ),
    "dlib": Network(
        "disentanglement_lib, conv_encoder and deconv_decoder; differs from table 2 of assumptions in two kernels",
        conv_encoder((32, 32, 64, 64), 256, kernels=(4, 4, 2, 2)), 3.9e6, conv_decoder((64, 64, 32, 32), 256), 2.5e6,
        multiple=16, glorot=True,
    ),
    "multitask": Network(
        "multitask, table 2",
        multitask_encoder(nn.ReLU), 2.3e6, multitask_decoder(nn.ReLU), 0.25e6, multiple=64, largest=64,
    ),
    "multitask_tanh": Network(
        "multitask, table 2 with the tanh of appendix C.3",
        multitask_encoder(nn.Tanh), 2.1e6, multitask_decoder(nn.Tanh), 0.25e6, multiple=64, largest=64,
    ),
    "population": Network(
        "population, released code: batch norm and 512 units",
        population_encoder, 2.6e6, population_decoder, 1.7e6, multiple=16,
    ),
    "mlp": Network("Higgins et al. 2017, table 1, dSprites", mlp_encoder, 2.2e6, mlp_decoder, 1.4e6),
    "intervention": Network(
        "intervention, tables 4 and 5",
        conv_encoder((32, 32, 64, 64), 128), 3.7e6, conv_decoder((64, 64, 32, 32), 128), 2.5e6, multiple=16,
    ),
    "intervention_cmnist": Network(
        "intervention, tables 6 and 7",
        cmnist_encoder(64), 0.6e6, cmnist_decoder(64), 1.2e6, cmnist_critic(64), multiple=4,
    ),
    "intervention_flowers": Network(
        "intervention, tables 8 and 9",
        conv_encoder((128, 128, 256, 256), 512), 0.35e6, conv_decoder((256, 256, 128, 128), 512), 0.3e6,
        flowers_critic, multiple=16,
    ),
    "small": Network(
        _DESK, conv_encoder((16, 32, 32), 128), 5.6e6, conv_decoder((32, 32, 16), 128), 3.4e6, multiple=8
    ),
    "tiny": Network(
        f"{_DESK}; half the channels of small",
        conv_encoder((8, 16, 16), 128), 8.8e6, conv_decoder((16, 16, 8), 128), 4.3e6, multiple=8,
    ),
    "patches": Network(
        f"{_DESK}; matrix multiplications alone",
        patch_encoder(32, 256), 22e6, patch_decoder(32, 256), 16e6, multiple=8,
    ),
    "intervention_cmnist_tiny": Network(
        "Unbraid, an eighth of the channels of intervention_cmnist",
        cmnist_encoder(8), 6.5e6, cmnist_decoder(8), 4.5e6, cmnist_critic(8), multiple=4,
    ),
    "resnet34": _resnet("He et al. 2016, table 1, without the last layer", 0.12e6, Layout((3, 4, 6, 3), 64)),
    "resnet18": _resnet("He et al. 2016, table 1, without the last layer", 0.22e6, Layout((2, 2, 2, 2), 64)),
    "resnet10": _resnet(_DESK, 0.5e6, Layout((1, 1, 1, 1), 32, published_stem=False)),
    "resnet_small": _resnet(_DESK, 1.5e6, Layout((1, 1, 1, 1), 16, published_stem=False)),
    "resnet_tiny": _resnet(_DESK, 2.0e6, Layout((1, 1, 1), 16, published_stem=False)),
}  # fmt: skip
GROUP = "unbraid.networks"  # of entry points
PAIRS = [name for name, network in NETWORKS.items() if network.decoder is not None]
_TYPICAL_SPEED = 1e6


def network(name: str | Network) -> Network:
    """A network by its name or a reference, or an InputError that suggests the nearest.

    A function `(image_shape, outputs) -> module` is an encoder without a decoder.
    """
    value = look_up(name, NETWORKS, "network", GROUP)
    if isinstance(value, Network):
        return value
    if callable(value):
        return Network("your own", value)
    raise InputError(f"{name} is {value!r}; expected a Network, or a function that makes an encoder")


def _for_images(name: str | Network, image_shape: ImageShape) -> Network:
    chosen = network(name)
    check_side(f"network '{name}'", image_shape, chosen.multiple, chosen.largest)
    return chosen


def encoder(name: str | Network, image_shape: ImageShape, outputs: int) -> nn.Module:
    """Images (n, *image_shape) -> (n, outputs)."""
    return started(name, _for_images(name, image_shape).encoder(image_shape, outputs))


def decoder(name: str | Network, codes: int, image_shape: ImageShape) -> nn.Module:
    """Codes (n, codes) -> (n, *image_shape)."""
    build = _for_images(name, image_shape).decoder
    if build is None:
        raise InputError(f"network '{name}' has no decoder; those that have one are {', '.join(PAIRS)}")
    return started(name, build(codes, image_shape))


def critic(name: str | Network, image_shape: ImageShape) -> nn.Module:
    """Images (n, *image_shape) -> one logit (n, 1): tells images apart, about as large as the encoder of this name."""
    chosen = _for_images(name, image_shape)
    return started(name, chosen.encoder(image_shape, 1) if chosen.critic is None else chosen.critic(image_shape))


def started(name: str | Network, part: nn.Module) -> nn.Module:
    """A network with the initial weights that go with the network `name`: of a discriminator beside it, for example."""
    return start_glorot(part) if network(name).glorot else part


def speed(name: str, *, encoder: bool = True, decoder: bool = True) -> float:
    """Pixels of training images per second through both parts of a network, or one, on one core of a desktop machine.

    A network that is not in the registry counts as a typical one.
    """
    if name not in NETWORKS and not is_reference(name):
        return _TYPICAL_SPEED
    chosen = network(name)
    seconds = encoder / chosen.encoder_speed + decoder / chosen.decoder_speed
    return 1 / seconds if seconds else math.inf
