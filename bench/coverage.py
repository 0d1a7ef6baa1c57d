"""How often the 95 % intervals of `unbraid.report.estimates` cover the truth, at the numbers of seeds that studies use.

    python bench/coverage.py [--repeats 2000] [--seeds 3 5 10 50] [--only mean trend] [--limits]

Draws tables of scores from models whose truth is known: settings with different means, seeds with normal, skewed and
bounded, heavy-tailed and rounded noise, scores of one model that go together. Prints a row for each estimator and
model, and the share of tables whose interval covers the truth and its mean width, for each number of seeds. `--limits`
prints models that are known to break an interval too: noise with a long tail, and seeds that fall into two optima.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.stats import rankdata

from unbraid.jobs.choice import best_setting
from unbraid.report import estimates
from unbraid.report.estimates import Estimate

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

SEEDS = (3, 5, 10, 50)


@dataclass(frozen=True)
class Case:
    """An estimator on tables of one model."""

    estimator: str
    model: str
    draw: Callable[[int, Rng], Estimate]
    """An estimate from a table with so many seeds."""
    truth: float | Callable[[], float]
    """Or a function that finds it by drawing a large table."""
    limit: bool = False
    """Whether the interval is known to fail here."""
    cost: int = 1
    """By how much fewer tables are drawn, for estimators that take long."""

    @cached_property
    def known_truth(self) -> float:
        return self.truth() if callable(self.truth) else self.truth

    def coverage(self, seeds: int, repeats: int) -> tuple[float, float, int]:
        """The share of intervals that cover the truth, their median width, and how many of them there were."""
        rng = np.random.default_rng(zlib.crc32(f"{self.estimator} {self.model} {seeds}".encode()))
        drawn = [self.draw(seeds, rng) for _ in range(max(repeats // self.cost, min(repeats, 50)))]
        kept = [entry for entry in drawn if entry.known and entry.has_interval]
        if len(kept) < len(drawn) / 2:
            return math.nan, math.nan, len(kept)
        slack = 1e-9
        hits = [entry.low - slack <= self.known_truth <= entry.high + slack for entry in kept]
        return float(np.mean(hits)), float(np.median([entry.high - entry.low for entry in kept])), len(kept)


# Noise of mean 0 and variance 1

Noise = Callable[[Rng, tuple[int, ...]], Array]


def normal(rng: Rng, shape: tuple[int, ...]) -> Array:
    return rng.normal(size=shape)


def bounded(rng: Rng, shape: tuple[int, ...]) -> Array:
    """Beta(2, 5): skewed to the right, as scores near 0 are."""
    return (rng.beta(2, 5, size=shape) - 2 / 7) / math.sqrt(10 / (49 * 8))


def heavy(rng: Rng, shape: tuple[int, ...]) -> Array:
    """Student's with five degrees of freedom."""
    return rng.standard_t(5, size=shape) / math.sqrt(5 / 3)


def rounded(rng: Rng, shape: tuple[int, ...]) -> Array:
    """In steps of half a deviation, so that values tie."""
    return np.round(2 * rng.normal(size=shape)) / 2 / math.sqrt(1 + 1 / 48)


def long_tail(rng: Rng, shape: tuple[int, ...]) -> Array:
    return rng.exponential(size=shape) - 1


def two_optima(rng: Rng, shape: tuple[int, ...]) -> Array:
    """One seed of five falls into a bad optimum."""
    return 0.4 * rng.normal(size=shape) - 2.3 * ((rng.random(shape) < 0.2) - 0.2)


NOISES: dict[str, Noise] = {"normal": normal, "bounded": bounded, "heavy tails": heavy, "rounded": rounded}
LIMITS: dict[str, Noise] = {"long tail": long_tail, "two optima": two_optima}


def noises() -> Iterator[tuple[str, Noise, bool]]:
    yield from ((name, noise, False) for name, noise in NOISES.items())
    yield from ((name, noise, True) for name, noise in LIMITS.items())


# Means, differences, ratios, spreads


def means() -> Iterator[Case]:
    for sets, spreads in (("1 data set", (1.0,)), ("3 data sets", (0.3, 1.0, 2.0))):
        scale = np.array(spreads)[:, None]
        for name, noise, limit in noises():
            yield Case(
                "mean", f"{sets}, {name}",
                lambda seeds, rng, noise=noise, scale=scale: estimates.mean(scale * noise(rng, (len(scale), seeds))),
                0.0, limit,
            )  # fmt: skip


