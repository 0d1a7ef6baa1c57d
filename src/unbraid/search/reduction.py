"""What a model has learned, and the part of a data set over which none of it varies (population, section 4.2).

Active latents label the images. A label, sorted, climbs in steps where its factor has few values: between two peaks of
its derivative the factor hardly moves. The images that lie between peaks of every label at once are the reduced data.
A label that climbs smoothly, as those of photographs do, has no steps: there the images in the densest window of its
quantiles remain. Functions of arrays; `reduce` combines them and `draw` draws figure 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]
WIDER = 1.03  # by which windows grow until they leave enough images
COMBINATIONS = 1_000  # of windows of several labels that are tried
_POINTS = 4000  # of a drawn curve; of a derivative the largest value between two of them


@dataclass(frozen=True)
class ReductionConfig:
    """The numbers of the paper's released code, except `active`, whose KL is the standard one."""

    active: float = 1.0
    """Mean KL in nats above which a latent is active: a posterior narrower than 0.37 of the prior."""
    edge: float = 1 / 15
    """Share of the images at either end of a sorted label in which no peak is sought."""
    distance: float = 1 / 50
    """Least share of the images between two peaks."""
    height: float = 7.0
    """A peak is this many σ above the median of the derivative."""
    calm: float = 4.0
    """σ is that of the values below the median plus this many standard deviations of all."""
    chance: float = 0.01
    """A peak counts only if a label without steps has one so high, anywhere, with less than this probability; with 1
    every peak counts, as in the paper's code."""
    outer: int = 3
    """With at most this many peaks, the images before the first and after the last are intervals too."""
    intervals: int = 5
    """How many intervals of a label are considered, the best ones."""
    overlap: int = 6
    """Least number of images in an intersection."""
    smallest: int = 10
    """Least number of images in a reduced data set."""
    keep: int = 1_000
    """Images that the windows of smooth labels leave, or more: those of `shrink`."""
    shrink: float = 0.1
    """Share of the images that the windows of smooth labels leave where that is more than `keep`."""

    def __post_init__(self) -> None:
        lowest = {"intervals": 1, "overlap": 1, "smallest": 1, "keep": 1}
        for field in fields(self):
            value, low = getattr(self, field.name), lowest.get(field.name, 0)
            if not value >= low:
                raise InputError(f"{field.name} is {value}; expected at least {low}")
        if self.edge >= 0.5:
            raise InputError(f"edge is {self.edge}; expected less than 0.5")
        if self.shrink >= 1:
            raise InputError(f"shrink is {self.shrink}; expected less than 1")


@dataclass(frozen=True)
class Interval:
    """Images `start` to `stop` (not included) of a sorted label."""

    start: int
    stop: int
    ratio: float
    """The lower of the two adjacent peaks over the mean derivative within; of a window, the mean of all over it."""

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Curve:
    """A label, sorted."""

    order: Array
    """int64 (n,): which images, by their label."""
    values: Array
    """(n,): their labels."""
    slopes: Array
    """(n - 1,): first differences."""
    height: float
    """What a peak of the slopes must reach."""
    peaks: Array
    """int64: where it does; peak p lies between images p and p + 1."""
    intervals: tuple[Interval, ...]
    """Between peaks, the best first; of a smooth label the windows of its quantiles, the densest first."""

    @property
    def smooth(self) -> bool:
        """Whether it has no step, but varies."""
        return not len(self.peaks) and bool(self.values[-1:] > self.values[:1])

    def members(self, interval: int) -> Array:
        """The images of one of its intervals."""
        chosen = self.intervals[interval]
        return self.order[chosen.start : chosen.stop]


@dataclass(frozen=True)
class Reduction:
    """The images of the reduced data, or why there are none."""

    curves: tuple[Curve, ...]
    """Of each label."""
    rows: Array
    """int64 (m,), ascending; empty where the reduction has to stop."""
    chosen: tuple[int | None, ...] = ()
    """The interval of each label that they lie in; None of a smooth label that could not be cut any further."""
    sizes: tuple[int, ...] = ()
    """Of all intersections, in the order in which they would be chosen."""
    stop: str = ""
    """Why there is no reduced data set."""


def mean_kl(mean: Array, logvar: Array) -> Array:
    """KL(q(z_j|x) || N(0, 1)) in nats, averaged over images: (n, d), (n, d) -> (d,)."""
    divergence: Array = 0.5 * (np.square(mean) + np.exp(logvar) - logvar - 1).mean(0, dtype=np.float64)
    return divergence


def active_latents(kl: Array, threshold: float) -> list[int]:
    """Those above the threshold, most informative first."""
    return [int(latent) for latent in np.argsort(-kl, kind="stable") if kl[latent] > threshold]


