"""Estimators against SciPy and slow loops, and how often their intervals cover the truth."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest, somersd, spearmanr, ttest_1samp, ttest_ind
from scipy.stats import f as fisher
from scipy.stats import t as student

from unbraid.errors import InputError
from unbraid.report.estimates import (
    Estimate,
    average,
    choices,
    counted,
    difference,
    exact_share_difference,
    jackknife,
    mean,
    number,
    probability_beats_random,
    rank_correlation,
    ratio,
    setting_correlation,
    share,
    share_difference,
    spread_limit,
    spread_power,
    spread_ratio,
    spread_seeds,
    trend,
    wins,
)

NAN = math.nan
ROOT = Path(__file__).parents[2]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# Estimates


def test_how_estimates_are_written() -> None:
    assert number(-0.001) == "0.00"
    assert Estimate(-0.5, -1, 0.25).text() == "−0.50 [−1.00, 0.25]"
    assert Estimate(0.0, -1.0, 1.0).map(math.exp).text() == "1.00 [0.37, 2.72]"
    assert Estimate(0.5).text(".1f") == "0.5"
    assert Estimate(NAN).text() == "not known"
    assert Estimate(1.0, -math.inf, math.inf).text() == "1.00 [no bounds]"


def test_the_side_of_an_estimate_is_that_of_its_whole_interval() -> None:
    sides = [Estimate(1, 0.5, 2), Estimate(1, -0.5, 2), Estimate(-1, -2, -0.1), Estimate(3)]
    assert [entry.side(0) for entry in sides] == ["above", "unclear", "below", "unclear"]
    assert [entry.has_interval for entry in sides] == [True, True, True, False]
    assert not Estimate(NAN).known


def test_average_leaves_out_what_is_not_known() -> None:
    assert average([1.0, NAN, 3.0]) == 2
    assert math.isnan(average([]))


# Means


def test_the_mean_of_one_data_set_has_students_interval() -> None:
    values = np.array([0.1, 0.4, 0.2, NAN])
    known = ttest_1samp(values[:3], 0).confidence_interval()
    found = mean(values)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.value == pytest.approx(values[:3].mean())
    assert (found.data_sets, found.seeds) == (1, 3)


def test_data_sets_are_strata(rng: np.random.Generator) -> None:
    """Against Satterthwaite's formula, written as a loop."""
    values = rng.normal(size=(3, 4)) * np.array([[1], [5], [0.1]])
    variances = [row.var(ddof=1) / 4 / 9 for row in values]
    freedom = sum(variances) ** 2 / sum(v**2 / 3 for v in variances)
    half = student.ppf(0.975, freedom) * math.sqrt(sum(variances))
    found = mean(values)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))


def test_with_four_data_sets_the_degrees_of_freedom_are_welchs(rng: np.random.Generator) -> None:
    values = rng.normal(size=(5, 3))
    variances = [row.var(ddof=1) / 3 / 25 for row in values]
    freedom = min(sum(variances) ** 2 / sum(v**2 / 4 for v in variances) - 2, 5 * 2)
    half = student.ppf(0.975, freedom) * math.sqrt(sum(variances))
    assert mean(values).high - mean(values).value == pytest.approx(half)


def test_data_sets_with_too_few_seeds_are_left_out() -> None:
    values = np.array([[1.0, 2.0, 4.0], [50.0, NAN, 60.0]])
    assert mean(values) == mean(values[0])
    assert counted(values) == 1
    assert mean(values[1:]).value == 55
    assert not mean(values[1:]).has_interval
    assert not mean(np.full((2, 3), NAN)).known
    same = mean(np.ones((2, 3)))
    assert (same.value, same.low, same.high) == (1, 1, 1)


def test_a_difference_of_unrelated_runs_is_welchs(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=5), 2 * rng.normal(size=7) + 1
    known = ttest_ind(a, b, equal_var=False).confidence_interval()
    found = difference(a, b)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert found.seeds == 5


def test_a_difference_by_seed_is_the_mean_of_differences(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 4)), rng.normal(size=(2, 4))
    a[0, 0] = NAN
    assert difference(a, b, paired=True) == mean(a - b)
    with pytest.raises(InputError, match="the same data sets and seeds"):
        difference(a, b[:, :3], paired=True)


