"""What the paper printed, and what the first edition of this study said."""

from __future__ import annotations

TABLE_1 = {
    "same metric, same data set": 0.773,
    "same metric, other data set": 0.550,
    "other metric, same data set": 0.518,
    "other metric, other data set": 0.519,
}
MODELS = "12,600: 7 data sets, 6 methods, 36 settings, 50 seeds"

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"
# Verdicts of the first edition's desk study (two data sets, three seeds, 2,500 steps); claims not listed are new.
FIRST_EDITION = {
    "reconstructs": HOLDS,
    "sampled-falls": HOLDS,
    "factor-does-not-fall": OPEN,
    "plain-highest": OPEN,
    "mean-rises": OPEN,
    "mean-exceeds-sampled": HOLDS,
    "only-dip-i": HOLDS,
    "trio-agrees": HOLDS,
    "others-disagree": OPEN,
    "strength-matters-more": FAILS,
    "no-method-dominates": OPEN,
    "no-strength-is-best": HOLDS,
    "unsupervised": OPEN,
    "transfer-colour": OPEN,
    "no-transfer": OPEN,
    "labels-help": HOLDS,
    "labels-do-not-transfer": FAILS,
    "trio-accuracy": HOLDS,
    "isolating": OPEN,
    "no-efficiency": HOLDS,
}