def find_peaks(slopes: Array, config: ReductionConfig) -> tuple[Array, float]:
    """Where a derivative peaks, and how high a peak has to be."""
    from scipy import signal  # a second of start-up

    edge = int(len(slopes) * config.edge)
    inner = slopes[edge : len(slopes) - edge]
    if not len(inner):
        return np.empty(0, np.int64), np.inf
    median = float(np.median(inner))
    calm = inner[inner <= median + config.calm * inner.std()]
    height = median + config.height * float(calm.std())
    height = np.nextafter(height, np.inf)  # where the derivative is constant, a peak must still exceed it
    distance = max(1, int(len(slopes) * config.distance))
    peaks, _ = signal.find_peaks(inner, height=height, distance=distance)
    return peaks.astype(np.int64) + edge, height


def smooth_slopes(slopes: Array) -> Array:
    """The mean derivative of a sorted label without steps: it falls, towards the most frequent values, then rises.

    The least squares fit of that shape. Around it, the differences of any label whose density has one mode are about
    exponential. Neither a gap between values nor a valley between two modes fits it: there they are many times larger.
    """
    from sklearn.isotonic import isotonic_regression

    if len(slopes) < 3:
        return slopes.astype(np.float64)
    mode = (densest(slopes, max(len(slopes) // 4, 1)) or 0) + len(slopes) // 8
    falls = isotonic_regression(slopes[:mode], increasing=False) if mode else slopes[:0]
    return np.concatenate([falls, isotonic_regression(slopes[mode:])])


def stands_out(slopes: Array, peaks: Array, chance: float) -> Array:
    """Which of the peaks are higher than any that exponential differences would have, but for a small chance.

    Of n differences around a mean m the largest exceeds m·log(n/c) with probability c at most.
    """
    if not len(peaks) or chance >= 1:
        return np.ones(len(peaks), bool)
    return np.asarray(slopes[peaks] > smooth_slopes(slopes)[peaks] * np.log(len(slopes) / chance))


def densest(slopes: Array, images: int, apart: int = 0, others: Sequence[int] = ()) -> int | None:
    """Where the window of so many images begins over which a sorted label rises least.

    It begins at least `apart` images away from where `others` do; None where that is not possible.
    """
    sums = np.concatenate([[0.0], np.cumsum(slopes)])
    rises = sums[images - 1 :] - sums[: len(sums) - images + 1]
    for start in others:
        rises[max(start - apart + 1, 0) : start + apart] = np.inf
    start = int(np.argmin(rises))
    return start if np.isfinite(rises[start]) else None


def windows(label: Curve, images: int, count: int) -> Curve:
    """A smooth label with at most so many windows of its quantiles, the densest first.

    They do not overlap where there is room for another, else by three quarters at most.
    """
    starts: list[int] = []
    for apart in (images, -(-images // 4)):
        while len(starts) < count and (start := densest(label.slopes, images, apart, starts)) is not None:
            starts.append(start)
    whole, intervals = float(label.slopes.mean()), list[Interval]()
    for start in starts:
        rise = float(label.slopes[start : start + images - 1].mean()) if images > 1 else 0.0
        intervals.append(Interval(start, start + images, whole / rise if rise > 0 else np.inf))
    return replace(label, intervals=tuple(intervals))


def curve(labels: Array, config: ReductionConfig | None = None) -> Curve:
    """A label (n,) as a sorted curve with its intervals, best ratio first, of equal ones the largest.

    One that does not vary is a single interval. One without steps has none: `windows` gives it some.
    """
    config = config or ReductionConfig()
    order = np.argsort(labels, kind="stable")
    values = labels[order].astype(np.float64)
    slopes = np.diff(values)
    peaks, height = find_peaks(slopes, config)
    peaks = peaks[stands_out(slopes, peaks, config.chance)]
    if len(values) and values[0] == values[-1]:
        return Curve(order, values, slopes, height, peaks, (Interval(0, len(values), np.inf),))
    cuts = [int(peak) for peak in peaks]
    if cuts and len(cuts) <= config.outer:
        cuts = [-1, *cuts, len(slopes)]
    intervals = []
    for left, right in pairwise(cuts):
        lower = min(slopes[cut] for cut in (left, right) if 0 <= cut < len(slopes))
        within = slopes[left + 1 : right]
        mean = float(within.mean()) if len(within) else 0.0
        intervals.append(Interval(left + 1, right + 1, float(lower / mean) if mean > 0 else np.inf))
    best = sorted(intervals, key=lambda interval: (-interval.ratio, -len(interval)))
    return Curve(order, values, slopes, height, peaks, tuple(best[: config.intervals]))


def intersections(curves: Sequence[Curve]) -> list[tuple[tuple[int, ...], Array]]:
    """Which interval of each label, and the images that lie in all of them; those with no image are left out.

    The intervals of one label do not overlap, so an image is in one of them or none, and the intersections are the
    different rows of a table (images, labels).
    """
    table = np.full((len(curves[0].order), len(curves)), -1)
    for column, label in enumerate(curves):
        for interval in range(len(label.intervals)):
            table[label.members(interval), column] = interval
    inside = np.flatnonzero((table >= 0).all(1))
    if not len(inside):
        return []
    combinations, which = np.unique(table[inside], axis=0, return_inverse=True)
    groups = np.split(inside[np.argsort(which.ravel(), kind="stable")], np.bincount(which.ravel()).cumsum()[:-1])
    return [(tuple(map(int, intervals)), group) for intervals, group in zip(combinations, groups, strict=True)]


def reduce(labels: Array, config: ReductionConfig | None = None, choice: int = 0) -> Reduction:
    """The images over which no label (n, k) varies much; `choice` counts from 0, the best, for other leaf-runs.

    With one label, intervals go by their ratio. With several, intersections of median size go first (the paper is
    silent here; its code does so), and of equally good ones those of better intervals. Smooth labels cut what the
    others leave: all by windows of the same share, so that `keep` images remain, or `shrink` of all.
    """
    config = config or ReductionConfig()
    if labels.ndim != 2 or not labels.shape[1]:
        raise InputError(f"labels have shape {labels.shape}; expected (images, labels) with at least one label")
    if not np.isfinite(labels).all():
        row, column = np.argwhere(~np.isfinite(labels))[0]
        raise InputError(f"label {column} is {labels[row, column]} at image {row}; expected finite numbers")
    curves = tuple(curve(column, config) for column in labels.T)
    smooth = [column for column, label in enumerate(curves) if label.smooth]
    if not smooth:
        return _between_peaks(curves, config, choice)
    stepped = [column for column in range(len(curves)) if column not in smooth]
    if not stepped:
        return _in_windows(curves, np.arange(len(labels)), config, choice)
    cut = _between_peaks(tuple(curves[column] for column in stepped), config, choice)
    if cut.stop:
        return replace(cut, curves=curves)
    chosen = dict(zip(stepped, cut.chosen, strict=True))
    within = _in_windows(tuple(curves[column] for column in smooth), cut.rows, config, 0)
    if within.stop:  # what the steps leave is as little as windows may: it is reduced, and stays as it is
        intervals = tuple(chosen.get(column) for column in range(len(curves)))
        return Reduction(curves, cut.rows, intervals, cut.sizes)
    chosen |= dict(zip(smooth, within.chosen, strict=True))
    drawn = dict(zip(smooth, within.curves, strict=True))
    return Reduction(
        tuple(drawn.get(column, label) for column, label in enumerate(curves)),
        within.rows,
        tuple(chosen[column] for column in range(len(curves))),
        within.sizes,
    )


def _stopped(curves: tuple[Curve, ...], reason: str, sizes: tuple[int, ...] = ()) -> Reduction:
    return Reduction(curves, np.empty(0, np.int64), sizes=sizes, stop=reason)


def _between_peaks(curves: tuple[Curve, ...], config: ReductionConfig, choice: int) -> Reduction:
    """The paper's rule."""
    for column, label in enumerate(curves):
        if not label.intervals:
            return _stopped(curves, f"the derivative of label {column} has one peak: there is no interval between two")
    common = [(intervals, rows) for intervals, rows in intersections(curves) if len(rows) >= config.overlap]
    if not common:
        return _stopped(curves, f"no intersection of intervals has {config.overlap} images or more")
    middle = np.median([len(rows) for _, rows in common]) if len(curves) > 1 else 0
    common.sort(key=lambda pair: (abs(len(pair[1]) - middle) if len(curves) > 1 else 0, sum(pair[0])))
    sizes = tuple(len(rows) for _, rows in common)
    if choice >= len(common):
        reason = f"there are {len(common)} intersections of intervals, none remains for leaf-run {choice + 1}"
        return _stopped(curves, reason, sizes)
    intervals, rows = common[choice]
    if len(rows) < config.smallest:
        return _stopped(curves, f"{len(rows)} images remain; the least is {config.smallest}", sizes)
    if len(rows) == len(curves[0].order):
        return _stopped(curves, "no label varies: there is nothing to take out", sizes)
    return Reduction(curves, np.sort(rows), intervals, sizes)


def _in_windows(curves: tuple[Curve, ...], rows: Array, config: ReductionConfig, choice: int) -> Reduction:
    """The images among `rows` that lie in a window of every smooth label: the narrowest that leave enough of them."""
    keep = max(config.keep, math.ceil(config.shrink * len(rows)))
    if len(rows) <= keep:
        few = f"{len(rows):,} images remain, and windows leave {keep:,} (the setting keep)"
        return _stopped(curves, f"the labels climb without steps: {few}")
    inside = np.zeros(len(curves[0].order), bool)
    inside[rows] = True
    within = [_among(label, inside) for label in curves]
    images, count = keep, min(config.intervals, choice + 1)
    while images < len(rows):
        cut = tuple(windows(label, images, count) for label in within)
        common = list(islice(_common_windows(cut, len(inside), keep), choice + 1))
        if len(common) > choice:
            intervals, members = common[choice]
            return Reduction(cut, members, intervals, tuple(len(one) for _, one in common))
        images = max(images + 1, round(WIDER * images))
    return _stopped(curves, f"no windows with {keep:,} images remain for leaf-run {choice + 1}")


def _among(label: Curve, inside: Array) -> Curve:
    """A smooth label of some of the images."""
    kept = inside[label.order]
    order, values = label.order[kept], label.values[kept]
    return replace(label, order=order, values=values, slopes=np.diff(values))


def _common_windows(curves: Sequence[Curve], images: int, keep: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Which window of each label, and the images in all of them, where they are enough; the densest windows first."""
    masks = np.zeros((len(curves), max(len(label.intervals) for label in curves), images), bool)
    for label, mask in zip(curves, masks, strict=True):
        for window in range(len(label.intervals)):
            mask[window, label.members(window)] = True
    ranks = product(*(range(len(label.intervals)) for label in curves))
    for chosen in sorted(islice(ranks, COMBINATIONS), key=sum):
        members = np.flatnonzero(masks[np.arange(len(curves)), chosen].all(0))
        if len(members) >= keep:
            yield chosen, members


def draw(reduction: Reduction, titles: Sequence[str]) -> Figure:
    """Figure 3 for each label: sorted (green), its derivative (blue), its peaks and the chosen interval (red)."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(len(reduction.curves), 3)
    rows = -(-len(reduction.curves) // columns)
    size = max(4.2 * columns, 5.5), 2.9 * rows + 0.3
    drawing = Figure(figsize=size, dpi=120, layout=ConstrainedLayoutEngine(wspace=0.06))
    for number, label in enumerate(reduction.curves):
        axis = drawing.add_subplot(rows, columns, number + 1)
        axis.set_title(titles[number], fontsize=9)
        interval = reduction.chosen[number] if reduction.chosen else None
        _draw_curve(axis, label, None if interval is None else label.intervals[interval])
    remaining = f"{len(reduction.rows):,} of {len(reduction.curves[0].order):,} images remain"
    drawing.suptitle(reduction.stop or remaining, fontsize=10)
    return drawing


def _draw_curve(axis: Axes, label: Curve, chosen: Interval | None) -> None:
    from matplotlib.ticker import MaxNLocator

    green, blue, red = "#009E73", "#0072B2", "#B03A2E"
    step = -(-len(label.slopes) // _POINTS)
    starts = np.arange(0, len(label.slopes), step)
    slope = axis.twinx()
    slope.plot(starts, np.maximum.reduceat(label.slopes, starts), color=blue, linewidth=0.7, alpha=0.8)
    slope.plot(label.peaks, label.slopes[label.peaks], "x", color=red, markersize=5)
    if np.isfinite(label.height):
        slope.axhline(label.height, color=blue, linewidth=0.6, linestyle=":")
    axis.set_zorder(slope.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.plot(np.arange(len(label.values))[::step], label.values[::step], color=green, linewidth=1.6)
    low, high = label.values[[0, -1]]
    spread = (high - low) or 1.0
    axis.set_ylim(low - 0.12 * spread, high + 0.06 * spread)
    if chosen is not None:
        axis.axvspan(chosen.start, chosen.stop - 1, color=red, alpha=0.12, linewidth=0)
        axis.hlines(low - 0.07 * spread, chosen.start, chosen.stop - 1, color=red, linewidth=3.5)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_xlabel("images by their label", fontsize=8)
    axis.set_ylabel("label", fontsize=8, color=green)
    slope.set_ylabel("derivative", fontsize=8, color=blue)
    for side in (axis, slope):
        side.tick_params(labelsize=7)
        side.spines["top"].set_visible(False)
