"""Intervals of scores, by a bootstrap of m out of n rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unbraid.metrics._arrays import Array
from unbraid.metrics._measuring import Seeds, Work
from unbraid.metrics.protocols import Part
from unbraid.progress import Advance

RESAMPLED, FEWEST = 8, 500  # a bootstrap sample has an eighth of the rows, but at least 500


def intervals(
    scores: Mapping[str, float],
    parts: Sequence[Part],
    work: Work,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    advance: Advance,
) -> dict[str, float]:
    """The bounds `NAME.low` and `NAME.high`: the spread of bootstrap scores around their median, centred on the score.

    Resampling repeats rows, which shifts many metrics (histograms then overestimate information); centring removes the
    shift. A sample has an eighth of the rows, drawn with repetition, so that twenty cost little; its spread is that of
    all rows times √8 (the m out of n bootstrap), and is scaled back.
    """
    drawn: dict[str, list[float]] = {}
    share = share_of(len(work.sets.train[0]))
    for _ in range(resamples):
        sample = work.sets.each(lambda codes, factors: _resampled(codes, factors, rng, share))
        seeds = Seeds(rng)
        for part in parts:
            for name, value in work.measure(part, seeds[part.metric], sample, share).scores.items():
                drawn.setdefault(name, []).append(value)
            advance(note=part.metric)
    tail = (1 - confidence) / 2
    bounds: dict[str, float] = {}
    for name, values in drawn.items():
        spread = (np.quantile(values, [tail, 1 - tail]) - np.median(values)) * np.sqrt(share)
        bounds[f"{name}.low"], bounds[f"{name}.high"] = (scores[name] + spread).tolist()
    return bounds


def share_of(rows: int) -> float:
    """The size of a bootstrap sample relative to the rows."""
    return max(rows // RESAMPLED, min(rows, FEWEST)) / rows


def _resampled(codes: Array, factors: Array, rng: np.random.Generator, share: float) -> tuple[Array, Array]:
    rows = rng.integers(len(codes), size=max(2, round(len(codes) * share)))
    return codes[rows], factors[rows]
