"""An interval of any other statistic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from unbraid.report.estimates.estimate import SEEDS, Array, Estimate
from unbraid.report.estimates.means import margin


def jackknife(statistic: Callable[[Array], Any], values: Array, *, stacked: bool = False) -> Estimate:
    """Any smooth statistic of values (groups, seeds, …); its interval leaves out one seed of a group at a time.

    Groups are data sets or settings, each of which the statistic has to take as a whole, such as by the mean over its
    seeds: it gets the values with NaN in place of what is left out. It must not hang on a maximum or a median, of whose
    spread leaving out one value says nothing. From three seeds per group on. A statistic that is `stacked` also takes
    several tables at once (tables, groups, seeds, …) and gives a number for each, which is faster.
    """
    values = np.asarray(values, float)
    known = np.isfinite(values).reshape(*values.shape[:2], -1).any(2)
    value, sizes = float(statistic(values)), known.sum(1)
    groups = np.flatnonzero(sizes)
    if not math.isfinite(value) or not len(groups) or sizes[groups].min() < SEEDS:
        return Estimate(value)

    def without(group: int, seeds: Array) -> Array:
        tables = np.repeat(values[None], len(seeds), 0)
        tables[np.arange(len(seeds)), group, seeds] = np.nan
        return np.asarray(statistic(tables) if stacked else [float(statistic(table)) for table in tables])

    parts = left_out(known, without)
    if not np.isfinite(parts).all():
        return Estimate(value)
    half = margin(parts, sizes[groups] - 1.0) * math.sqrt(parts.sum())
    return Estimate(value, value - half, value + half, seeds=int(sizes[groups].min()))


def left_out(known: Array, without: Callable[[int, Array], Array]) -> Array:
    """The variance that the seeds of each group bring to a number, from its values without each of them.

    `known` (groups, seeds) says which values there are. `without` takes a group and some of its seeds, and gives the
    number without each of these.
    """
    parts = []
    for group in np.flatnonzero(known.any(1)):
        replicates = without(int(group), np.flatnonzero(known[group]))
        parts.append((len(replicates) - 1) ** 2 / len(replicates) * float(np.var(replicates, ddof=1)))
    return np.array(parts)
