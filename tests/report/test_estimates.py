"""Intervals against SciPy's and against their definitions; verdicts by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp, ttest_ind

from unbraid.report.claims import Rule
from unbraid.report.estimates import Estimate, average, counted, difference, mean, number, ratio, spread_ratio

NAN = math.nan


def test_one_data_set_is_student_s_interval() -> None:
    values = np.array([0.1, 0.4, 0.2, NAN])
    known = ttest_1samp(values[:3], 0).confidence_interval()
    found = mean(values)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.value == pytest.approx(values[:3].mean())


def test_data_sets_are_strata() -> None:
    """Against Welch and Satterthwaite's formula, written as a loop."""
    values = np.random.default_rng(0).normal(size=(3, 4)) * np.array([[1], [5], [0.1]])
    variances = [row.var(ddof=1) / 4 / 9 for row in values]
    freedom = sum(variances) ** 2 / sum(v**2 / 3 for v in variances)
    half = student.ppf(0.975, freedom) * math.sqrt(sum(variances))
    found = mean(values)
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.value == pytest.approx(half)
    assert found.value - found.low == pytest.approx(half)


def test_data_sets_with_too_few_seeds_are_left_out() -> None:
    values = np.array([[1.0, 2.0, 4.0], [50.0, NAN, 60.0]])
    assert mean(values) == mean(values[0])
    assert counted(values) == 1
    assert mean(values[1:]).value == 55
    assert math.isnan(mean(values[1:]).low)
    assert not mean(np.full((2, 3), NAN)).known
    same = mean(np.ones((2, 3)))
    assert (same.value, same.low, same.high) == (1, 1, 1)


def test_intervals_cover_what_they_say() -> None:
    rng = np.random.default_rng(0)
    spread = np.array([[1.0], [2.0], [0.3]])
    hits = [entry.low < 0 < entry.high for entry in (mean(spread * rng.normal(size=(3, 3))) for _ in range(600))]
    assert 0.93 < np.mean(hits) < 0.99


def test_ratio_is_fieller_s() -> None:
    """At either end r of the interval, above - r below is just not clearly different from 0."""
    rng = np.random.default_rng(1)
    below = 2 + 0.2 * rng.normal(size=(1, 5))
    above = 0.5 * below + 0.1 * rng.normal(size=(1, 5))
    found = ratio(above, below)
    assert found.value == pytest.approx(above.mean() / below.mean())
    assert found.low < found.value < found.high
    for end in (found.low, found.high):
        apart = above - end * below
        t = apart.mean() / (apart.std(ddof=1) / math.sqrt(5))
        assert abs(t) == pytest.approx(student.ppf(0.975, 4))
    exact = ratio(0.25 * below, below)
    assert (exact.low, exact.high) == pytest.approx((0.25, 0.25))


def test_a_ratio_to_nothing_has_no_bounds() -> None:
    below = np.array([[1.0, -1.1, 0.4]])
    found = ratio(np.ones((1, 3)), below)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert "no bounds" in found.text()
    assert not ratio(np.ones((1, 3)), np.zeros((1, 3))).known
    assert not ratio(np.full((1, 3), NAN), below).known
    assert math.isnan(ratio(np.ones((1, 2)), np.ones((1, 2))).low)


def test_difference_is_welchs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 2, 5), rng.normal(0, 0.3, 9)
    found = difference(np.append(a, np.nan), b)
    bounds = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose([found.low, found.high], [bounds.low, bounds.high])
    np.testing.assert_allclose(found.value, a.mean() - b.mean())


def test_difference_of_constants_is_exact_and_of_too_few_has_no_interval() -> None:
    found = difference(np.full(3, 0.5), np.full(4, 0.2))
    np.testing.assert_allclose([found.value, found.low, found.high], 0.3)
    assert math.isnan(difference(np.ones(2), np.ones(5)).low)
    assert not difference(np.empty(0), np.ones(5)).known


def test_the_spread_of_three_against_three_has_the_interval_of_f_2_2() -> None:
    values = np.array([0.0, 1.0, 2.0])
    found = spread_ratio(2 * values, values)
    np.testing.assert_allclose([found.value, found.low, found.high], [2, 2 / 39**0.5, 2 * 39**0.5])  # F(0.975) = 39


def test_spread_ratio_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        found = spread_ratio(rng.normal(0, 2, 5), rng.normal(1, 1, 4), rng.normal(5, 1, 3))
        hits += found.low < 2 < found.high
    assert 0.92 < hits / 400 < 0.98


def test_spread_within_groups_does_not_see_their_means() -> None:
    a, b = np.array([0.0, 0.1, 0.2, 0.4]), np.array([0.3, 0.1, 0.5])
    assert spread_ratio(a, b, b + 9).value == pytest.approx(spread_ratio(a, b, b).value)
    assert not spread_ratio(a, np.ones(5)).known  # nothing varies there


SURE_UP, SURE_DOWN, UNSURE = Estimate(1, 0.5, 1.5), Estimate(-1, -1.5, -0.5), Estimate(0.1, -1, 1)


@pytest.mark.parametrize(
    ("rule", "estimates", "verdict"),
    [
        (Rule("", "above", 0), [SURE_UP, SURE_UP], "holds"),
        (Rule("", "above", 0), [SURE_UP, UNSURE], "inconclusive"),
        (Rule("", "above", 0), [UNSURE, SURE_DOWN], "does not hold"),
        (Rule("", "below", 0), [SURE_DOWN], "holds"),
        (Rule("", "below", 0), [SURE_UP], "does not hold"),
        (Rule("", "above", 0), [Estimate(5)], "inconclusive"),
        (Rule("", "above", 0), [], "inconclusive"),
        (Rule("", "within", 2), [SURE_UP, SURE_DOWN, UNSURE], "holds"),
        (Rule("", "within", 0.4), [UNSURE, SURE_DOWN], "does not hold"),
        (Rule("", "within", 1.2), [SURE_UP], "inconclusive"),
        (Rule("", "above", 0, 2 / 3), [SURE_UP, SURE_DOWN, SURE_UP], "holds"),
        (Rule("", "above", 0, 2 / 3), [SURE_UP, SURE_DOWN, UNSURE], "inconclusive"),
        (Rule("", "above", 0, 2 / 3), [SURE_UP, SURE_DOWN, SURE_DOWN], "does not hold"),
    ],
)
def test_verdicts(rule: Rule, estimates: list[Estimate], verdict: str) -> None:
    assert rule.verdict(estimates) == verdict


def test_how_numbers_are_written() -> None:
    assert number(-0.001) == "0.00"
    assert Estimate(-0.5, -1, 0.25).text() == "−0.50 [−1.00, 0.25]"
    assert Estimate(0.0, -1.0, 1.0).map(math.exp).text() == "1.00 [0.37, 2.72]"
    assert Estimate(NAN).text() == "not known"
    assert "within ±0.5" in Rule("x", "within", 0.5).text()
    assert "at least 67% of the" in Rule("x", "above", 0.5, 2 / 3).text()
    assert math.isnan(average([]))
