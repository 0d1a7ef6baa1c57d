"""What stands against a result: models in which no latent says anything, training that was cut short."""

from __future__ import annotations

import math

import numpy as np

from unbraid.runs.latents import latents_of
from unbraid.runs.run import Run
from unbraid.search.history import History

STILL = 0.01  # of the loss: a model that improved by more in the last third of its training is not trained to the end
RISING = 0.02  # of a score: the same for the best of a population in its last generation


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


def judge(history: History) -> list[str]:
    """What stands against the best model of a population, and what to do about it."""
    advice = []
    if is_dead(history.best):
        return ["The best model has no active latent: it is not a result. Try lower strengths, or train longer."]
    if history.stopped:
        advice.append(f"It ended early: {history.stopped}.")
    trained = Run(history.out / str(history.table.loc[history.table["score"].idxmax(), "run"]))
    fell = improvement(trained)
    if fell > STILL * abs(trained.last_terms().get("loss", math.inf)):
        advice.append(f"The best model's loss still fell by {fell:.0f} nats in its last generation: train longer.")
    bests = history.table.groupby("generation")["score"].max()
    if len(bests) > 1 and bests.iloc[-1] - bests.iloc[-2] > RISING:
        rise = f"from {bests.iloc[-2]:.3f} to {bests.iloc[-1]:.3f}"
        advice.append(f"The best score still rose, {rise}, in the last generation: more generations may help.")
    return advice
