"""Numbers with 95 % intervals over seeds, from arrays of scores.

Values come as (data sets, seeds) unless a function says otherwise, with NaN where a model is missing. Data sets,
settings and metrics are taken as given and seeds as drawn: an interval says what other seeds would have shown. Each
estimator says from how many seeds it gives an interval; below that number it gives the value alone, because no
interval was found that covers the truth often enough. `bench/coverage.py` prints how often each of them covers it.
"""

from __future__ import annotations

from unbraid.report.estimates.choosing import choices, probability_beats_random, wins
from unbraid.report.estimates.estimate import (
    HIGH,
    LEVEL,
    LOW,
    SEEDS,
    UNKNOWN,
    Array,
    Estimate,
    average,
    counted,
    known,
    number,
)
from unbraid.report.estimates.leaving_out import jackknife
from unbraid.report.estimates.means import difference, mean, ratio
from unbraid.report.estimates.ranks import PRIOR, rank_correlation, setting_correlation, trend
from unbraid.report.estimates.shares import STEP, exact_share_difference, share, share_difference
from unbraid.report.estimates.spreads import ROBUST_SEEDS, spread_limit, spread_power, spread_ratio, spread_seeds

__all__ = [
    "HIGH",
    "LEVEL",
    "LOW",
    "PRIOR",
    "ROBUST_SEEDS",
    "SEEDS",
    "STEP",
    "UNKNOWN",
    "Array",
    "Estimate",
    "average",
    "choices",
    "counted",
    "difference",
    "exact_share_difference",
    "jackknife",
    "known",
    "mean",
    "number",
    "probability_beats_random",
    "rank_correlation",
    "ratio",
    "setting_correlation",
    "share",
    "share_difference",
    "spread_limit",
    "spread_power",
    "spread_ratio",
    "spread_seeds",
    "trend",
    "wins",
]
