from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.studies.assumptions.made_up import (
    ACCURACIES,
    EFFICIENCIES,
    ENTANGLED,
    Model,
    Score,
    against,
    by_model,
    by_setting,
    by_setting_and_column,
    chance,
    everywhere,
    falling,
    frame,
    made,
    noise,
    of,
    plain,
    rising,
)
from unbraid.report.claims import Judged, judge
from unbraid.studies.assumptions.claims import CLAIMS, ISOLATING, TRIO, best_strengths, variance_shares
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, UNSUPERVISED, Models

MIG = "mig"
BY_KEY = {claim.key: claim for claim in CLAIMS}
DOWNSTREAM = everywhere(ACCURACIES, by_model)
EFFICIENT = everywhere(EFFICIENCIES, by_model)
TWO, COLOURS = ("dsprites", "shapes3d"), ("dsprites", "color_dsprites")


SEEDS = {"labels-help": 20, "labels-do-not-transfer": 20}  # an honest interval of table 1 is wide with few


def low(method: str, other: float = 3.0) -> Score:
    """A method far below the plain VAE, or above it."""
    return lambda model: (9.0 if plain(model) else 1.0 if model.method.startswith(method) else other) + model.noise()


def high(model: Model, column: str) -> float:
    return 0.6 + 0.1 * model.noise(column)


def near_zero(model: Model, column: str) -> float:
    return 0.1 * model.noise(column)


def turned_round(model: Model, column: str) -> float:
    """What is good on dSprites is bad elsewhere."""
    return chance(model.setting) * (1 if model.data == "dsprites" else -1) + 0.02 * model.noise(column)


