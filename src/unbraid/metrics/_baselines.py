"""What a score is compared with: that of noise and that of perfect codes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array
from unbraid.metrics._measuring import Seeds, Work
from unbraid.metrics.protocols import METRICS, Part
from unbraid.metrics.score_table import ScoreTable
from unbraid.own import label
from unbraid.progress import Advance

BASELINE = 2_000  # training rows for the baselines of metrics that fit models


def add_baselines(
    table: ScoreTable, parts: Sequence[Part], work: Work, rng: np.random.Generator, advance: Advance
) -> None:
    """Fill in the scores of noise, each code shuffled among the rows, and of perfect codes, one per factor."""
    rows = len(work.sets.train[0])
    share = min(1.0, BASELINE / rows)
    small = work.sets.each(lambda codes, factors: _first(codes, factors, share))
    seeds = Seeds(rng)
    for part in parts:
        sets = small if METRICS[part.metric].refits else work.sets
        noise = sets.each(lambda codes, factors: (rng.permuted(codes, axis=0), factors))
        perfect = sets.each(lambda codes, factors: (_perfect(factors), factors))
        table.noise |= work.measure(part, seeds[part.metric], noise, share).scores
        with suppress(InputError):  # settings may name columns that perfect codes do not have
            table.perfect |= work.measure(part, seeds[part.metric], perfect, share).scores
        table.baseline_rows[label(part.metric)] = len(sets.train[0])
        advance(2, note=part.metric)


def _first(codes: Array, factors: Array, share: float) -> tuple[Array, Array]:
    """The first rows, which are in random order unless the user gave both sets."""
    count = max(2, round(len(codes) * share))
    return codes[:count], factors[:count]


def _perfect(factors: Array) -> Array:
    """One code per factor, its own values at mean 0 and deviation 1."""
    codes = factors.astype(np.float64) - factors.mean(0)
    spread = codes.std(0)
    return np.asarray(codes / np.where(spread > 0, spread, 1))
