"""Runs of a few steps to look into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.examples.squares import paired, squares, taught
from unbraid.data import FactorData
from unbraid.runs.recording import train
from unbraid.runs.run import Run

CONV = {"network": "tiny"}
FEATURES = {"network": "intervention_cmnist_tiny", "latents": 8, "dimensions": 4, "batch_size": 8}
# Each learner with settings that keep it small, and the data it learns from.
LEARNERS: dict[str, tuple[FactorData, dict[str, Any]]] = {
    "beta_vae": (squares(3), {**CONV, "latents": 4, "beta": 1.0}),
    "autoencoder": (squares(), {**CONV, "latents": 3}),
    "intervention": (squares(), FEATURES),
    "infogan_cr": (squares(), {"channels": 4, "latents": 3}),
    "frozen_decoder": (taught(), {**CONV}),
    "contrastive": (paired(3), {"network": "resnet_tiny", "latents": 8, "batch_size": 8}),
    "multitask": (taught(), {**CONV, "latents": 4}),
}

HOSTILE = "</script><script>alert(1)</script>\"'<!--"
"""A name that would break a page that took it for markup."""


def trained(folder: Path, method: str, steps: int = 3, **settings: Any) -> tuple[Run, FactorData]:
    """A learner trained for a few steps, and its data."""
    data, small = LEARNERS[method]
    return train(method, data, steps=steps, out=folder, protocol=None, **{**small, **settings}), data
