from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from tests.metrics.examples import factors_of, noise, perfect, rotated
from unbraid.errors import InputError
from unbraid.metrics import med

FACTORS = factors_of()


def test_perfect_codes_mixtures_and_noise() -> None:
    assert med(perfect(FACTORS), FACTORS)["med"] == pytest.approx(1.0)
    assert med(rotated(FACTORS), FACTORS)["med"] < 0.05
    assert med(noise(), FACTORS)["med"] < 0.05


def test_against_the_formula_written_out() -> None:
    codes = np.c_[perfect(FACTORS) + 0.7 * noise(), noise(1200, 2) + FACTORS[:, :1]]
    told = np.array(
        [[mutual_info_score(v, np.digitize(z, np.histogram(z, 20)[1][:-1])) for v in FACTORS.T] for z in codes.T]
    )
    r = told / told.sum(0)
    p = r / r.sum(1, keepdims=True)
    per_code = 1 + (p * np.log(p)).sum(1) / np.log(3)
    expected = (per_code * r.sum(1)).sum() / r.sum()
    found = med(codes, FACTORS)
    np.testing.assert_allclose(found.arrays["per_code"], per_code, atol=1e-6)
    assert found["med"] == pytest.approx(expected, abs=1e-6)


def test_top_k_finds_the_clean_codes_in_wide_ones() -> None:
    mixed = rotated(FACTORS) @ np.random.default_rng(0).normal(size=(3, 60))
    wide = np.c_[perfect(FACTORS), mixed]
    assert med(wide, FACTORS)["med"] < 0.3
    top = med(wide, FACTORS, top_k=1)
    assert top["med"] == pytest.approx(1.0, abs=1e-6)
    assert np.flatnonzero(top.arrays["kept"]).tolist() == [0, 1, 2]
    assert med(wide, FACTORS, top_k=2).arrays["kept"].sum() == 6
    assert med(wide, FACTORS, top_k=100)["med"] == pytest.approx(med(wide, FACTORS)["med"])


def test_degenerate_input() -> None:
    assert med(np.zeros((1200, 2)), FACTORS)["med"] == 0
    assert med(np.zeros((1200, 2)), FACTORS, top_k=1)["med"] == 0
    assert med(perfect(FACTORS)[:, :1], FACTORS[:, :1])["med"] == 1
    assert med(perfect(FACTORS)[:, :1], FACTORS)["med"] == pytest.approx(1.0)
    assert med(perfect(FACTORS), np.full((1200, 2), 3))["med"] == 0
    assert med(perfect(FACTORS), np.c_[FACTORS, np.full(1200, 3)])["med"] == pytest.approx(1.0)
    assert 0 <= med(noise(10, 30), FACTORS[:10], top_k=2)["med"] <= 1
    with pytest.raises(InputError, match="top_k is 0"):
        med(noise(), FACTORS, top_k=0)
    with pytest.raises(InputError, match="codes column 0 is nan"):
        med(np.full((1200, 1), np.nan), FACTORS)
    with pytest.raises(InputError, match="3 rows of codes but 1200"):
        med(noise(3), FACTORS)
