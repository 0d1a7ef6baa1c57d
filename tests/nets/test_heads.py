from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid import nets


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    """The shape of each layer's weight, in order."""
    return [tuple(value.shape) for name, value in module.named_parameters() if name.endswith("weight")]


def test_the_discriminator_of_the_released_code_and_of_the_papers_table_4() -> None:
    released = nets.discriminator(10)
    assert shapes(released) == [(1000, 10), *[(1000, 1000)] * 5, (2, 1000)]
    assert [m.negative_slope for m in released.modules() if isinstance(m, nn.LeakyReLU)] == [0.2] * 6
    assert shapes(nets.discriminator(10, layers=1)) == [(1000, 10), (2, 1000)]
    assert nets.discriminator(10, 2, 8)(torch.zeros(3, 10)).shape == (3, 2)


def separate(heads: nets.Heads, activation: type[nn.Module]) -> list[nn.Sequential]:
    """The same heads as networks of nn.Linear layers."""
    copies = []
    for head in range(len(heads.weights[0])):
        layers: list[nn.Module] = []
        for weights, biases in zip(heads.weights, heads.biases, strict=True):
            layer = nn.Linear(weights.shape[1], weights.shape[2])
            layer.weight.data, layer.bias.data = weights[head].detach().T.clone(), biases[head, 0].detach().clone()
            layers += [layer, activation()]
        copies.append(nn.Sequential(*layers[:-1]))
    return copies


@pytest.mark.parametrize(("activation", "module"), [("relu", nn.ReLU), ("tanh", nn.Tanh)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_heads_together_are_heads_apart(activation: str, module: type[nn.Module], outputs: int) -> None:
    torch.manual_seed(0)
    heads = nets.Heads(5, 4, outputs, width=12, layers=3, activation=activation)
    apart = separate(heads, module)
    codes = torch.randn(20, 4)
    one, other = codes.clone().requires_grad_(), codes.clone().requires_grad_()
    together, alone = heads(one), torch.stack([head(other) for head in apart])
    assert together.shape == (5, 20, outputs)
    assert torch.allclose(together, alone, atol=1e-6)
    weight = torch.randn_like(together)
    (together * weight).sum().backward()
    (alone * weight).sum().backward()
    assert one.grad is not None
    assert other.grad is not None
    assert torch.allclose(one.grad, other.grad, atol=1e-5)
    for place, head in enumerate(apart):
        linears = [layer for layer in head if isinstance(layer, nn.Linear)]
        for linear, weights, biases in zip(linears, heads.weights, heads.biases, strict=True):
            assert torch.allclose(weights.grad[place], linear.weight.grad.T, atol=1e-5)
            assert torch.allclose(biases.grad[place, 0], linear.bias.grad, atol=1e-5)


def test_heads_start_as_linear_layers_do() -> None:
    torch.manual_seed(0)
    heads = nets.Heads(200, 16, 1, width=9, layers=1)
    for tensor, bound in [(heads.weights[0], 1 / 4), (heads.biases[0], 1 / 4), (heads.weights[1], 1 / 3)]:
        assert float(tensor.detach().abs().max()) == pytest.approx(bound, rel=0.02)
        assert float(tensor.detach().std()) == pytest.approx(bound / 3**0.5, rel=0.05)
