"""Where scores lie among those of known models, below a table of them."""

from __future__ import annotations

from collections.abc import Collection

BANDS = ("main", "all", "none")
"""Of which scores that is said."""
MAIN = ("mig", "dci.disentanglement", "factor_vae_score", "sap")


def scores_shown(which: str) -> Collection[str] | None:
    """The names of the scores; None for all."""
    return {"main": MAIN, "all": None}.get(which, ())
