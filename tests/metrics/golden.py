"""Scores of the reference implementation on fixed codes beside ours: shared by the tests and the bench."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unbraid.metrics import (
    Scores,
    beta_vae_score,
    code_information,
    dci,
    explicitness,
    factor_vae_score,
    irs,
    mig,
    modularity,
    sap,
    total_correlation,
    udr,
    wasserstein_correlation,
)

Array = np.ndarray[Any, Any]
CASES = ("identity_pad", "rotated", "half", "noise", "duplicated", "constant_dim", "vae_like")
EXACT, FITTED, INTERVENED = 1e-6, 0.005, 0.03  # how far ours may be, as came with the scores


class Case(NamedTuple):
    codes: Array
    factors: Array
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    scores: dict[str, float]


@functools.cache
def read(arrays: Path, scores: Path) -> Case:
    with np.load(arrays) as file:
        codes, sizes, train, test = file["codes"], file["sizes"], file["train"], file["test"]
    factors = np.stack(np.unravel_index(np.arange(len(codes)), sizes), 1)
    expected = json.loads(scores.read_text())["scores"]
    return Case(codes, factors, (codes[train], factors[train]), (codes[test], factors[test]), expected)


# the reference's name -> our score, how far it may be
SCORES: dict[str, tuple[Callable[[Case], float], float]] = {
    "mig": (lambda c: mig(*c.train)["mig"], EXACT),
    "modularity": (lambda c: modularity(*c.train)["modularity"], EXACT),
    "sap_continuous": (lambda c: sap(*c.train, predictor="r2")["sap"], EXACT),
    "sap_discrete": (lambda c: sap(*c.train, test=c.test)["sap"], FITTED),
    "explicitness_test": (lambda c: explicitness(*c.train, test=c.test)["explicitness"], FITTED),
    "irs": (lambda c: irs(*c.train)["irs"], EXACT),
    "gaussian_total_correlation": (lambda c: total_correlation(c.train[0])["total_correlation"], EXACT),
    "gaussian_wasserstein_correlation": (
        lambda c: wasserstein_correlation(c.train[0])["wasserstein_correlation"],
        EXACT,
    ),
    "mutual_info_score": (lambda c: code_information(c.train[0])["code_information"], EXACT),
    "beta_vae_eval": (lambda c: beta_vae_score(c.codes, c.factors)["beta_vae_score"], INTERVENED),
    "factor_vae_eval": (lambda c: factor_vae_score(c.codes, c.factors)["factor_vae_score"], INTERVENED),
}
# the reference's name -> what of our boosted DCI it is; one fit serves all, within FITTED
DCI: dict[str, Callable[[Scores], float]] = {
    "dci_gbt_disentanglement": lambda found: found["disentanglement"],
    "dci_gbt_completeness": lambda found: found["completeness"],
    "dci_gbt_informativeness_test": lambda found: found["informativeness"],
    "dci_gbt_informativeness_train": lambda found: float(found.arrays["train_accuracy"].mean()),
}


def boosted(case: Case) -> Scores:
    return dci(*case.train, test=case.test)


def udr_differences(arrays: Path, scores: Path, correlation: str) -> tuple[float, float]:
    """The largest difference of the pairs of models, and of the models' scores."""
    with np.load(arrays) as file:
        codes, kl = file["codes"], file["kl"]
    expected = json.loads(scores.read_text())[correlation]
    found = udr(list(codes), list(kl), correlation)
    pairs, models = found["pairs"] - expected["pairwise"], found["scores"] - expected["model_scores"]
    return float(np.abs(pairs).max()), float(np.abs(models).max())
