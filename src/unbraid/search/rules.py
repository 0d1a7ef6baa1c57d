"""The rules of a population, as pure functions of scores and a seeded generator: who continues from whom.

`exploit` lets the worst copy the best, `explore` (in hyperparameters.py) changes the hyperparameters they copied,
`succeed` makes the next generation with both. Models are whatever the caller trains: nothing here looks into them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from unbraid.arguments import need_number, need_whole
from unbraid.errors import InputError, nearest
from unbraid.search.hyperparameters import STARTS, Hyperparameter, Rng, explore, starts

_MOST = 10**12  # of anything that is counted
EXPLOITS = ("truncation", "none")
Model = TypeVar("Model")


@dataclass(frozen=True)
class PopulationConfig:
    """The size of a population and its rules: the paper's, but fewer members."""

    size: int = 8
    """Members; the paper's code has 56."""
    founders: int | None = None
    """Members of the first generation, of which the best `size` continue; None for `size`. The paper's code starts
    populations that have labels with 56 and keeps 28."""
    generations: int = 10
    models: int | None = None
    """Models of a member, which share its hyperparameters; None for five where the score is UDR, else one."""
    images: int | None = None
    """Images that a model is trained on in a generation; None for as many as the data has, at least 10,000."""
    steps: int | None = None
    """Steps of a generation in place of `images`; members with larger batches then train longer."""
    exploit: str = "truncation"
    """Or `none`: a search without copying, at the same budget."""
    start: str = "stratified"
    """Start values: members spread over the whole range, however few; `random` as in the paper's code; or `grid`, a
    member for each combination."""
    fraction: float = 0.2
    """The share of the members that copy, and of those that are copied."""
    factors: tuple[float, ...] = (2.0, 1.2, 0.8, 0.5)
    """A hyperparameter is multiplied by one of them."""
    space: Mapping[str, Hyperparameter] | None = None
    """What is searched; None for `search_space`."""
    seed: int = 0
    attempts: int = 10
    """How often a model is tried in a generation, each time with another seed, before its member has diverged."""
    patience: int | None = None
    """Stop when the best score has moved by less than `tolerance` in so many generations in a row; the paper's is 6."""
    tolerance: float = 0.005

    def __post_init__(self) -> None:
        for name in ("size", "founders", "generations", "models", "images", "steps", "attempts", "patience"):
            value = getattr(self, name)
            if value is not None:
                need_whole(name, value, 1, _MOST)
        need_whole("seed", self.seed)
        need_number("tolerance", self.tolerance, 0)
        if self.images is not None and self.steps is not None:
            raise InputError("images and steps both set the length of a generation; expected one of them")
        for name, value, known in (("exploit", self.exploit, EXPLOITS), ("start", self.start, STARTS)):
            if value not in known:
                raise InputError(f"{name} is '{value}'{nearest(value, known)}")
        if not 0 < self.fraction <= 0.5:
            raise InputError(f"fraction is {self.fraction}; expected more than 0 and at most 0.5")
        if not self.factors or min(self.factors) <= 0:
            raise InputError(f"factors are {list(self.factors)}; expected numbers above 0")
        if self.founders is not None and self.founders < self.size:
            raise InputError(f"founders is {self.founders}; expected at least {self.size}, the size of the population")
        if self.exploit != "none" and self.size < 2:
            raise InputError(
                "size is 1, but a single member has no other to copy; expected at least 2, or exploit='none'"
            )

    @property
    def member_generations(self) -> int:
        """How often a member is trained for a generation, where it does not converge before."""
        return (self.founders or self.size) + self.size * (self.generations - 1)


def exploit(scores: Sequence[float], rng: Rng, fraction: float = 0.2) -> list[int]:
    """Whose weights and hyperparameters each member continues with: its own, or for the worst those of one of the best.

    The worst are `fraction` of the members, rounded up, and all whose score is NaN; the best are as many of those who
    have a score, each as likely as the others. Of equal scores the first counts as better.
    """
    count = math.ceil(fraction * len(scores))
    dead = [member for member, score in enumerate(scores) if math.isnan(score)]
    alive = sorted(set(range(len(scores))) - set(dead), key=lambda member: (-scores[member], member))
    if not alive:
        raise InputError("every member has diverged; try smaller learning rates")
    best = alive[: min(count, max(len(alive) - count, 1))]
    worst = [*alive[len(best) :], *dead][-max(count, len(dead)) :]
    return [int(rng.choice(best)) if member in worst else member for member in range(len(scores))]


def converged(bests: Sequence[float], patience: int | None, tolerance: float) -> bool:
    """Whether the best score has moved by less than `tolerance` in each of the last `patience` generations."""
    if patience is None or len(bests) <= patience:
        return False
    return all(abs(after - before) < tolerance for before, after in pairwise(bests[-patience - 1 :]))


@dataclass(frozen=True)
class Member(Generic[Model]):
    """A member at the beginning of a generation."""

    number: int
    hp: Mapping[str, float]
    tries: tuple[int, ...]
    """How many seeds each of its models has used up."""
    parent: int | None = None
    """The member of the generation before that it continues from: itself, or the one it has copied."""
    starts: tuple[Model, ...] = ()
    """That one's models; none in the first generation."""


@dataclass(frozen=True)
class Grown(Generic[Model]):
    """A member at the end of a generation."""

    member: Member[Model]
    models: tuple[Model, ...]
    score: float
    """NaN where it has diverged."""
    scores: tuple[float, ...] = ()
    """Of its models."""

    @property
    def best(self) -> int:
        """The number of its best model."""
        return int(np.argmax(self.scores))


def first(space: Mapping[str, Hyperparameter], config: PopulationConfig, models: int) -> list[Member[Any]]:
    """The first generation."""
    drawn = starts(space, config.founders or config.size, config.start, np.random.default_rng([config.seed, 0]))
    return [Member(number, hp, (0,) * models) for number, hp in enumerate(drawn)]


def succeed(
    grown: Sequence[Grown[Model]], generation: int, space: Mapping[str, Hyperparameter], config: PopulationConfig
) -> list[Member[Model]]:
    """The generation after those who have `grown`; without `exploit` each continues alone, unless it has diverged.

    Of the founders the best `size` continue.
    """
    if len(grown) > config.size:
        best = sorted(grown, key=lambda one: -math.inf if math.isnan(one.score) else one.score, reverse=True)
        grown = sorted(best[: config.size], key=lambda one: one.member.number)
    if config.exploit == "none":
        alive = [one for one in grown if not math.isnan(one.score)]
        return [replace(one.member, parent=one.member.number, starts=one.models) for one in alive]
    rng = np.random.default_rng([config.seed, 1, generation])
    parents = exploit([one.score for one in grown], rng, config.fraction)
    members = []
    for one, other in zip(grown, (grown[parent] for parent in parents), strict=True):
        hp = one.member.hp if other is one else explore(other.member.hp, space, rng, config.factors)
        members.append(replace(one.member, hp=hp, parent=other.member.number, starts=other.models))
    return members
