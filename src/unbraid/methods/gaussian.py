"""Diagonal Gaussian posteriors: sampling, divergence, and estimators of total correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Posterior:
    """q(z|x) of a batch, diagonal Gaussians, and one sample of each: (n, d) all three."""

    mean: Tensor
    logvar: Tensor
    sample: Tensor

    @classmethod
    def draw(cls, mean: Tensor, logvar: Tensor) -> Posterior:
        return cls(mean, logvar, mean + torch.exp(logvar / 2) * torch.randn_like(mean))

    def kl(self) -> Tensor:
        """KL(q(z|x) || N(0, I)), summed over latents, averaged over the batch."""
        return kl_per_latent(self.mean, self.logvar).sum(1).mean()


def kl_per_latent(mean: Tensor, logvar: Tensor) -> Tensor:
    """½(μ² + σ² - log σ² - 1), the divergence of each latent from N(0, 1): (n, d).

    >>> kl_per_latent(torch.tensor([[0.0, 2.0]]), torch.zeros(1, 2))
    tensor([[0., 2.]])
    """
    return 0.5 * (mean.square() + logvar.exp() - logvar - 1)


def log_density(z: Tensor, mean: Tensor, logvar: Tensor) -> Tensor:
    """log N(z; μ, σ²), elementwise."""
    return -0.5 * (LOG_2PI + logvar + (z - mean).square() * torch.exp(-logvar))


def total_correlation(q: Posterior, estimator: str, rows: int) -> Tensor:
    """KL(q(z) || Π q(z_j)) of the aggregate posterior of a data set with `rows` images, estimated from a batch.

    log q(z_i) is estimated by log Σ_k w_ik q(z_i|x_k) over the M images of the batch, and each log q(z_ij) likewise:

    - `batch`: w = 1, as assumptions' released code has it. The same gradient as `mws`, whose value is larger by
      (D-1) log(NM) for D latents: it goes far below 0.
    - `mws`, minibatch weighted sampling: w = 1/(NM). Over the whole data set (M = N) it is the total correlation plus
      (D-1) log N.
    - `mss`, minibatch stratified sampling: w_ii = 1/N, one other image the weight of the stratum, (N-M')/(NM'), the
      rest 1/M', with M' = M-1. Each row of weights sums to 1.

    >>> mean = torch.linspace(-1, 1, 64)[:, None]
    >>> logvar, _ = torch.full((64, 2), -8.0), torch.manual_seed(0)
    >>> same = Posterior.draw(mean.repeat(1, 2), logvar)  # both latents hold the same number
    >>> own = Posterior.draw(torch.cat([mean, mean[torch.randperm(64)]], 1), logvar)
    >>> bool(total_correlation(same, "mws", rows=64) > total_correlation(own, "mws", rows=64))
    True
    """
    pairs = log_density(q.sample[:, None], q.mean[None], q.logvar[None])  # (sample i, image k, latent j)
    weights = log_weights(len(q.mean), estimator, rows).to(pairs)
    joint = torch.logsumexp(weights + pairs.sum(2), 1)  # the weight enters once, not once per latent
    marginals = torch.logsumexp(weights[:, :, None] + pairs, 1)
    return (joint - marginals.sum(1)).mean()


def log_weights(batch: int, estimator: str, rows: int) -> Tensor:
    """log w_ik of the estimators above: (batch, batch)."""
    if estimator == "batch":
        return torch.zeros(batch, batch)
    if estimator == "mws":
        return torch.full((batch, batch), -math.log(rows * batch))
    others = max(batch - 1, 1)
    weights = torch.full((batch, batch), 1 / others)
    stratum = max((rows - others) / (rows * others), 0.0)
    index = torch.arange(batch)
    weights[index, (index + 1) % batch] = stratum
    weights[index, index] = 1 / rows
    return weights.log()


def covariance(x: Tensor) -> Tensor:
    """The biased covariance (1/M) of a batch: (n, d) -> (d, d)."""
    centred = x - x.mean(0)
    return centred.T @ centred / len(x)


def off_diagonal(matrix: Tensor) -> Tensor:
    """Σ_{i≠j} M_ij², both triangles."""
    return matrix.square().sum() - matrix.diagonal().square().sum()


def diagonal(matrix: Tensor) -> Tensor:
    """Σ_i (M_ii - 1)²."""
    return (matrix.diagonal() - 1).square().sum()


def permute_latents(z: Tensor, dimensions: int = 1) -> Tensor:
    """Each column permuted on its own: a sample of Π q(z_j) from a sample of q(z).

    With `dimensions` above 1, each feature of so many columns side by side as a whole.

    >>> _ = torch.manual_seed(0)
    >>> z = torch.arange(4.0)[:, None].repeat(1, 2)
    >>> permute_latents(z).sort(0).values.equal(z)  # each column keeps its values
    True
    """
    order = torch.rand_like(z[:, ::dimensions]).argsort(0)
    return z.gather(0, order.repeat_interleave(dimensions, 1))
