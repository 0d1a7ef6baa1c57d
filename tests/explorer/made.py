"""Runs of a few steps to look into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.examples.squares import labelled, paired, squares, taught
from unbraid.data import FactorData
from unbraid.runs.recording import train
from unbraid.runs.run import Run

CONV = {"network": "tiny", "latents": 4}
FEATURES = {"network": "intervention_cmnist_tiny", "latents": 8, "dimensions": 4, "batch_size": 8}
# Every learner with settings that keep it small, and the data it learns from.
LEARNERS: dict[str, tuple[FactorData, dict[str, Any]]] = {
    "beta_vae": (squares(3), {**CONV, "beta": 1.0}),
    "annealed_vae": (squares(), CONV),
    "factor_vae": (squares(), {**CONV, "discriminator_layers": 1, "discriminator_width": 8}),
    "beta_tc_vae": (squares(), CONV),
    "dip_vae_i": (squares(), CONV),
    "dip_vae_ii": (squares(), CONV),
    "factorized_support": (squares(), CONV),
    "ada_gvae": (paired(), CONV),
    "few_label_vae": (labelled(), CONV),
    "autoencoder": (squares(), {**CONV, "latents": 3}),
    "intervention": (squares(), FEATURES),
    "infogan_cr": (squares(), {"channels": 4, "latents": 3}),
    "contrastive": (paired(3), {"network": "resnet_tiny", "latents": 8, "batch_size": 8}),
    "multitask": (taught(), CONV),
    "one_head": (taught(), CONV),
    "single_task": (taught(), CONV),
    "random_encoder": (squares(), CONV),
    "frozen_decoder": (taught(), {"network": "tiny"}),
    "frozen_heads": (taught(), {}),
}
HOSTILE = "</script><script>alert(1)</script>\"'<!--"

HOSTILE = "</script><script>alert(1)</script>\"'<!--"
"""A name that would break a page that took it for markup."""


def trained(folder: Path, method: str, steps: int = 3, **settings: Any) -> tuple[Run, FactorData]:
    """A learner trained for a few steps, and its data."""
    data, small = LEARNERS[method]
    return train(method, data, steps=steps, out=folder, protocol=None, **{**small, **settings}), data
