"""Encoders, decoders, critics and heads.

`encoder(name, image_shape, outputs)` and `decoder(name, codes, image_shape)` build a pair by name; `NETWORKS` has every
name with the table it comes from. Encoders take float images (n, C, H, W), decoders give logits (or means) of the same
shape. Weights start as PyTorch's layers start them, those of `dlib` as TensorFlow's.
"""

from unbraid.nets.heads import Heads, discriminator
from unbraid.nets.infogan import infogan_generator, infogan_trunk
from unbraid.nets.layers import FullLinear, FullUpConv, ImageShape, LastUpConv
from unbraid.nets.registry import (
    GROUP,
    NETWORKS,
    PAIRS,
    Network,
    critic,
    decoder,
    encoder,
    network,
    speed,
    started,
)  # fmt: skip

__all__ = [
    "GROUP", "NETWORKS", "PAIRS", "FullLinear", "FullUpConv", "Heads", "ImageShape", "LastUpConv", "Network", "critic",
    "decoder", "discriminator", "encoder", "infogan_generator", "infogan_trunk", "network", "speed",
    "started",
]  # fmt: skip
