"""Active latents, plateaus of drawn curves, and what is left of a data set when codes are the factors."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.distributions import Normal, kl_divergence

from unbraid.errors import InputError
from unbraid.search.reduction import (
    ReductionConfig,
    active_latents,
    curve,
    draw,
    find_peaks,
    intersections,
    mean_kl,
    reduce,
    smooth_slopes,
    stands_out,
    windows,
)

Array = np.ndarray[Any, Any]


def grid(*sizes: int) -> Array:
    """All combinations of factor values, the last factor fastest: (n, k)."""
    return np.array(list(itertools.product(*map(range, sizes))))


def plateaus(*levels: tuple[float, int], slope: float = 0.0, seed: int = 0) -> Array:
    """A label with so many images at each level, each level rising by `slope` in all, in random order."""
    parts = [level + slope * np.linspace(0, 1, count) for level, count in levels]
    return np.random.default_rng(seed).permutation(np.concatenate(parts))


# Active latents


def test_the_kl_is_the_standard_one() -> None:
    rng = np.random.default_rng(0)
    mean, logvar = rng.normal(size=(50, 4)), rng.normal(size=(50, 4)) - 2
    posterior = Normal(torch.from_numpy(mean), torch.from_numpy(np.exp(logvar / 2)))
    expected = kl_divergence(posterior, Normal(0.0, 1.0)).mean(0).numpy()
    assert mean_kl(mean, logvar) == pytest.approx(expected)


def test_active_latents_are_those_above_the_threshold_the_largest_first() -> None:
    assert active_latents(np.array([0.2, 3.0, 1.0, 1.01]), 1.0) == [1, 3]
    assert active_latents(np.array([0.2, 0.3]), 1.0) == []


def test_the_threshold_is_where_the_docstring_says() -> None:
    for spread, active in ((0.36, [0]), (0.38, [])):  # the variance of means and of the posterior sum to 1
        mean = np.sqrt(1 - spread**2) * np.array([[1.0], [-1.0]])
        kl = mean_kl(mean, np.full((2, 1), 2 * np.log(spread)))
        assert active_latents(kl, ReductionConfig().active) == active


# Peaks and intervals


def slow_peaks(slopes: Array, config: ReductionConfig) -> list[int]:
    """Peaks by their definition: higher than both neighbours and the height, none near a higher one."""
    n = len(slopes)
    edge, distance = int(n * config.edge), max(1, int(n * config.distance))
    inner = list(slopes[edge : n - edge])
    median, deviation = float(np.median(inner)), float(np.std(inner))
    height = median + config.height * float(np.std([s for s in inner if s <= median + config.calm * deviation]))
    tops = [i for i in range(1, len(inner) - 1) if inner[i - 1] < inner[i] > inner[i + 1] and inner[i] > height]
    kept: list[int] = []
    for top in sorted(tops, key=lambda i: -inner[i]):
        if all(abs(top - other) >= distance for other in kept):
            kept.append(top)
    return sorted(edge + top for top in kept)


@pytest.mark.parametrize("seed", range(5))
def test_peaks_are_those_of_a_slow_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.exponential(size=400)
    slopes[rng.choice(400, 12, replace=False)] += rng.uniform(5, 60, 12)
    config = ReductionConfig()
    found, _ = find_peaks(slopes, config)
    assert found.tolist() == slow_peaks(slopes, config)
    assert 1 <= len(found) <= 12


def test_intervals_of_a_drawn_curve_are_its_plateaus() -> None:
    labels = plateaus((0, 100), (1, 120), (2.5, 80), (4, 100), (5, 100), (7, 100), slope=0.05)
    found = curve(labels)
    assert found.peaks.tolist() == [99, 219, 299, 399, 499]
    assert sorted((interval.start, interval.stop) for interval in found.intervals) == [
        (100, 220), (220, 300), (300, 400), (400, 500),
    ]  # fmt: skip
    for interval, place in zip(found.intervals, range(len(found.intervals)), strict=True):
        level = labels[found.members(place)]
        assert np.ptp(level) == pytest.approx(0.05)
        assert len(level) == len(interval)


def test_the_ratio_is_the_lower_peak_over_the_mean_within() -> None:
    labels = plateaus((0, 100), (1, 120), (2.5, 80), (4, 100), (5, 100), slope=0.05)
    ratios = {interval.start: interval.ratio for interval in curve(labels).intervals}
    # steps between plateaus are 0.05 lower than between their levels
    assert ratios == pytest.approx(
        {100: 0.95 / (0.05 / 119), 220: 1.45 / (0.05 / 79), 300: 0.95 / (0.05 / 99)}, rel=1e-9
    )
    starts = [interval.start for interval in curve(labels).intervals]
    assert starts == [220, 100, 300]


def test_with_few_peaks_what_lies_outside_of_them_counts_too() -> None:
    two = curve(plateaus((0, 60), (1, 90), (2, 50), slope=0.1))
    assert sorted((i.start, i.stop) for i in two.intervals) == [(0, 60), (60, 150), (150, 200)]
    one = curve(plateaus((0, 60), (1, 90), slope=0.1))
    assert sorted((i.start, i.stop) for i in one.intervals) == [(0, 60), (60, 150)]
    inner = curve(plateaus((0, 60), (1, 90), (2, 50), slope=0.1), ReductionConfig(outer=0))
    assert [(i.start, i.stop) for i in inner.intervals] == [(60, 150)]


def test_peaks_in_the_edges_and_close_to_others_are_passed_over() -> None:
    counts = [10, 190, 5, 195, 200, 195, 5]  # steps at 10, 200, 205, 400, 600, 795: of 800 images, 53 at either edge
    labels = plateaus(*((float(level), count) for level, count in enumerate(counts)), slope=0.01)
    labels[labels >= 3] += 1  # the step at 205 is higher than the one at 200
    assert curve(labels).peaks.tolist() == [204, 399, 599]


def test_a_ramp_has_no_peaks() -> None:
    for ramp in (np.linspace(-2, 2, 500), np.linspace(0, 1, 500) ** 2):
        assert curve(ramp).peaks.tolist() == []
        assert curve(ramp).intervals == ()
        assert curve(ramp).smooth
    assert [len(interval) for interval in curve(np.zeros(500)).intervals] == [500]
    assert not curve(np.zeros(500)).smooth


# Reduction


def test_codes_that_are_the_factors_leave_exactly_the_rows_with_fixed_values() -> None:
    factors = grid(3, 6, 8, 8)  # of which the last two were learned
    left = reduce(factors[:, 2:].astype(float))
    assert left.stop == ""
    values = factors[left.rows]
    y, x = values[0, 2:]
    assert np.array_equal(left.rows, np.flatnonzero((factors[:, 2] == y) & (factors[:, 3] == x)))
    assert len(left.rows) == 3 * 6
    assert len(np.unique(values[:, :2], axis=0)) == 3 * 6  # all that was not learned is still there


@pytest.mark.parametrize("learned", [[1], [0, 1], [0, 1, 2]])
@pytest.mark.parametrize("choice", [0, 1, 2])
def test_noisy_codes_of_the_factors_leave_the_same_rows(learned: list[int], choice: int) -> None:
    factors = grid(5, 7, 4, 30)
    rng = np.random.default_rng(0)
    codes = factors[:, learned] * rng.choice([-0.5, 0.7], len(learned)) + 0.01 * rng.normal(size=(len(factors), 1))
    left = reduce(codes, choice=choice)
    fixed = factors[left.rows][:, learned]
    assert (fixed == fixed[0]).all()
    assert np.array_equal(left.rows, np.flatnonzero((factors[:, learned] == fixed[0]).all(1)))


def test_leaf_runs_have_different_rows() -> None:
    factors = grid(4, 4, 30)
    found = [reduce(factors[:, :2].astype(float), choice=choice) for choice in range(3)]
    rows = [set(left.rows.tolist()) for left in found]
    assert all(len(row) == 30 for row in rows)
    assert not rows[0] & rows[1]
    assert not (rows[0] | rows[1]) & rows[2]


def test_intersections_are_those_of_sets() -> None:
    rng = np.random.default_rng(1)
    labels = np.stack([plateaus((0, 90), (1, 110), (2, 100), slope=0.1, seed=seed) for seed in range(3)], 1)
    labels = labels[rng.permutation(300)]
    curves = [curve(column) for column in labels.T]
    found = {places: set(rows.tolist()) for places, rows in intersections(curves)}
    expected = {}
    for places in itertools.product(*(range(len(c.intervals)) for c in curves)):
        common = set.intersection(*(set(c.members(p).tolist()) for c, p in zip(curves, places, strict=True)))
        if common:
            expected[places] = common
    assert found == expected
    assert len(found) == 27


def test_the_intersection_of_median_size_goes_first_and_one_label_goes_by_ratio() -> None:
    sizes = {(0, 1): 40, (1, 0): 60, (1, 1): 90, (2, 0): 20, (2, 1): 56}
    labels = np.concatenate([np.tile([float(a), float(b)], (count, 1)) for (a, b), count in sizes.items()])
    left = reduce(labels)
    assert left.sizes == (56, 60, 40, 90, 20)  # the median, then what differs from it by 4, 16, 34 and 36
    assert set(map(tuple, labels[left.rows])) == {(2, 1)}
    one = reduce(plateaus((0, 100), (1, 120), (2.5, 80), (4, 100), (5, 100), slope=0.05)[:, None])
    assert [len(one.rows), *one.sizes] == [80, 80, 120, 100]


def test_a_reduction_that_cannot_go_on_says_why() -> None:
    def stop(labels: Array, choice: int = 0, **settings: Any) -> str:
        left = reduce(labels, ReductionConfig(**settings), choice)
        assert left.rows.tolist() == []
        return left.stop

    ramp = np.linspace(0, 1, 200)
    two = np.repeat([0.0, 1.0], 100)
    assert stop(ramp[:, None]) == (
        "the labels climb without steps: 200 images remain, and windows leave 1,000 (the setting keep)"
    )
    assert stop(np.zeros((50, 2))) == "no label varies: there is nothing to take out"
    assert stop(two[:, None], outer=0) == ("the derivative of label 0 has one peak: there is no interval between two")
    assert stop(two[:, None], choice=2) == "there are 2 intersections of intervals, none remains for leaf-run 3"
    many = grid(7, 7, 3)[:, :2].astype(float)
    assert stop(many) == "no intersection of intervals has 6 images or more"
    assert stop(many, overlap=2) == "3 images remain; the least is 10"
    assert stop(two[:, None], smallest=101) == "100 images remain; the least is 101"
    for few in range(1, 12):
        assert reduce(np.arange(few, dtype=float)[:, None]).stop


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"labels have shape \(5, 0\); expected \(images, labels\)"):
        reduce(np.zeros((5, 0)))
    with pytest.raises(InputError, match="label 1 is nan at image 2; expected finite numbers"):
        reduce(np.array([[0, 0], [0, 0], [0, np.nan]]))
    with pytest.raises(InputError, match="intervals is 0; expected at least 1"):
        ReductionConfig(intervals=0)
    with pytest.raises(InputError, match=r"edge is 0.5; expected less than 0.5"):
        ReductionConfig(edge=0.5)


# Labels without steps


def one_mode(name: str, count: int, rng: np.random.Generator) -> Array:
    return {
        "normal": rng.normal(size=count),
        "uniform": rng.random(count),
        "skewed": rng.gamma(2.0, size=count),
        "heavy": rng.standard_t(3, size=count),
    }[name]


@pytest.mark.parametrize("name", ["normal", "uniform", "skewed", "heavy"])
@pytest.mark.parametrize("count", [300, 5_000])
def test_a_label_of_one_mode_hardly_ever_has_a_step(name: str, count: int) -> None:
    rng = np.random.default_rng(0)
    assert sum(not curve(one_mode(name, count, rng)).smooth for _ in range(60)) <= 3  # a chance of 1 % each
    raw = find_peaks(np.diff(np.sort(rng.normal(size=5_000))), ReductionConfig())[0]
    assert len(raw) > 3, "by height alone there would be peaks"


def test_the_smooth_derivative_is_the_least_squares_fit_that_falls_and_rises() -> None:
    slopes = np.array([9.0, 5, 7, 2, 1, 1, 1, 2, 1, 6, 4, 8])
    np.testing.assert_allclose(smooth_slopes(slopes), [9, 6, 6, 2, 1, 1, 1, 1.5, 1.5, 5, 5, 8])


def test_a_peak_stands_out_by_the_exponential_law() -> None:
    rng = np.random.default_rng(0)
    n, chance = 400, 0.1
    highest = [rng.exponential(size=n).max() for _ in range(4_000)]
    assert np.mean(np.array(highest) > np.log(n / chance)) == pytest.approx(chance, abs=0.02)
    flat = np.ones(n)
    flat[[100, 300]] = [6.0, 12.0]
    limit = np.log(n / chance)  # 8.3 times the mean of a derivative that is almost flat
    assert 6.0 < limit < 12.0
    assert stands_out(flat, np.array([100, 300]), chance).tolist() == [False, True]


@pytest.mark.parametrize("latents", [1, 2, 3])
@pytest.mark.parametrize("choice", [0, 1, 2])
def test_gaussian_labels_leave_the_number_that_is_asked_for(latents: int, choice: int) -> None:
    labels = np.random.default_rng(latents).normal(size=(5_000, latents))
    left = reduce(labels, choice=choice)
    assert left.stop == ""
    assert 1_000 <= len(left.rows) <= 1_250
    spread = labels[left.rows].std(0)
    assert (spread < 0.55).all(), "every label varies less than before"
    few = reduce(labels, ReductionConfig(keep=200, shrink=0.0))
    assert 200 <= len(few.rows) <= 260
    assert reduce(labels, ReductionConfig(shrink=0.3)).rows.size >= 1_500


def test_gaussian_leaf_runs_differ_and_labels_that_depend_on_each_other_keep_as_many() -> None:
    rng = np.random.default_rng(0)
    label = rng.normal(size=5_000)
    rows = [set(reduce(label[:, None], choice=choice).rows.tolist()) for choice in range(3)]
    assert not rows[0] & rows[1]
    assert not rows[0] & rows[2]
    twins = np.stack([label, -label + 0.01 * rng.normal(size=5_000)], 1)
    assert 1_000 <= len(reduce(twins).rows) <= 1_250, "not as many as windows of independent labels would leave"


def test_the_densest_window_is_found() -> None:
    label = np.concatenate([np.linspace(0, 1, 300), np.linspace(1, 1.2, 200), np.linspace(1.2, 3, 500)])
    found = windows(curve(label), 200, 3)
    assert (found.intervals[0].start, found.intervals[0].stop) == (299, 499)
    ranges = [range(interval.start, interval.stop) for interval in found.intervals]
    assert len(set().union(*ranges)) == 600, "they do not overlap"
    assert found.intervals[0].ratio == pytest.approx((3 / 999) / (0.2 / 199), rel=0.02)
    wide = windows(curve(label), 800, 3)  # no room for two: they overlap
    assert [interval.start for interval in wide.intervals] == [0, 200]


@pytest.mark.parametrize("apart", [5.0, 8.0])
def test_two_modes_are_told_apart(apart: float) -> None:
    rng = np.random.default_rng(0)
    mode = rng.integers(2, size=4_000)
    left = reduce((apart * mode + rng.normal(size=4_000))[:, None])
    kept = mode[left.rows]
    assert len(left.rows) > 1_500, "a whole mode, not a gap between two noise peaks"
    assert np.mean(kept == np.median(kept)) > 0.98


def test_steps_cut_first_and_windows_what_they_leave() -> None:
    rng = np.random.default_rng(0)
    shape, tilt = rng.integers(3, size=9_000), rng.normal(size=9_000)
    labels = np.stack([tilt, shape + 0.02 * rng.normal(size=9_000)], 1)
    left = reduce(labels, ReductionConfig(keep=500))
    assert len(np.unique(shape[left.rows])) == 1
    assert 500 <= len(left.rows) <= 520
    assert tilt[left.rows].std() < 0.15
    all_of_a_shape = reduce(labels)  # 3,000 images have a shape; windows leave 1,000 of them
    assert 1_000 <= len(all_of_a_shape.rows) <= 1_030
    untouched = reduce(labels, ReductionConfig(keep=5_000))
    assert untouched.chosen[0] is None
    assert np.array_equal(untouched.rows, np.flatnonzero(shape == shape[untouched.rows[0]]))
    draw(untouched, ["tilt", "shape"]).savefig(io.BytesIO())


def test_a_leaf_run_on_smooth_labels_comes_to_an_end() -> None:
    rng = np.random.default_rng(0)
    sizes, rows = [], 60_000
    while True:
        left = reduce(rng.normal(size=(rows, 2)))
        if left.stop:
            break
        rows = len(left.rows)
        sizes.append(rows)
    assert len(sizes) == 2
    assert sizes[0] == pytest.approx(6_000, rel=0.05)
    assert sizes[1] == pytest.approx(1_000, rel=0.06)


# Pictures


@pytest.mark.parametrize("count", [1, 4])
def test_the_picture_shows_each_label_with_its_interval(count: int) -> None:
    factors = grid(*[4] * count, 20)
    left = reduce(factors[:, :count].astype(float))
    drawing = draw(left, [f"latent {label}" for label in range(count)])
    panels = [axis for axis in drawing.axes if axis.get_title()]
    assert [axis.get_title() for axis in panels] == [f"latent {label}" for label in range(count)]
    for axis, found, place in zip(panels, left.curves, left.chosen, strict=True):
        (bar,) = axis.collections
        ends = bar.get_segments()[0][:, 0]  # type: ignore[attr-defined]
        assert ends.tolist() == [found.intervals[place].start, found.intervals[place].stop - 1]
    buffer = io.BytesIO()
    drawing.savefig(buffer)
    assert np.asarray(Image.open(buffer)).std() > 5


def test_a_stop_is_drawn_too() -> None:
    left = reduce(np.linspace(0, 1, 900)[:, None])
    drawing = draw(left, ["latent 0"])
    drawing.savefig(io.BytesIO())
    assert drawing.get_suptitle() == left.stop
