"""A population of a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.examples.toy_jobs import Now
from unbraid.data import FactorData, load
from unbraid.search import History, Hyperparameter, PopulationConfig, Score, evolve

SPACE = {
    "learning_rate": Hyperparameter((1e-3, 3e-3, 1e-2), 1e-4, 0.1),
    "batch_size": Hyperparameter((4, 8), 4, 16, whole=True),
    "beta": Hyperparameter((1, 2, 4), 1, 64, whole=True),
}
SETTINGS = {"network": "tiny", "latents": 3}
FLAGS = [
    "--data", "dsprites", "--resolution", "16", "--set", "rows=2000", "--score", "mig", "--labels", "300",
    "--size", "4", "--generations", "3", "--steps", "12", "--seed", "5", "--protocol", "none",
    "--values", "learning_rate=1e-3,3e-3,1e-2", "--range", "learning_rate=1e-4:0.1",
    "--values", "batch_size=4,8", "--range", "batch_size=4:16", "--values", "beta=1,2,4", "--range", "beta=1:64",
    "--network", "tiny", "--latents", "3",
]  # fmt: skip
"""The same on the command line."""


def small_data() -> FactorData:
    return load("dsprites", 16, rows=2000)


def config(**changes: Any) -> PopulationConfig:
    return PopulationConfig(**{"size": 4, "generations": 3, "steps": 12, "seed": 5, "space": SPACE, **changes})


def evolve_small(out: Path | str, *, changes: dict[str, Any] | None = None, **more: Any) -> History:
    torch.set_num_threads(1)  # as workers have: more would add up in another order
    given = {"score": Score("mig", labels=300), "settings": SETTINGS, "protocol": None, "samples": 100}
    rest = {"executor": Now(), "workers": 1, **given, **more}
    return evolve("beta_tc_vae", rest.pop("data", None) or small_data(), config(**(changes or {})), out, **rest)
