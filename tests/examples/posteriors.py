"""Gaussian posteriors, and total correlation by its definition, one number at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.methods.gaussian import Posterior


def posterior(n: int = 6, d: int = 3, seed: int = 0) -> Posterior:
    rng = torch.Generator().manual_seed(seed)
    mean, logvar, noise = torch.randn(3, n, d, generator=rng, dtype=torch.float64)
    return Posterior(mean, logvar, mean + torch.exp(logvar / 2) * noise)


def total_correlation_by_loops(q: Posterior, weights: Tensor) -> float:
    """mean_i [log Σ_k w_ik Π_j q(z_ij|x_k) - Σ_j log Σ_k w_ik q(z_ij|x_k)], one number at a time."""
    n, d = q.mean.shape

    def density(i: int, k: int, j: int) -> float:
        mean, variance = float(q.mean[k, j]), math.exp(float(q.logvar[k, j]))
        return math.exp(-((float(q.sample[i, j]) - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    total = 0.0
    for i in range(n):
        w = weights[i].tolist()
        joint = sum(w[k] * math.prod(density(i, k, j) for j in range(d)) for k in range(n))
        marginals = [sum(w[k] * density(i, k, j) for k in range(n)) for j in range(d)]
        total += math.log(joint) - sum(math.log(m) for m in marginals)
    return total / n


def weights_by_definition(batch: int, estimator: str, rows: int) -> Tensor:
    weights = torch.ones(batch, batch, dtype=torch.float64)
    if estimator == "mws":
        weights /= rows * batch
    if estimator == "mss":
        others = batch - 1
        for i in range(batch):
            for k in range(batch):
                weights[i, k] = 1 / others
            weights[i, (i + 1) % batch] = (rows - others) / (rows * others)
            weights[i, i] = 1 / rows
    return weights