def test_one_of_several_comparisons_has_bonferronis_interval(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=5), rng.normal(size=5)
    found = difference(a, b, paired=True, comparisons=6)
    known = ttest_1samp(a - b, 0).confidence_interval(1 - 0.05 / 6)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    unpaired = ttest_ind(a, b, equal_var=False).confidence_interval(1 - 0.05 / 6)
    assert difference(a, b, comparisons=6).low == pytest.approx(unpaired.low)


def test_a_difference_over_data_sets_is_the_mean_of_those_of_each(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 4)), rng.normal(size=(2, 3))
    found = difference(a, b)
    assert found.value == pytest.approx(np.mean([difference(*rows).value for rows in zip(a, b, strict=True)]))
    assert found.data_sets == 2
    assert not difference(a, b[:, :2]).has_interval
    assert not difference(a, np.full((2, 3), NAN)).known
    with pytest.raises(InputError, match=r"\(2, 4\) and \(1, 3\)"):
        difference(a, b[:1])


def test_a_ratio_is_fiellers(rng: np.random.Generator) -> None:
    """At either end r of the interval, above - r below is just not clearly different from 0."""
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
    assert not ratio(np.ones((1, 3)), np.zeros((1, 3))).known
    assert not ratio(np.full((1, 3), NAN), below).known
    assert not ratio(np.ones((1, 2)), np.ones((1, 2))).has_interval


# Spreads


def test_three_seeds_have_the_f_tests_ratio_of_spreads(rng: np.random.Generator) -> None:
    a, b, c = rng.normal(size=3), rng.normal(size=4), rng.normal(size=3)
    within = (((b - b.mean()) ** 2).sum() + ((c - c.mean()) ** 2).sum()) / 5
    found = spread_ratio(a, b, c)
    assert found.value == pytest.approx(math.sqrt(a.var(ddof=1) / within))
    ends = [found.value / math.sqrt(fisher.ppf(end, 2, 5)) for end in (0.975, 0.025)]
    assert (found.low, found.high) == pytest.approx(ends)


def test_five_seeds_have_millers_ratio_of_spreads(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=6), 3 * rng.normal(size=5)
    variances = []
    for row in (a, b):
        logs = [math.log(np.delete(row, place).var(ddof=1)) for place in range(len(row))]
        variances.append((len(row) - 1) ** 2 / len(row) * np.var(logs, ddof=1))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 5 + variances[1] ** 2 / 4)
    factor = math.exp(student.ppf(0.975, freedom) * math.sqrt(sum(variances)) / 2)
    found = spread_ratio(a, b)
    assert found.value == pytest.approx(a.std(ddof=1) / b.std(ddof=1))
    assert (found.low, found.high) == pytest.approx((found.value / factor, found.value * factor))


def test_a_spread_needs_two_values_and_an_interval_three() -> None:
    assert not spread_ratio(np.array([1.0]), np.arange(4.0)).known
    assert not spread_ratio(np.arange(4.0), np.ones(4)).known
    assert not spread_ratio(np.arange(2.0), np.arange(4.0)).has_interval
    assert spread_ratio(np.array([1.0, 1, 1, 1, 2]), np.arange(5.0)).has_interval, "four that tie"
    assert spread_ratio(np.ones(5), np.arange(5.0)).value == 0


# Shares


def test_a_share_is_exact() -> None:
    found = share([1, 1, 0, NAN, 1])
    known = binomtest(3, 4).proportion_ci()
    assert (found.value, found.low, found.high) == pytest.approx((0.75, known.low, known.high))
    assert not share([NAN]).known
    with pytest.raises(InputError, match=r"an outcome is 0\.5; expected 0 or 1"):
        share([1, 0.5])


def test_shares_are_compared_by_their_exact_intervals() -> None:
    a, b = share([1, 1, 1, 0]), share([0, 0, 1])
    found = share_difference([1, 1, 1, 0], [0, 0, 1])
    assert found.value == pytest.approx(0.75 - 1 / 3)
    assert found.value - found.low == pytest.approx(math.dist((a.value, b.value), (a.low, b.high)))
    assert share_difference(np.ones(5), np.zeros(5)).high == 1
    assert not share_difference([], [1]).known


