from __future__ import annotations

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.metrics.attributes import fit_attribute

RNG = np.random.default_rng(0)
CODES = RNG.normal(size=(200, 3))


def test_noise_has_no_r2() -> None:
    fit = fit_attribute(CODES, RNG.normal(size=200), CODES)
    assert fit.score < 0.1


def test_a_number_with_noise_has_the_r2_of_its_signal() -> None:
    y = CODES[:, 0] + RNG.normal(size=200)  # half of the variance
    assert fit_attribute(CODES, y, CODES).score == pytest.approx(0.5, abs=0.12)


def test_classes_are_told_apart() -> None:
    labels = np.where(CODES[:, 1] > 0, "up", "down")
    fit = fit_attribute(CODES, labels, CODES)
    assert fit.score > 0.9
    assert fit.chance == pytest.approx(max(np.mean(labels == "up"), np.mean(labels == "down")))
    assert np.mean(fit.values == labels) > 0.95


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(9), "has 9 labels; expected at least 10"),
        (np.full(200, "a"), "is 'a' everywhere"),
        (np.array(["a"] * 197 + ["b"] * 3), "is 'b' in 3 pictures; expected at least 10 of each class"),
    ],
)
def test_too_little_to_learn_from_is_said(labels: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_attribute(CODES[: len(labels)], labels, CODES)


def test_what_is_not_finite_is_said() -> None:
    codes = np.random.default_rng(0).normal(size=(40, 2))
    for labels in (np.append(np.inf, np.arange(39)), codes[:, 0] * 1e200):
        with pytest.raises(InputError, match=r"tall has values that are not finite, or above 1e\+100"):
            fit_attribute(codes, labels, codes, "tall")
    with pytest.raises(InputError, match="some codes are infinite or not a number"):
        fit_attribute(codes, codes[:, 0], codes * np.nan)