# For each claim scores that satisfy it, scores that violate it, and the data sets where they matter.
CASES: dict[str, tuple[dict[str, Score], dict[str, Score], tuple[str, ...]]] = {
    "theorem-1": (
        {**everywhere(ENTANGLED["codes"], high), **everywhere(ENTANGLED["entangled"], near_zero)},
        {**everywhere(ENTANGLED["codes"], near_zero), **everywhere(ENTANGLED["entangled"], high)},
        TWO,
    ),
    "reconstructs": (
        {"explained": lambda m: 0.8 + 0.1 * m.noise()}, {"explained": lambda m: 0.1 + 0.1 * m.noise()}, TWO,
    ),
    "noise-ignored": (
        {"noise_kept": lambda m: 0.01 + 0.01 * m.noise()}, {"noise_kept": lambda m: 0.5 + 0.1 * m.noise()},
        ("dsprites", "noisy_dsprites"),
    ),
    "norb-hardest": (
        {"explained": lambda m: (0.2 if m.data == "small_norb" else 0.8) + 0.1 * m.noise()},
        {"explained": lambda m: (0.8 if m.data == "small_norb" else 0.2) + 0.1 * m.noise()},
        ("dsprites", "small_norb", "cars3d"),
    ),
    "all-decorrelate": (
        {SAMPLED: lambda m: 9 - 2 * m.place - (m.method not in ("beta_vae", "beta_tc_vae")) + 0.1 * m.noise()},
        {SAMPLED: lambda m: 3 + 2 * m.place + 0.1 * m.noise()},
        TWO,
    ),
    "sampled-falls": ({SAMPLED: falling}, {SAMPLED: rising}, TWO),
    "plain-highest": (
        {SAMPLED: lambda m: (9 if plain(m) else 3) + m.noise()},
        {SAMPLED: lambda m: (1 if plain(m) else 3) + m.noise()},
        TWO,
    ),
    "dip-low": ({SAMPLED: low("dip")}, {SAMPLED: lambda m: (1 if plain(m) else 3) + m.noise()}, TWO),
    "dip-falls": ({SAMPLED: falling}, {SAMPLED: rising}, TWO),
    "factor-low": ({SAMPLED: low("factor")}, {SAMPLED: lambda m: (1 if plain(m) else 3) + m.noise()}, TWO),
    "factor-does-not-fall": ({SAMPLED: rising}, {SAMPLED: falling}, TWO),
    "annealed-falls": ({SAMPLED: falling}, {SAMPLED: rising}, TWO),
    "mean-rises": ({MEAN: rising}, {MEAN: falling}, TWO),
    "factor-mean-rises": ({MEAN: rising}, {MEAN: falling}, TWO),
    "dip-ii-mean": (
        {MEAN: lambda m: (9 if plain(m) or m.data == "dsprites" else 1) + m.noise()},
        {MEAN: lambda m: (9 if plain(m) or m.data == "shapes3d" else 1) + m.noise()},
        TWO,
    ),
    "mean-exceeds-sampled": (
        {MEAN: lambda m: 2 + m.noise(), SAMPLED: lambda m: 1.5 + m.noise("sampled")},
        {MEAN: lambda m: 1.5 + m.noise(), SAMPLED: lambda m: 2 + m.noise("sampled")},
        TWO,
    ),
    "only-dip-i": (
        {MEAN: lambda m: (0.1 if m.method == "dip_vae_i" else 1) + 0.1 * m.noise()},
        {MEAN: lambda m: (2 if m.method == "dip_vae_i" else 1) + 0.1 * m.noise()},
        TWO,
    ),
    "trio-agrees": (everywhere(TRIO, by_model), {**everywhere(TRIO, by_model), MIG: against}, TWO),
    "others-disagree": (everywhere(METRICS, noise), everywhere(METRICS, by_model), TWO),
    "strength-matters-more": (
        everywhere(METRICS, by_setting_and_column),
        everywhere(METRICS, lambda m, column: chance(m.method, column) + 0.1 * m.noise(column)),
        TWO,
    ),
    "no-method-dominates": (
        everywhere(METRICS, by_setting_and_column),
        everywhere(METRICS, lambda m, column: 2 * (m.method == "beta_vae") + m.noise(column)),
        TWO,
    ),
    "no-strength-is-best": (
        everywhere(METRICS, by_setting_and_column), everywhere(METRICS, lambda m, column: rising(m)), TWO,
    ),
    "unsupervised": (
        everywhere({**METRICS, **UNSUPERVISED}, noise),
        {**everywhere(UNSUPERVISED, by_model), **everywhere(METRICS, by_model), "kl": against},
        TWO,
    ),
    "transfer-colour": (everywhere(METRICS, by_setting), everywhere(METRICS, turned_round), COLOURS),
    "no-transfer": (everywhere(METRICS, by_setting_and_column), everywhere(METRICS, by_setting), TWO),
    "labels-help": (everywhere(METRICS, by_setting_and_column), everywhere(METRICS, noise), TWO),
    "labels-do-not-transfer": (everywhere(METRICS, noise), everywhere(METRICS, by_setting), TWO),
    "trio-accuracy": (
        {**everywhere(TRIO, by_model), **DOWNSTREAM}, {**everywhere(TRIO, against), **DOWNSTREAM}, TWO,
    ),
    "isolating": (
        {**everywhere(ISOLATING, noise), **DOWNSTREAM}, {**everywhere(ISOLATING, by_model), **DOWNSTREAM}, TWO,
    ),
    "no-efficiency": (
        {**everywhere(METRICS, noise), **EFFICIENT}, {**everywhere(METRICS, by_model), **EFFICIENT}, TWO,
    ),
    "annealed-efficiency": (
        {**DOWNSTREAM, **everywhere(EFFICIENCIES, against)}, {**DOWNSTREAM, **EFFICIENT}, TWO,
    ),
}  # fmt: skip


def verdict(key: str, models: Models) -> Judged:
    (judged,) = judge([BY_KEY[key]], models)
    return judged


def test_every_claim_has_its_tables() -> None:
    assert set(CASES) == set(BY_KEY)
    assert len(BY_KEY) == len(CLAIMS), "no two claims share a key"


@pytest.mark.parametrize("key", CASES)
def test_a_verdict_follows_the_table(key: str) -> None:
    *tables, data = CASES[key]
    for scores, expected in zip(tables, ("holds", "does not hold"), strict=True):
        judged = verdict(key, made(scores, data, seeds=SEEDS.get(key, 5)))
        assert judged.verdict == expected, judged
        assert "models" in judged.ours
        assert "[" in judged.ours, "an interval is given"


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("kind", ["empty", "one run", "one data set", "two seeds", "no scores"])
def test_a_small_scale_decides_nothing(key: str, kind: str) -> None:
    for scores in CASES[key][:2]:
        runs = {
            "empty": pd.DataFrame(),
            "one run": frame(scores, ("dsprites",), ("beta_vae",), 1, 1),
            "one data set": frame(scores, ("dsprites",)),
            "two seeds": frame(scores, COLOURS, seeds=2),
            "no scores": frame({}),
        }[kind]
        judged = verdict(key, of(runs))
        assert judged.verdict in ("inconclusive", "not testable here"), judged


