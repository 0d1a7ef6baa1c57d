from __future__ import annotations

from torch import nn

from unbraid import nets


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of each layer's weight, in order."""
    return [tuple(value.shape) for name, value in module.named_parameters() if name.endswith("weight")]


def test_mlp_has_the_layers_of_the_first_beta_vae() -> None:
    assert shapes(nets.encoder("mlp", (1, 64, 64), 20)) == [(1200, 4096), (1200, 1200), (20, 1200)]
    assert shapes(nets.decoder("mlp", 10, (1, 64, 64))) == [(1200, 10), (1200, 1200), (1200, 1200), (4096, 1200)]
