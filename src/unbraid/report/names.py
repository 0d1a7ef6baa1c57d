"""Which way a score is better, and what that is called."""

from __future__ import annotations

from typing import Literal

Better = Literal["higher", "lower", ""]

_HIGHER = (
    "mig", "dci", "sap", "modularity", "explicitness", "beta_vae_score", "factor_vae_score", "irs", "infomec",
    "mig_sup", "jemmig", "dcimig", "med", "retrieved_factors", "dci_es", "downstream", "probes", "accuracy", "udr",
    "elbo", "diagonal", "efficiency", "disentanglement", "completeness", "informativeness",
)  # fmt: skip
_LOWER = (
    "reconstruction", "total_correlation", "total_correlation_mean", "total_correlation_sampled",
    "wasserstein_correlation", "translation_difficulty", "excess", "squared_error", "rmse", "loss", "at_chance",
)  # fmt: skip
_NEITHER = ("kl", "active_latents", "active_units", "code_information", "spread_features", "spread_values")


def better(score: str) -> Better:
    """Whether higher or lower values of a score are better; empty where neither is, or it is not known.

    The last part of the name that is known decides: `dlib.mig`, `downstream.gbt.100`, `test.squared_error`.
    """
    for part in reversed(score.removeprefix("scores.").split(".")):
        if part in _NEITHER:
            return ""
        if part in _LOWER:
            return "lower"
        if part in _HIGHER:
            return "higher"
    return ""


def direction(score: str) -> str:
    """In words, for a caption."""
    side = better(score)
    return f"{side} is better" if side else "neither way is better"