def differences() -> Iterator[Case]:
    for name, noise, limit in noises():

        def unpaired(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            return estimates.difference(noise(rng, (2, seeds)), 1 + 2 * noise(rng, (2, seeds)))

        def paired(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            shared = noise(rng, (2, seeds))
            return estimates.difference(shared + noise(rng, (2, seeds)), 1 + shared, paired=True)

        yield Case("difference", f"2 data sets, unpaired, {name}", unpaired, -1.0, limit)
        yield Case("difference", f"2 data sets, paired, {name}", paired, -1.0, limit)


def _all_cover(differences: Sequence[tuple[Estimate, float]]) -> Estimate:
    """Covers 0 where each of the intervals covers its truth."""
    low = max(entry.low - truth for entry, truth in differences)
    high = min(entry.high - truth for entry, truth in differences)
    return Estimate(0.0, low, high)


def families() -> Iterator[Case]:
    """Three methods less a baseline on two data sets: whether all six intervals cover.

    In the second model each method has three strengths, and the better one on two seeds is compared on the others.
    """
    gaps = np.array([0.0, 0.5, 1.0, 1.5])
    for name, noise, limit in noises():

        def given(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            shared = noise(rng, (1, 2, seeds))
            scores = gaps[:, None, None] + shared + noise(rng, (4, 2, seeds))
            return _all_cover([
                (estimates.difference(scores[method, data], scores[0, data], paired=True, comparisons=6), gaps[method])
                for method in (1, 2, 3)
                for data in (0, 1)
            ])  # fmt: skip

        def chosen(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            means = gaps[:, None, None] + np.array([0.0, 0.2, 0.1])  # (methods, 1, strengths)
            scores = means[..., None] + noise(rng, (4, 2, 3, seeds + 2))
            found = []
            for data in (0, 1):
                best = [best_setting(scores[method, data, :, :2]) for method in range(4)]
                values = [scores[method, data, best[method], 2:] for method in range(4)]
                truths = [float(means[method, 0, best[method]]) for method in range(4)]
                found += [
                    (estimates.difference(values[method], values[0], paired=True, comparisons=6),
                     truths[method] - truths[0])
                    for method in (1, 2, 3)
                ]  # fmt: skip
            return _all_cover(found)

        yield Case("family", f"6 differences, {name}", given, 0.0, limit)
        yield Case("family", f"6 differences, strengths chosen, {name}", chosen, 0.0, limit)


def ratios() -> Iterator[Case]:
    for name, noise, limit in noises():
        for size in (3.0, 1.0):

            def draw(seeds: int, rng: Rng, noise: Noise = noise, size: float = size) -> Estimate:
                shared = noise(rng, (2, seeds))
                return estimates.ratio(0.5 + 0.3 * shared + 0.3 * noise(rng, (2, seeds)), size + 0.5 * shared)

            yield Case("ratio", f"2 data sets, to a mean of {2 * size:g} deviations, {name}", draw, 0.5 / size, limit)


def spread_ratios() -> Iterator[Case]:
    for name, noise, limit in noises():

        def one(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            return estimates.spread_ratio(noise(rng, (seeds,)), 2 * noise(rng, (seeds,)))

        def several(seeds: int, rng: Rng, noise: Noise = noise) -> Estimate:
            return estimates.spread_ratio(noise(rng, (seeds,)), *(2 * noise(rng, (3, seeds)) + [[0], [1], [2]]))

        yield Case("spread_ratio", f"over one group, {name}", one, 0.5, limit)
        yield Case("spread_ratio", f"over three groups, {name}", several, 0.5, limit)


# Shares: exact, so that they cover at least 95 % and more where outcomes are few


def shares() -> Iterator[Case]:
    for chance in (0.1, 0.3, 0.5, 0.9):
        yield Case(
            "share", f"of {chance:g}",
            lambda seeds, rng, chance=chance: estimates.share((rng.random(seeds) < chance).astype(float)), chance,
        )  # fmt: skip
    chances = np.linspace(0.1, 0.9, 6)[:, None]
    yield Case(
        "share", "of six settings, 0.1 to 0.9",
        lambda seeds, rng: estimates.share((rng.random((6, seeds)) < chances).astype(float)), 0.5,
    )  # fmt: skip
    for first, second in ((0.5, 0.5), (0.9, 0.5), (0.9, 0.1)):

        def draw(seeds: int, rng: Rng, first: float = first, second: float = second) -> Estimate:
            outcomes = ((rng.random(seeds) < chance).astype(float) for chance in (first, second))
            return estimates.share_difference(*outcomes)

        yield Case("share_difference", f"of {first:g} and {second:g}", draw, first - second)


# Rank correlations


def squashed(values: Array) -> Array:
    """Into 0 … 1, as scores are, in steps of a tenth, so that they tie."""
    return np.round(10 / (1 + np.exp(-2 * values))) / 10


@dataclass(frozen=True)
class TwoScores:
    """Models whose settings have means and whose seeds add noise, of which both scores share a part."""

    settings: int
    between: float
    """The correlation of the settings' means."""
    within: float
    """The correlation of the noise."""
    spread: float
    """Of the noise, over that of the settings."""
    noise: Noise = normal
    transform: Callable[[Array], Array] = np.asarray

    def draw(self, seeds: int, rng: Rng) -> Array:
        """(2, settings, seeds)"""
        means = np.random.default_rng(5).normal(size=(2, self.settings))
        means[1] = self.between * means[0] + math.sqrt(1 - self.between**2) * means[1]
        noise = self.noise(rng, (2, self.settings, seeds))
        noise[1] = self.within * noise[0] + math.sqrt(1 - self.within**2) * noise[1]
        return self.transform(means[:, :, None] + self.spread * noise)

    def truth(self) -> float:
        x, y = self.draw(120_000 // self.settings, np.random.default_rng(1))
        return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])

    def expected_truth(self) -> float:
        x, y = self.draw(120_000 // self.settings, np.random.default_rng(1))
        ranks = [rankdata(scores).reshape(scores.shape).mean(1) for scores in (x, y)]
        return float(np.corrcoef(*ranks)[0, 1])


def rank_correlations() -> Iterator[Case]:
    for settings in (6, 18):
        for words, between, within, spread in (
            ("unrelated", 0.0, 0.0, 1.0),
            ("by setting", 0.6, 0.3, 0.7),
            ("strong", 0.9, 0.9, 0.5),
            ("opposed within settings", 0.5, -0.8, 1.0),
        ):
            for kind, noise, transform in (("normal", normal, np.asarray), ("skewed with ties", bounded, squashed)):
                scores = TwoScores(settings, between, within, spread, noise, transform)
                yield Case(
                    "rank_correlation", f"{settings} settings, {words}, {kind}",
                    lambda seeds, rng, scores=scores: estimates.rank_correlation(*scores.draw(seeds, rng)),
                    scores.truth, cost=2,
                )  # fmt: skip
    scores = TwoScores(6, 1.0, 0.0, 0.02, bounded, squashed)
    yield Case(
        "rank_correlation", "6 settings, almost perfect with ties",
        lambda seeds, rng: estimates.rank_correlation(*scores.draw(seeds, rng)), scores.truth, True, cost=4,
    )  # fmt: skip


def setting_correlations() -> Iterator[Case]:
    for settings in (9, 18):
        for between, spread in ((0.0, 0.3), (0.5, 0.7), (0.9, 0.7)):
            for kind, noise in (("normal", normal), ("bounded", bounded)):
                scores = TwoScores(settings, between, 0.0, spread, noise)
                yield Case(
                    "setting_correlation", f"{settings} settings, {between:g}, noise {spread:g}, {kind}",
                    lambda seeds, rng, scores=scores: estimates.setting_correlation(*scores.draw(seeds, rng)),
                    scores.expected_truth, cost=2,
                )  # fmt: skip


def trends() -> Iterator[Case]:
    def model(strengths: int, slope: float, noise: Noise, shape: str) -> Callable[[int, Rng], Array]:
        steps = np.arange(strengths)
        means = slope * (np.abs(steps - (strengths - 1) / 3) if shape == "bent" else steps)
        scale = np.linspace(1, 0.4, strengths) if shape == "shrinking" else np.ones(strengths)

        def draw(seeds: int, rng: Rng) -> Array:
            values = means[:, None] + scale[:, None] * noise(rng, (strengths, seeds))
            return squashed(values - means.mean()) if shape == "ties" else values

        return draw

    for strengths in (3, 6):
        for slope in (0.0, 0.3, 1.0, 2.0):
            for shape, noise in (("steady", normal), ("shrinking", bounded), ("bent", normal), ("ties", normal)):
                draw = model(strengths, slope, noise, shape)
                yield Case(
                    "trend", f"{strengths} strengths, slope {slope:g}, {shape}",
                    lambda seeds, rng, draw=draw: estimates.trend(draw(seeds, rng)),
                    lambda draw=draw: _somers(draw(10_000, np.random.default_rng(1))), cost=2,
                )  # fmt: skip


def _somers(scores: Array) -> float:
    """Somers' D by counting, through ranks: P(a < b) - P(a > b) of every two strengths."""
    found = []
    for lower in range(len(scores)):
        for upper in range(lower + 1, len(scores)):
            below, above = (np.searchsorted(np.sort(scores[lower]), scores[upper], side) for side in ("left", "right"))
            found.append(float((below + above).mean()) / scores.shape[1] - 1)
    return float(np.mean(found))


# Choosing settings, and the jackknife of any statistic


@dataclass(frozen=True)
class Study:
    """Scores (data sets, metrics, settings, seeds): settings are good by data set and metric, noise by model."""

    data_sets: int
    metrics: int
    settings: int
    signal: float
    shared: float
    """Of a setting's quality, by all metrics and by all data sets."""
    transform: Callable[[Array], Array] = np.asarray

    def draw(self, seeds: int, rng: Rng) -> Array:
        fixed = np.random.default_rng(7)
        shape = (self.data_sets, self.metrics, self.settings)
        quality = sum(
            weight * fixed.normal(size=part)
            for weight, part in (
                (self.shared, (1, 1, self.settings)),
                (math.sqrt(self.shared * (1 - self.shared)), (1, self.metrics, self.settings)),
                (math.sqrt(self.shared * (1 - self.shared)), (self.data_sets, 1, self.settings)),
                (1 - self.shared, shape),
            )
        )
        model = rng.normal(size=(self.data_sets, 1, self.settings, seeds))
        noise = math.sqrt(0.5) * (model + rng.normal(size=(*shape, seeds)))
        return self.transform(self.signal * np.broadcast_to(quality, shape)[..., None] + noise)


def choices() -> Iterator[Case]:
    for words, study in (
        ("weak", Study(2, 3, 18, 0.5, 0.5)),
        ("medium", Study(2, 3, 18, 1.0, 0.5)),
        ("strong", Study(3, 3, 9, 2.0, 0.8)),
        ("medium with ties", Study(2, 3, 9, 1.0, 0.5, squashed)),
    ):
        for same_metric, same_data in ((True, True), (False, True), (True, False), (False, False)):
            case = {"same_metric": same_metric, "same_data": same_data}
            where = f"{'same' if same_metric else 'other'} metric, {'same' if same_data else 'other'} data"

            def draw(seeds: int, rng: Rng, study: Study = study, case: dict[str, bool] = case) -> Estimate:
                return estimates.probability_beats_random(study.draw(seeds, rng), **case)

            yield Case("probability_beats_random", f"{words}, {where}", draw, partial(_chances, study, **case), cost=4)


def _chances(study: Study, same_metric: bool, same_data: bool) -> float:
    """The truth: the choice by one table of many seeds, how good settings are by another."""
    rng = np.random.default_rng(1)
    first, second = study.draw(6_000, rng), study.draw(3_000, rng)
    chosen = first.argmax(2)
    quality = estimates.wins(second[..., :300]).mean(-1)
    found = []
    for one, other in np.ndindex(study.data_sets, study.data_sets):
        for metric, compared in np.ndindex(study.metrics, study.metrics):
            if (one == other) == same_data and (metric == compared) == same_metric:
                found.append(float(quality[other, compared][chosen[one, metric]].mean()))
    return float(np.mean(found))


def jackknives() -> Iterator[Case]:
    """The share of the variance that comes from settings, of scores (settings, seeds)."""

    def statistic(values: Array) -> float:
        finite = np.isfinite(values)
        counts = finite.sum(1)
        means = np.where(finite, values, 0).sum(1) / counts
        noise = (np.where(finite, values - means[:, None], 0) ** 2).sum(1) / (counts - 1)
        between = means.var(ddof=1) - (noise / counts).mean()
        return float(between / (between + noise.mean()))

    for settings in (9, 18):
        for name, noise in NOISES.items():
            means = np.random.default_rng(5).normal(size=settings)
            between = float(means.var(ddof=1))
            yield Case(
                "jackknife", f"share of variance, {settings} settings, {name}",
                lambda seeds, rng, means=means, noise=noise: estimates.jackknife(
                    statistic, means[:, None] + noise(rng, (len(means), seeds))
                ),
                between / (between + 1), cost=10,
            )  # fmt: skip


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "mean": means,
    "difference": differences,
    "family": families,
    "ratio": ratios,
    "spread_ratio": spread_ratios,
    "share": shares,
    "rank_correlation": rank_correlations,
    "setting_correlation": setting_correlations,
    "trend": trends,
    "probability_beats_random": choices,
    "jackknife": jackknives,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--repeats", type=int, default=2000, help="tables drawn for each cell; fewer where they are slow"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--limits", action="store_true", help="also print models that break an interval")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    chosen = parser.parse_args(arguments)
    if chosen.tiny:
        chosen.repeats, chosen.seeds = 2, (5,)
    print(f"{'estimator':24} {'model':48}" + "".join(f"{f'{seeds} seeds':>16}" for seeds in chosen.seeds))
    for name in chosen.only:
        for case in islice(CASES[name](), 1 if chosen.tiny else None):
            if case.limit and not chosen.limits:
                continue
            cells = []
            for seeds in chosen.seeds:
                share, width, _ = case.coverage(seeds, chosen.repeats)
                cells.append("no interval" if math.isnan(share) else f"{100 * share:.1f} % ({width:.2f})")
            note = "  limit" if case.limit else ""
            print(f"{case.estimator:24} {case.model:48}" + "".join(f"{cell:>16}" for cell in cells) + note, flush=True)


if __name__ == "__main__":
    main()
