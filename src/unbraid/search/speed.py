"""How fast models train on this machine, from a few steps taken now, and how long searches will take."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from unbraid.data import FactorData
from unbraid.methods import build
from unbraid.runs.identity import full_settings
from unbraid.search.rules import PopulationConfig
from unbraid.training.loop import train

BESIDE = 1.25  # how much slower a step is beside other workers


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


def images_per_second(method: str, data: FactorData, settings: Mapping[str, Any]) -> float:
    """Images that a worker trains on in a second, beside other workers."""
    batch = int(full_settings(method, settings)["batch_size"])
    return batch / (BESIDE * seconds_per_step(method, data, settings, seconds=1.0))


def population_images(config: PopulationConfig, models: int, rows: int, batch: int = 64) -> int:
    """Images that all models of a population are trained on, where it does not converge before."""
    each = config.steps * batch if config.steps else config.images or max(rows, 10_000)
    return config.member_generations * models * each


def duration(seconds: float) -> str:
    """`40 seconds`, `12 minutes`, `3.5 hours`, `2.1 days`."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            amount = seconds / size
            return f"{amount:.0f} {unit}" if unit == "minutes" or amount >= 10 else f"{amount:.1f} {unit}"
    return f"{seconds:.0f} seconds"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Within the block PyTorch has as many threads as a worker: one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
