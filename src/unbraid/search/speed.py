"""How fast models train on this machine, from a few steps taken now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from unbraid.data import FactorData
from unbraid.methods import build
from unbraid.training.loop import train


def seconds_per_step(method: str, data: FactorData, settings: Mapping[str, Any], seconds: float = 2.0) -> float:
    """Seconds that a step of one worker takes, the machine as busy as it is now."""
    with _one_thread():
        learner = build(method, data, settings)
        steps = train(learner, data, steps=10**6, seed=0, every=5)
        next(steps)
        begun, first = time.monotonic(), learner.steps
        while time.monotonic() - begun < seconds:
            next(steps)
        return (time.monotonic() - begun) / (learner.steps - first)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Within the block PyTorch has as many threads as a worker: one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
