from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import probes

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
