"""The state of training beside the weights, inside a state dict: optimisers, live hyperparameters, steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

Optimisers = Mapping[str, torch.optim.Optimizer]
_START = "training."


def store(state: dict[str, Any], prefix: str, steps: int, hp: Mapping[str, float], optimisers: Optimisers) -> None:
    """Add the state of training to a state dict, as tensors."""
    start = prefix + _START
    state[f"{start}steps"] = torch.tensor(steps)
    state[f"{start}hp"] = torch.tensor(list(hp.values()), dtype=torch.float64)
    for name, optimiser in optimisers.items():
        for index, entries in optimiser.state_dict()["state"].items():
            for key, value in entries.items():
                state[f"{start}{name}.{index}.{key}"] = value.detach()


def take(state: dict[str, Any], prefix: str) -> dict[str, Tensor]:
    """Remove the state of training from a state dict, and return it without the prefix; empty where there is none."""
    start = prefix + _START
    return {key.removeprefix(start): state.pop(key) for key in list(state) if key.startswith(start)}


def restore(taken: Mapping[str, Tensor], optimisers: Optimisers) -> None:
    """Give the optimisers the state that `take` returned."""
    for name, optimiser in optimisers.items():
        states: dict[int, dict[str, Tensor]] = {}
        for key, value in taken.items():
            owner, _, rest = key.partition(".")
            if owner == name:
                index, _, entry = rest.partition(".")
                states.setdefault(int(index), {})[entry] = value.clone()
        optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
    lay_out(optimisers.values())


def lay_out(optimisers: Iterable[torch.optim.Optimizer]) -> None:
    """Give the optimisers' state the device and strides of the parameters: fused Adam walks both in memory order.

    Without this, moments from a file (contiguous) would meet the wrong weights of a channels-last layer.
    """
    for optimiser in optimisers:
        for parameter, state in optimiser.state.items():
            for key, value in state.items():
                same = value.shape == parameter.shape
                state[key] = torch.empty_like(parameter).copy_(value) if same else value.to(parameter.device)