def test_an_interval_over_the_threshold_decides_nothing() -> None:
    judged = verdict("sampled-falls", made({SAMPLED: lambda model: model.noise() - 0.15 * model.place}))
    assert judged.verdict == "inconclusive"
    assert "needed" not in judged.why


def test_a_number_that_is_missing_is_named() -> None:
    runs = frame({SAMPLED: falling}, seeds=5)
    assert "Not measured" not in verdict("sampled-falls", of(runs)).why
    kept = runs[(runs["method"] != "beta_tc_vae") | (runs["data"] != "shapes3d")]
    judged = verdict("sampled-falls", of(kept))
    assert judged.verdict == "inconclusive"
    assert "Not measured: β-TCVAE on Shapes3D" in judged.why
    assert "β-TCVAE on dSprites −" in judged.ours


def test_what_a_scale_does_not_have_is_not_testable() -> None:
    judged = verdict("transfer-colour", made(everywhere(METRICS, by_setting)))
    assert judged.verdict == "not testable here"
    assert "no models on Color-dSprites" in judged.why


def test_metrics_that_agree_but_for_one_are_not_called_unrelated() -> None:
    """Their signed mean was 0.3 or less where one of the metrics is the reverse of the others."""
    scores = {**everywhere(METRICS, by_model), "sap": against, "modularity": against}
    judged = verdict("others-disagree", made(scores, seeds=5))
    assert judged.verdict == "does not hold"
    one = {**everywhere(METRICS, by_model), "sap": noise_of("sap")}
    assert verdict("others-disagree", made(one, seeds=5)).verdict == "does not hold"


def noise_of(column: str) -> Score:
    return lambda model: model.noise(column)


def test_a_score_that_goes_both_ways_is_not_called_unrelated() -> None:
    def both_ways(model: Model, column: str) -> float:
        return by_model(model, column) if model.data == "dsprites" else against(model, column)

    scores = {**everywhere(UNSUPERVISED, both_ways), **everywhere(METRICS, by_model)}
    assert verdict("unsupervised", made(scores, seeds=5)).verdict == "does not hold"


def test_transfer_to_colour_is_judged_apart_from_other_pairs() -> None:
    def score(model: Model, column: str) -> float:
        return chance(model.setting, model.data == "shapes3d", column) + 0.02 * model.noise(column)

    models = made(everywhere(METRICS, score), (*COLOURS, "shapes3d"), seeds=5)
    assert verdict("transfer-colour", models).verdict == "holds"
    assert verdict("no-transfer", models).verdict == "holds"
    alike = made(everywhere(METRICS, by_setting), (*COLOURS, "shapes3d"), seeds=5)
    assert verdict("no-transfer", alike).verdict == "does not hold"


@pytest.mark.parametrize(("part", "kind"), [(0, "method"), (1, "strength"), (2, "seed")])
def test_variance_goes_to_where_it_comes_from(part: int, kind: str) -> None:
    def score(model: Model) -> float:
        return chance({"method": model.method, "strength": model.setting, "seed": model}[kind])

    models = made({MIG: score}, strengths=6, seeds=8)
    shares = variance_shares(models.scores(MIG, "dsprites"), [method for method, _ in models.settings])
    assert sum(shares) == pytest.approx(1)
    assert shares[part] > 0.9


def test_those_that_tie_share_a_win() -> None:
    scores = made({MIG: lambda model: float(model.place > 0)}, strengths=3)
    assert all(number.value == pytest.approx(0.5) for number in best_strengths(scores).values())


def test_the_plain_vae_is_compared_with_each_method_and_not_with_the_highest_of_many() -> None:
    """Where no setting differs, the highest of many noisy medians is above the plain VAE's; no method is."""
    same: Callable[[Model], float] = lambda model: 3 + model.noise()  # noqa: E731
    judged = verdict("plain-highest", made({SAMPLED: same}, seeds=5))
    assert judged.verdict != "does not hold"
    assert np.isfinite([number.value for number in judged.numbers.values()]).all()
    assert math.isclose(np.mean([number.value for number in judged.numbers.values()]), 0, abs_tol=0.1)
