"""Estimates of total correlation from batches, against the closed form. Prints a table and draws the figure.

The codes have q(z|x) = N(μ(x), s²I) with the means of N rows spread like a Gaussian whose latents are correlated: q(z),
the mixture over the rows, is nearly N(0, C) and its total correlation nearly ½(Σ log diag C - log det C).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from torch import Tensor

from unbraid.methods.gaussian import Posterior, log_density, total_correlation

FIGURE = Path(__file__).parents[1] / "docs" / "pictures" / "total_correlation.png"
BATCHES = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
ESTIMATORS = ["mws", "mss", "batch"]


@dataclass(frozen=True)
class Codes:
    """The encoder of a made-up data set: means (N, D) and one deviation for all."""

    means: Tensor
    deviation: float

    @classmethod
    def make(cls, rows: int = 1024, latents: int = 3, correlation: float = 0.8, deviation: float = 0.3) -> Codes:
        """Means whose empirical covariance is exactly 1 on the diagonal and `correlation` elsewhere."""
        rng = torch.Generator().manual_seed(0)
        x = torch.randn(rows, latents, generator=rng, dtype=torch.float64)
        x = x - x.mean(0)
        whiten = torch.linalg.inv(torch.linalg.cholesky(x.T @ x / rows))
        covariance = torch.full((latents, latents), correlation, dtype=torch.float64).fill_diagonal_(1)
        return cls(x @ whiten.T @ torch.linalg.cholesky(covariance).T, deviation)

    @property
    def rows(self) -> int:
        return len(self.means)

    @property
    def latents(self) -> int:
        return self.means.shape[1]

    def posterior(self, rows: Tensor) -> Posterior:
        mean = self.means[rows]
        return Posterior.draw(mean, torch.full_like(mean, 2 * math.log(self.deviation)))

    def closed_form(self) -> float:
        """½(Σ log diag C - log det C), C = Cov[μ] + s²I."""
        variance = self.deviation**2 * torch.eye(self.latents, dtype=torch.float64)
        C = self.means.T @ self.means / self.rows + variance
        return float(C.diagonal().log().sum() - torch.logdet(C)) / 2

    def brute_force(self, samples: int = 20_000) -> float:
        """E[log q(z) - Σ log q(z_j)] with q(z) the mixture over all rows."""
        torch.manual_seed(0)
        total = 0.0
        for rows in torch.randint(self.rows, (samples,)).split(500):
            q = self.posterior(rows)
            pairs = log_density(q.sample[:, None], self.means[None], q.logvar[:1, None])
            joint, marginals = torch.logsumexp(pairs.sum(2), 1), torch.logsumexp(pairs, 1)
            total += float((joint - marginals.sum(1)).sum()) / samples
        return total + (self.latents - 1) * math.log(self.rows)


@dataclass(frozen=True)
class Measured:
    """The mean estimate and its standard error, by estimator and batch size."""

    codes: Codes
    batches: list[int]
    estimates: dict[str, list[tuple[float, float]]]


def estimate(codes: Codes, estimator: str, batch: int, budget: int = 16_384) -> tuple[float, float]:
    """Mean and standard error over `budget` samples or more, in batches drawn without replacement."""
    torch.manual_seed(0)
    repeats = max(4, budget // batch)
    estimates = torch.stack(
        [
            total_correlation(codes.posterior(torch.randperm(codes.rows)[:batch]), estimator, codes.rows)
            for _ in range(repeats)
        ]
    )
    return float(estimates.mean()), float(estimates.std()) / math.sqrt(repeats)


def measure(codes: Codes, batches: list[int], budget: int = 16_384) -> Measured:
    return Measured(
        codes, batches, {name: [estimate(codes, name, batch, budget) for batch in batches] for name in ESTIMATORS}
    )


def draw(measured: Measured, path: Path) -> None:
    codes, batches = measured.codes, measured.batches
    n, d, truth = codes.rows, codes.latents, codes.closed_form()
    mws, mss, batch = (torch.tensor(measured.estimates[name]).T for name in ESTIMATORS)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)

    left.plot(batches, mws[0], "o-", color="tab:orange", label="mws")
    left.plot(batches, mss[0], "s-", color="tab:blue", label="mss")
    left.plot(batches, batch[0], "^-", color="tab:green", label="batch")
    left.axhline(truth, color="black", linestyle="--", label="closed form")
    left.set_title("as logged")

    right.errorbar(
        batches, mws[0] - (d - 1) * math.log(n), mws[1], fmt="o-", color="tab:orange", capsize=3,
        label="mws - (D-1) log N  =  batch + (D-1) log M",
    )  # fmt: skip
    right.errorbar(batches, mss[0], mss[1], fmt="s-", color="tab:blue", capsize=3, label="mss")
    right.axhline(truth, color="black", linestyle="--", label=f"closed form, {truth:.2f} nats")
    right.set_title("without the known constants")
    right.set_ylim(bottom=0)

    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(batches))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([str(size) for size in batches])
        axes.set_xlabel("batch size M")
        axes.set_ylabel("total correlation, nats")
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
    figure.suptitle(f"Estimates of total correlation: {d} Gaussian latents, N = {n} rows")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help=f"the picture to write, by default docs/pictures/{FIGURE.name}")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    batches, rows, samples = (BATCHES[:2], 16, 16) if options.tiny else (BATCHES, 1024, 20_000)
    measured = measure(Codes.make(rows), batches, min(samples, 16_384))
    codes = measured.codes
    known = (codes.latents - 1) * math.log(codes.rows)
    exact, mixture = codes.closed_form(), codes.brute_force(samples)
    print(f"closed form {exact:.3f}, brute force over all {codes.rows} rows {mixture:.3f}")
    print(f"{'M':>6}{'mss':>9}{'mws':>9}{'- const':>9}{'batch':>9}")
    for index, batch in enumerate(measured.batches):
        mws, mss, plain = (measured.estimates[name][index][0] for name in ESTIMATORS)
        print(f"{batch:6}{mss:9.3f}{mws:9.3f}{mws - known:9.3f}{plain:9.3f}")
    out = options.out or (Path(FIGURE.name) if options.tiny else FIGURE)
    draw(measured, out)
    print(out)


if __name__ == "__main__":
    main()