def test_an_exact_test_on_counts_covers_whatever_the_shares_are() -> None:
    """All outcomes of four against five, with their probabilities, at shares that the intervals do not look at."""
    from scipy.stats import binom

    sizes = (4, 5)
    counts = list(itertools.product(range(5), range(6)))
    entries = {
        (a, b): exact_share_difference([1] * a + [0] * (4 - a), [1] * b + [0] * (5 - b)) for a, b in counts
    }  # fmt: skip
    for p, q in itertools.product(np.linspace(0.03, 0.97, 7), repeat=2):
        covered = sum(
            binom.pmf(a, sizes[0], p) * binom.pmf(b, sizes[1], q)
            for a, b in counts
            if entries[a, b].low - 0.01 <= p - q <= entries[a, b].high + 0.01
        )
        assert covered >= 0.95
    assert entries[4, 0].side(0) == "above"
    assert entries[2, 3].side(0) == "unclear"
    assert exact_share_difference([], [1.0]).known is False


# Rank correlations


def test_a_rank_correlation_is_spearmans(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 4)).round(1)
    y = (x + rng.normal(size=(4, 4))).round(1)
    x[0, 0] = NAN
    kept = np.isfinite(x)
    assert rank_correlation(x, y).value == pytest.approx(spearmanr(x[kept], y[kept]).statistic)


def test_its_interval_comes_from_leaving_out_models(rng: np.random.Generator) -> None:
    """Against the formula as loops over SciPy's correlation of all models but one."""
    x = rng.normal(size=(5, 3)).round(1)
    y = (x + rng.normal(size=(5, 3))).round(1)
    value = spearmanr(x.ravel(), y.ravel()).statistic
    influence = np.array([
        -14 * (spearmanr(np.delete(x, place), np.delete(y, place)).statistic - value) / (1 - value**2)
        for place in range(15)
    ]).reshape(5, 3)  # fmt: skip
    parts = [3 * row.var(ddof=1) / 15**2 for row in influence]
    variance = (4 / 12 + 10 * sum(parts)) / 14
    freedom = 4 + min(sum(parts) ** 2 / sum(part**2 / 4 for part in parts) - 2, 5 * 2)
    half = student.ppf(0.975, freedom) * math.sqrt(variance)
    found = rank_correlation(x, y)
    assert (found.low, found.high) == pytest.approx([math.tanh(math.atanh(value) + s * half) for s in (-1, 1)])


def test_perfect_and_missing_rank_correlations(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 3))
    found = rank_correlation(x, np.exp(x))
    assert found.value == found.high == 1
    assert 0.97 < found.low < 1
    assert rank_correlation(x, -x).low == -1
    assert not rank_correlation(x, np.ones_like(x)).known
    assert not rank_correlation(x[:, :2], x[:, :2]).has_interval
    with pytest.raises(InputError, match="expected two of"):
        rank_correlation(x, x[:, :2])


def test_a_setting_whose_runs_failed_is_left_out(rng: np.random.Generator) -> None:
    scores, others = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)) + np.arange(5)[:, None]
    holed = others.copy()
    holed[2, 1:] = NAN
    kept = [0, 1, 3, 4]
    assert rank_correlation(scores, holed) == rank_correlation(scores[kept], others[kept])
    assert trend(holed) == trend(others[kept])
    assert setting_correlation(holed, others) == setting_correlation(others[kept], others[kept])


def test_data_sets_are_averaged_on_fishers_scale(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6, 3)) + 1
    one, other = (rank_correlation(x[place], y[place]) for place in (0, 1))
    both = rank_correlation(x, y)
    assert both.value == pytest.approx(math.tanh((math.atanh(one.value) + math.atanh(other.value)) / 2))
    assert both.high - both.low < one.high - one.low
    assert both.data_sets == 2


def test_a_trend_is_somers_d_of_score_on_strength(rng: np.random.Generator) -> None:
    scores = (np.arange(4)[:, None] + 2 * rng.normal(size=(4, 5))).round()
    scores[1, 2] = NAN
    kept = np.isfinite(scores)
    known = somersd(np.nonzero(kept)[0], scores[kept]).statistic
    assert trend(scores).value == pytest.approx(known)


def test_a_trend_reaches_one_where_spearman_cannot() -> None:
    scores = np.arange(9.0).reshape(3, 3)
    assert spearmanr(np.repeat(np.arange(3), 3), scores.ravel()).statistic < 0.95
    assert trend(scores).value == trend(scores).high == 1
    assert trend(scores[::-1]).value == trend(scores[::-1]).low == -1
    # Wilson's interval of 1 with the variance of no trend, (N² (2N + 3) - Σ n² (2n + 3)) / 18 over pairs squared
    square = student.ppf(0.975, math.inf) ** 2 * (81 * 21 - 3 * 9 * 9) / 18 / 27**2
    assert trend(scores).low == pytest.approx((1 - square) / (1 + square))


