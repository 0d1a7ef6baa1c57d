"""The setting that does best on average over seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def best_setting(scores: Array, higher: bool = True) -> int | None:
    """The setting with the best mean score, of scores (settings, seeds): the first of several; None of no scores.

    A setting of which a model is missing, because it diverged for example, is taken only if all of them lack one.

    >>> best_setting(np.array([[0.1, 0.2], [0.5, np.nan], [0.3, 0.2]]))
    2
    """
    finite = np.isfinite(scores)
    counts = finite.sum(1)
    if not counts.any():
        return None
    means = np.where(finite, scores, 0).sum(1) / np.maximum(counts, 1)
    return int(np.where(counts == counts.max(), means if higher else -means, -np.inf).argmax())
