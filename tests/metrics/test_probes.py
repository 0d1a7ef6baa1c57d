from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import probes
from unbraid.metrics.probes import _alike, _at_chance

FACTORS = factors_of(600, (3, 5))
CODES = np.c_[perfect(FACTORS), noise(600, 2)][:, [0, 2, 3, 1]]  # a factor in each half, beside noise
TRAIN, TEST = slice(0, 400), slice(400, 600)


def found(codes: np.ndarray, factors: np.ndarray = FACTORS, **settings: object) -> dict[str, float]:
    return probes(codes[TRAIN], factors[TRAIN], test=(codes[TEST], factors[TEST]), **settings)  # type: ignore[arg-type]


def test_ideal_disentanglement_has_the_table_of_the_paper() -> None:
    scores = found(CODES, names=("digit", "background"))
    assert scores["r.digit"] == scores["r0.digit"] == 1.0
    assert scores["r.background"] == scores["r1.background"] == 1.0
    assert scores["r1.digit"] < 0.45
    assert scores["r0.background"] < 0.35
    assert scores["gap.digit"] == scores["r0.digit"] - scores["r1.digit"]
    assert scores["gap"] == np.mean([scores["gap.digit"], scores["gap.background"]])
    assert scores["diagonal"] == 1.0


def test_the_classifier_is_logistic_regression_on_standardised_codes() -> None:
    codes = CODES + noise(600, 4, seed=5)
    for name, columns in (("r", [0, 1, 2, 3]), ("r0", [0, 1]), ("r1", [2, 3])):
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(codes[TRAIN][:, columns], FACTORS[TRAIN, 1])
        assert found(codes)[f"{name}.1"] == model.score(codes[TEST][:, columns], FACTORS[TEST, 1])


def test_groups_of_any_columns() -> None:
    scores = probes(CODES, FACTORS, groups=[[0], [1, 2], [3]])
    assert {"r", "r0", "r1", "r2", "gap", "diagonal"} <= set(scores)
    assert scores["diagonal"] == 0.0  # the group of noise reads nothing best
    np.testing.assert_allclose(
        scores.arrays["per_factor"], np.diff(np.sort(scores.arrays["accuracy"][1:], axis=0)[-2:], axis=0)[0]
    )


def test_groups_that_hold_the_same_have_no_gap() -> None:
    scores = found(np.c_[CODES, CODES])
    assert scores["gap"] == 0.0
    assert scores["diagonal"] == 0.0


def test_degenerate_input() -> None:
    assert found(np.zeros((600, 4)))["gap"] == 0.0
    single = found(CODES, np.full((600, 1), 2))
    assert (single["r"], single["gap"], single["diagonal"]) == (1.0, 0.0, 0.0)
    alone = found(CODES[:, :1], groups=[[0]])
    assert alone["gap"] == alone["r0"]
    assert 0 <= probes(noise(12, 40), FACTORS[:12])["gap"] <= 1


@pytest.mark.parametrize(
    ("codes", "settings", "message"),
    [
        (CODES[:, :1], {}, "codes have 1 column"),
        (CODES, {"groups": [[0], [4]]}, "group 1 names column 4"),
        (CODES, {"groups": [[0], []]}, "group 1 is empty"),
        (CODES, {"groups": []}, "groups are empty"),
        (CODES, {"names": ("a",)}, "1 names for 2 factors"),
        (CODES[:5], {}, "5 rows of codes but 600"),
        (np.full((600, 2), np.nan), {}, "codes column 0 is nan"),
    ],
)
def test_errors(codes: np.ndarray, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        probes(codes, FACTORS, **settings)  # type: ignore[arg-type]


def test_codes_that_tell_nothing_are_at_chance_and_copies_alike() -> None:
    assert (found(noise(600, 4))["at_chance"], found(noise(600, 4))["alike"]) == (1.0, 0.0)
    both = found(np.c_[CODES, CODES])
    assert (both["at_chance"], both["alike"]) == (0.0, 1.0)
    ideal = found(CODES)
    assert (ideal["at_chance"], ideal["alike"]) == (0.0, 0.0)
    first = found(np.c_[perfect(FACTORS)[:, 0], noise(600, 1), perfect(FACTORS)[:, 0], noise(600, 1, seed=3)])
    assert (first["at_chance"], first["alike"]) == (0.5, 0.5)  # one factor is in both halves, the other in none


@pytest.mark.parametrize(
    ("accuracies", "chance", "guessed", "same"),
    [  # tables 7 (random), 7 (task difficulty), 2 (z, λ = 0.1), 1 and 3 (Hessian, λ = 0.1) of the paper
        ([[11.7, 12.6], [11.7, 12.6], [11.7, 12.6]], [11.7, 12.6], [True, True], [True, True]),
        ([[76.7, 99.8], [42.0, 99.7], [32.1, 99.7]], [11.7, 12.6], [False, False], [False, True]),
        ([[47.6, 35.7], [47.5, 35.7], [47.5, 35.8]], [11.7, 10.0], [False, False], [True, True]),
        ([[97.3, 64.5], [97.3, 10.1], [11.7, 64.5]], [11.7, 10.0], [False, False], [False, False]),
        ([[93.6, 56.3], [74.7, 42.4], [57.5, 50.9]], [11.7, 10.0], [False, False], [False, False]),
    ],
)
def test_degenerate_solutions_of_the_papers_tables(
    accuracies: list[list[float]], chance: list[float], guessed: list[bool], same: list[bool]
) -> None:
    accuracy = np.array(accuracies) / 100
    assert _at_chance(accuracy, np.array(chance) / 100, 10_000).tolist() == guessed
    assert _alike(accuracy, 10_000).tolist() == same


def test_chance_is_the_commonest_value_and_a_single_value_is_at_chance() -> None:
    uneven = np.repeat([0, 0, 0, 1], 150)[:, None]
    scores = probes(noise(600, 2), uneven, test=(noise(400, 2, seed=1), uneven[:400]))
    assert scores.arrays["chance"].tolist() == [1.0]  # the first 400 rows hold zeros alone
    assert scores["at_chance"] == 1.0


def test_another_letter_for_the_codes() -> None:
    scores = found(CODES, names=("digit", "background"), code="z")
    assert {"z", "z0", "z1", "z0.digit", "gap.background"} <= set(scores)
    assert not any(name.startswith("r") for name in scores)