def test_a_trend_needs_two_strengths_and_its_interval_three_seeds() -> None:
    assert not trend(np.ones((1, 3))).known
    assert not trend(np.arange(6.0).reshape(3, 2)).has_interval
    assert trend(np.ones((3, 3))).value == 0
    with pytest.raises(InputError, match="expected"):
        trend(np.ones(3))


def test_a_setting_correlation_takes_off_what_seeds_add(rng: np.random.Generator) -> None:
    means = rng.normal(size=(200, 1))
    first, second = (means + rng.normal(size=(200, seeds)) for seeds in (3, 4))
    found = setting_correlation(first, second)
    plain = np.corrcoef(first.mean(1), second.mean(1))[0, 1]
    assert plain < 0.8
    assert found.low < 0.99 < found.high
    assert found.value > 0.9


def test_its_interval_is_the_jackknifes(rng: np.random.Generator) -> None:
    means = rng.normal(size=(6, 1))
    first, second = means + 0.3 * rng.normal(size=(6, 4)), means + 0.3 * rng.normal(size=(6, 3))
    first[0, 1] = NAN
    ranks = [np.full(scores.shape, NAN) for scores in (first, second)]
    for rank, scores in zip(ranks, (first, second), strict=True):
        rank[np.isfinite(scores)] = np.argsort(np.argsort(scores[np.isfinite(scores)])) + 1
    stacked = np.concatenate([ranks[0], np.pad(ranks[1], ((0, 0), (0, 1)), constant_values=NAN)])

    def statistic(values: np.ndarray) -> float:
        middle = np.nanmean(values, 1)
        noise = np.nanvar(values, 1, ddof=1) / np.isfinite(values).sum(1)
        spreads = [middle[part].var(ddof=1) - noise[part].mean() for part in (slice(6), slice(6, None))]
        return float(np.cov(middle[:6], middle[6:])[0, 1] / math.sqrt(spreads[0] * spreads[1]))

    found, slow = setting_correlation(first, second), jackknife(statistic, stacked)
    assert (found.value, found.low) == pytest.approx((min(slow.value, 1), max(slow.low, -1)))
    assert found.high == min(slow.high, 1)


def test_settings_that_cannot_be_told_apart_have_no_correlation(rng: np.random.Generator) -> None:
    same = np.tile([0.0, 1.0, 2.0], (5, 1))
    assert not setting_correlation(same, rng.normal(size=(5, 3))).known


# Any statistic


def test_the_jackknife_of_a_mean_of_means_is_the_mean(rng: np.random.Generator) -> None:
    values = rng.normal(size=(3, 4))
    values[0, 3] = NAN
    found, known = jackknife(lambda table: float(np.nanmean(table, 1).mean()), values), mean(values)
    assert (found.value, found.low, found.high) == pytest.approx((known.value, known.low, known.high))
    assert not jackknife(lambda table: float(np.nanmean(table)), values[:, :2]).has_interval


# Choosing settings


def plainly(scores: np.ndarray, same_metric: bool, same_data: bool) -> float:
    """Table 1's probability by loops over all that may be drawn."""
    sets, metrics, settings, seeds = scores.shape
    results = []
    axes = (range(sets), range(sets), range(metrics), range(metrics), range(seeds), range(seeds))
    for data, other, metric, compared, seed, another in itertools.product(*axes):
        if seed != another and (data == other) == same_data and (metric == compared) == same_metric:
            chosen = int(scores[data, metric, :, seed].argmax())
            here = scores[other, compared, :, another]
            results += [bool(here[chosen] >= here[rival]) for rival in range(settings)]
    return float(np.mean(results))


@pytest.mark.parametrize("same_metric", [True, False])
@pytest.mark.parametrize("same_data", [True, False])
def test_table_one_is_what_plain_loops_give(rng: np.random.Generator, same_metric: bool, same_data: bool) -> None:
    scores = rng.normal(size=(2, 2, 4, 3)).round(1)
    found = probability_beats_random(scores, same_metric=same_metric, same_data=same_data)
    assert found.value == pytest.approx(plainly(scores, same_metric, same_data))
    assert 0 <= found.low < found.value < found.high <= 1


def test_choices_and_wins_by_hand() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 2.0], [NAN, NAN]])  # (settings, seeds)
    assert choices(scores).tolist() == [1, 0]
    np.testing.assert_allclose(wins(scores), [[0.5, 1], [1, 1], [NAN, NAN]])
    assert choices(np.full((2, 1), NAN)).tolist() == [-1]


