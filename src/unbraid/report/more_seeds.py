"""How many seeds would decide a claim that is open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from scipy.special import stdtrit

from unbraid.report.estimates import HIGH, Estimate

MOST = 1_000
"""Seeds beyond which nobody would run a study: a number so close to its threshold cannot be told from it."""
STEP = 1.05


def seeds_to_decide(estimates: Iterable[Estimate], decided: Callable[[list[Estimate]], bool]) -> int:
    """About how many seeds of its smallest group it takes, if all numbers stay where they are; 0 where none tells.

    An interval of n seeds shrinks as t(n - 1) / √n does, Student's. More than MOST are MOST + 1.
    """
    known = list(estimates)
    if not known or not all(entry.has_interval and entry.seeds > 1 for entry in known):
        return 0
    fewest, factor = min(entry.seeds for entry in known), 1.0
    while fewest * factor <= MOST:
        factor *= STEP
        if decided([_narrower(entry, factor) for entry in known]):
            return math.ceil(fewest * factor)
    return MOST + 1


def in_words(seeds: int) -> str:
    """`about 23 seeds would decide it`."""
    count = f"about {seeds}" if seeds <= MOST else f"more than {MOST:,}"
    return f"{count} seeds would decide it"


def _narrower(entry: Estimate, factor: float) -> Estimate:
    """The same with so many times the seeds."""
    before, after = (float(stdtrit(count - 1, HIGH)) for count in (entry.seeds, entry.seeds * factor))
    shrunk = after / before / math.sqrt(factor)
    return Estimate(
        entry.value,
        entry.value - (entry.value - entry.low) * shrunk,
        entry.value + (entry.high - entry.value) * shrunk,
    )
