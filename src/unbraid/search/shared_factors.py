"""Factors that several models of the same pictures have found: what they agree on, and how far to trust a latent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unbraid.runs.latents import ACTIVE
from unbraid.runs.run import Run
from unbraid.search.axes import Axes

Array = np.ndarray[Any, Any]
TRUSTED = 0.6  # rank correlation from which a latent of another model confirms one
MIXED = 0.8  # multiple rank correlation from which the latents of another model together confirm one
GAIN = 0.1  # factors that a model has to share more along other axes than along its own
ROUNDS = 10  # in which models choose their axes
CONFIRMING = 2  # other models that have to confirm a latent, where there are so many


@dataclass(frozen=True, order=True)
class Member:
    """A strength and a seed."""

    strength: float
    seed: int


@dataclass(frozen=True, eq=False)
class Model:
    """What is known of a trained member: its codes of the pictures that are compared, and the KL of each latent."""

    member: Member
    run: Run
    codes: Array
    kl: Array
    axes: Axes | None = None
    """Those that codes and KL are along, where they are not the model's own."""

    @property
    def steps(self) -> int:
        return self.run.config.steps

    @property
    def active(self) -> Array:
        """The active latents, that with the largest KL first."""
        order = np.argsort(-self.kl, kind="stable")
        return order[self.kl[order] > ACTIVE]

    @cached_property
    def ranks(self) -> Array:
        """The active latents as ranks of mean 0 and variance 1: (n, active)."""
        from scipy.stats import rankdata

        table = rankdata(self.codes[:, self.active], axis=0)
        return np.asarray((table - table.mean(0)) / np.maximum(table.std(0), 1e-12))


@dataclass(frozen=True)
class Factor:
    """A latent of the best model."""

    latent: int
    kl: float
    trust: float
    """Its rank correlation with the most similar latent of another model: the second highest over the other models."""
    mixed: float = 0.0
    """The same with all latents of another model together: high where these hold it, turned in their plane."""

    @property
    def alone(self) -> bool:
        """Whether other models have a latent of their own for it."""
        return self.trust >= TRUSTED

    @property
    def trusted(self) -> bool:
        return self.alone or self.mixed >= MIXED


def agreement(models: Sequence[Model]) -> Array:
    """How many factors each model shares with the others: (m,).

    The latents of two models are matched one to one. A pair counts by its absolute rank correlation, less the highest
    one that either of the two has with a third latent: 1 for a factor that both models hold in one latent, about 0 for
    latents that are mixed. A model has the sum over its pairs, the mean over the two other models with which it shares
    most: models of other strengths may have found less. UDR is a mean over latents: by it, a model that has found one
    factor outranks one that has found four.
    """
    return np.array([_agreement(one, [(other,) for other in models if other is not one]) for one in models])


def along_shared_axes(models: Sequence[Sequence[Model]]) -> list[Model]:
    """Each model along those of its axes that share most factors with the others.

    `models` has every model along each of its sets of axes, its own first, which it leaves only for a gain. Each first
    chooses beside the others along any of their axes, then beside those that they have chosen, until none changes.
    Independence alone does not decide: axes that are an accident of one model are not found again in another.
    """
    seen: list[Sequence[Model]] = list(models)
    chosen: list[Model] = []
    for _ in range(ROUNDS):
        before = chosen
        chosen = [_best(candidates, seen[:index] + seen[index + 1 :]) for index, candidates in enumerate(models)]
        if chosen == before:
            break
        seen = [[one] for one in chosen]
    return chosen


def _best(candidates: Sequence[Model], others: Sequence[Sequence[Model]]) -> Model:
    """The first, or another that shares clearly more with the others."""
    shared = [_agreement(one, others) for one in candidates]
    best = int(np.argmax(shared))
    return candidates[best] if shared[best] > shared[0] + GAIN else candidates[0]


def _agreement(model: Model, others: Sequence[Sequence[Model]]) -> float:
    """The number of factors that it shares with the two others with which it shares most, along any of their axes."""
    shared = [max(_shared(_correlations(model, one)) for one in candidates) for candidates in others]
    return float(np.mean(sorted(shared)[-CONFIRMING:])) if shared else 0.0


def _shared(matrix: Array) -> float:
    """The number of factors that two models share, from the absolute correlations of their latents."""
    from scipy.optimize import linear_sum_assignment

    total = 0.0
    for row, column in zip(*linear_sum_assignment(-matrix), strict=True):
        rest = [*np.delete(matrix[row], column), *np.delete(matrix[:, column], row)]
        total += max(0.0, matrix[row, column] - max(rest, default=0.0))
    return float(total)


def trust(model: Model, others: Sequence[Model]) -> list[Factor]:
    """The active latents of a model: those that other models hold too, then those they hold mixed, then the rest.

    A latent is confirmed if two other models have it, however many have not: some were trained less.
    """
    alone = _second([_correlations(model, other).max(1, initial=0.0) for other in others], len(model.active))
    mixed = _second([_multiple_correlations(model, other) for other in others], len(model.active))
    factors = [
        Factor(int(z), float(model.kl[z]), float(one), float(together))
        for z, one, together in zip(model.active, alone, mixed, strict=True)
    ]
    return sorted(factors, key=lambda factor: (not factor.alone, not factor.trusted, -factor.trust))


def _second(values: Sequence[Array], count: int) -> Array:
    """The second highest value over models of each latent; the only one where there is one model, 0 where none."""
    if not values:
        return np.zeros(count)
    return np.asarray(np.sort(values, 0)[-min(CONFIRMING, len(values))])


def _correlations(left: Model, right: Model) -> Array:
    """Absolute rank correlations of active latents: (left, right)."""
    return np.asarray(np.abs(left.ranks.T @ right.ranks) / len(left.codes))


def _multiple_correlations(left: Model, right: Model) -> Array:
    """How well the latents of `right` together predict the rank of each of `left`: √R² of a linear fit, (left,).

    R² is adjusted for the number of latents: few pictures are fitted by chance.
    """
    targets, inputs = left.ranks, right.ranks
    count, width = inputs.shape
    if not width or count <= width + 1:
        return np.zeros(targets.shape[1])
    fitted = inputs @ np.linalg.lstsq(inputs, targets, rcond=None)[0]
    unexplained = ((targets - fitted) ** 2).mean(0) * (count - 1) / (count - width - 1)
    return np.asarray(np.sqrt(np.clip(1 - unexplained, 0, 1)))