def test_a_choice_needs_other_seeds_and_three_of_them_for_an_interval(rng: np.random.Generator) -> None:
    scores = rng.normal(size=(2, 2, 5, 3))
    assert not probability_beats_random(scores[..., :1], same_metric=True, same_data=True).known
    assert not probability_beats_random(scores[..., :2], same_metric=True, same_data=True).has_interval
    assert not probability_beats_random(scores[:1], same_metric=True, same_data=False).known
    assert probability_beats_random(np.ones((2, 1, 3, 3)), same_metric=True, same_data=True).value == 1
    with pytest.raises(InputError, match="expected"):
        probability_beats_random(scores[0], same_metric=True, same_data=True)


# Coverage: bench/coverage.py with the repeats that fit into a few seconds, 2,000 only for the mean. Of n intervals that
# cover a share p, the share found strays by 3.5 √(p (1 - p) / n) once in two thousand tests: bounds are widened by it.


@pytest.fixture(scope="module")
def coverage() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("bench_coverage", ROOT / "bench" / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def strays(bound: float, intervals: int) -> float:
    return 3.5 * math.sqrt(bound * (1 - bound) / intervals)


BUDGET = {  # tables for each model and number of seeds, and which of the models
    "mean": (2000, 1), "difference": (300, 1), "family": (300, 1), "ratio": (200, 1), "spread_ratio": (300, 1),
    "share": (400, 1), "rank_correlation": (300, 3), "setting_correlation": (300, 3), "trend": (200, 3),
    "probability_beats_random": (240, 3), "jackknife": (500, 4),
}  # fmt: skip
# others may cover more than they promise
EXACT = {"mean", "difference", "family", "ratio", "spread_ratio", "rank_correlation"}


@pytest.mark.parametrize("name", BUDGET)
def test_intervals_cover_the_truth(coverage: ModuleType, name: str) -> None:
    """At least 92 %, for every model and for all of them together, and not over 98 %, at 3, 5 and 10 seeds."""
    repeats, step = BUDGET[name]
    cases = [case for case in coverage.CASES[name]() if not case.limit][::step]
    for seeds in (3, 5, 10):
        found = {case.model: case.coverage(seeds, repeats) for case in cases}
        total = sum(intervals for *_, intervals in found.values())
        together = sum(covered * intervals for covered, _, intervals in found.values()) / total
        assert together > 0.92 - strays(0.92, total), f"{name}, {seeds} seeds"
        for model, (covered, width, intervals) in found.items():
            where = f"{name}, {model}, {seeds} seeds: {covered:.3f} of {intervals}"
            assert covered > 0.92 - strays(0.92, intervals), where
            assert width > 0, where
        if name in EXACT:
            assert together < 0.98 + strays(0.98, total), f"{name}, {seeds} seeds"


def test_the_bench_prints_its_table(coverage: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    coverage.main(["--repeats", "50", "--seeds", "2", "3", "--only", "share", "mean", "--limits"])
    printed = capsys.readouterr().out
    assert "no interval" in printed, "two seeds are refused"
    assert "limit" in printed
    assert printed.count("mean ") == 12


def test_coverage_would_show_an_interval_that_is_too_narrow(
    coverage: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unbraid.report.estimates.means.margin", lambda *_: 1.96)
    case = next(coverage.means())
    covered, _, intervals = case.coverage(3, 1000)
    assert covered < 0.92 - strays(0.92, intervals)


def test_the_power_of_a_ratio_of_deviations_is_that_of_simulated_f_tests() -> None:
    rng = np.random.default_rng(0)
    ratio, seeds, others = 0.5, 8, 12
    a = rng.normal(0, ratio, (20_000, seeds)).var(1, ddof=1)
    b = rng.normal(0, 1, (20_000, others)).var(1, ddof=1)
    low, high = fisher(seeds - 1, others - 1).ppf([0.025, 0.975])
    seen = np.mean((a / b < low) | (a / b > high))
    assert spread_power(ratio, seeds, others) == pytest.approx(seen, abs=0.01)
    assert spread_limit(seeds, others) == pytest.approx(math.sqrt(low))
    assert spread_power(1.0, 5, 9) == pytest.approx(0.05)
    needed = spread_seeds()
    assert spread_power(0.5, needed, needed) >= 0.8 > spread_power(0.5, needed - 1, needed - 1)
