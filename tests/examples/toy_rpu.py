"""rPU-VAE on a few sprites, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.examples.toy_jobs import Now
from unbraid.data import FactorData, Subset, load
from unbraid.search import RPU, Hyperparameter, PopulationConfig, ReductionConfig, RPUConfig, rpu

SPACE = {"learning_rate": Hyperparameter((2e-3, 4e-3), 1e-3, 1e-2), "beta": Hyperparameter((1.0, 2.0), 1.0, 8.0)}
TOY = PopulationConfig(size=2, generations=2, models=2, images=320, space=SPACE)
# at toy size nothing is learned well: every latent is active, and every bump a peak
LOOSE = ReductionConfig(active=0.0, height=1.0, chance=1.0, distance=1 / 6, outer=20)
SETTINGS = {"network": "tiny", "latents": 2, "batch_size": 32}
CONFIG = RPUConfig(
    TOY, PopulationConfig(size=2, generations=2, images=320, space=SPACE), leaf_runs=1, threshold=0.0, reduction=LOOSE
)


def toy_data() -> FactorData:
    data = load("dsprites", 16)
    factors = data.all_factors()
    keep = (factors[:, 0] == 0) & (factors[:, 2] == 0) & (factors[:, 3] % 4 == 0) & (factors[:, 4] % 4 == 0)
    return Subset(data, keep.nonzero().flatten())


def toy(out: Path, config: RPUConfig = CONFIG, executor: Any = None, **more: Any) -> RPU:
    return rpu(
        toy_data(), config, out, settings=SETTINGS, protocol={"mig": {}}, executor=executor or Now(), workers=1, **more
    )
