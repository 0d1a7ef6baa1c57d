from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import dcimig

FACTORS = factors_of()


def test_perfect_codes_and_noise() -> None:
    assert dcimig(perfect(FACTORS), FACTORS)["dcimig"] == pytest.approx(1.0)
    assert dcimig(noise(), FACTORS)["dcimig"] < 0.02


def test_against_loops_over_codes_and_factors() -> None:
    codes = np.c_[perfect(FACTORS) + 0.7 * noise(), noise(1200, 2) + FACTORS[:, :1]]
    codes[:, 1] += FACTORS[:, 0]
    best = {0: 0.0, 1: 0.0, 2: 0.0}
    for z in codes.T:
        binned = np.digitize(z, np.histogram(z, 20)[1][:-1])
        told = [mutual_info_score(v, binned) for v in FACTORS.T]
        own = int(np.argmax(told))
        best[own] = max(best[own], told[own] - sorted(told)[-2])
    expected = sum(best.values()) / sum(mutual_info_score(v, v) for v in FACTORS.T)
    assert dcimig(codes, FACTORS)["dcimig"] == pytest.approx(expected, abs=1e-9)


def test_further_codes_of_a_factor_cost_nothing_but_a_missing_one_costs_its_entropy() -> None:
    twice = np.c_[perfect(FACTORS), perfect(FACTORS)]
    assert dcimig(twice, FACTORS)["dcimig"] == pytest.approx(1.0)
    h = np.log([3, 4, 5])
    assert dcimig(perfect(FACTORS)[:, :2], FACTORS)["dcimig"] == pytest.approx(h[:2].sum() / h.sum())


def test_degenerate_input() -> None:
    assert dcimig(np.zeros((1200, 2)), FACTORS)["dcimig"] == 0
    assert dcimig(perfect(FACTORS)[:, :1], FACTORS[:, :1])["dcimig"] == pytest.approx(1.0)
    assert dcimig(perfect(FACTORS), np.full(1200, 3))["dcimig"] == 0
    assert dcimig(perfect(FACTORS), np.c_[FACTORS, np.full(1200, 3)])["dcimig"] == pytest.approx(1.0)
    assert 0 <= dcimig(noise(10, 30), FACTORS[:10])["dcimig"] <= 1
    with pytest.raises(InputError, match="codes column 0 is nan"):
        dcimig(np.full((1200, 1), np.nan), FACTORS)
    with pytest.raises(InputError, match="3 rows of codes but 1200"):
        dcimig(noise(3), FACTORS)
