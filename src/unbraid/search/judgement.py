"""What stands against a result: models in which no latent says anything, training that was cut short."""

from __future__ import annotations

import math

import numpy as np

from unbraid.runs.latents import latents_of
from unbraid.runs.run import Run


def improvement(run: Run) -> float:
    """Nats by which the last third of a run's log lowered the loss; NaN where the log is short."""
    log = run.log
    losses = log["loss"].to_numpy(dtype=float) if "loss" in log else np.zeros(0)
    third = len(losses) // 3
    if third < 2:
        return math.nan
    return float(losses[-2 * third : -third].mean() - losses[-third:].mean())


def is_dead(run: Run) -> bool:
    """Whether no latent of a model says anything."""
    return not any(latent.active for latent in latents_of(run))
