from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import mig, mig_sup

FACTORS = factors_of()


def test_perfect_codes_and_noise() -> None:
    assert mig_sup(perfect(FACTORS), FACTORS)["mig_sup"] == pytest.approx(1.0)
    assert mig_sup(noise(), FACTORS)["mig_sup"] < 0.02


def test_against_a_double_loop() -> None:
    codes = perfect(FACTORS) + 0.7 * noise()
    codes[:, 1] += FACTORS[:, 0]
    gaps = []
    for z in codes.T:
        binned = np.digitize(z, np.histogram(z, 20)[1][:-1])
        told = sorted(mutual_info_score(v, binned) / mutual_info_score(v, v) for v in FACTORS.T)
        gaps.append(told[-1] - told[-2])
    assert mig_sup(codes, FACTORS)["mig_sup"] == pytest.approx(np.mean(gaps), abs=1e-9)


def test_it_sees_what_mig_does_not_and_the_other_way_round() -> None:
    factors = factors_of(1200, (2, 3))
    both = factors[:, :1] * 3.0 + factors[:, 1:]  # one code tells both factors completely
    assert mig(both, factors)["mig"] == pytest.approx(1.0)
    assert mig_sup(both, factors)["mig_sup"] == pytest.approx(0.0, abs=1e-9)
    twice = np.c_[perfect(factors), perfect(factors)]
    assert mig(twice, factors)["mig"] == pytest.approx(0.0, abs=1e-9)
    assert mig_sup(twice, factors)["mig_sup"] == pytest.approx(1.0)


def test_codes_that_do_not_move_are_left_out() -> None:
    assert mig_sup(np.c_[perfect(FACTORS), np.full(1200, 0.1)], FACTORS)["mig_sup"] == pytest.approx(1.0)
    still = np.c_[perfect(FACTORS), 0.01 * noise(1200, 1)]
    assert mig_sup(still, FACTORS)["mig_sup"] == pytest.approx(0.75, abs=0.01)
    assert mig_sup(still, FACTORS, threshold=0.01)["mig_sup"] == pytest.approx(1.0)


def test_degenerate_input() -> None:
    assert mig_sup(np.zeros((1200, 2)), FACTORS)["mig_sup"] == 0
    assert mig_sup(perfect(FACTORS)[:, :1], FACTORS[:, :1])["mig_sup"] == pytest.approx(1.0)
    assert mig_sup(perfect(FACTORS), np.full(1200, 3))["mig_sup"] == 0
    assert 0 <= mig_sup(noise(10, 30), FACTORS[:10])["mig_sup"] <= 1
    with pytest.raises(InputError, match="codes column 0 is nan"):
        mig_sup(np.full((1200, 1), np.nan), FACTORS)
    with pytest.raises(InputError, match="3 rows of codes but 1200"):
        mig_sup(noise(3), FACTORS)
