from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from tests.examples.benches import load_bench
from tests.examples.posteriors import posterior, total_correlation_by_loops, weights_by_definition
from unbraid.methods.gaussian import (
    Posterior,
    covariance,
    diagonal,
    kl_per_latent,
    log_density,
    log_weights,
    off_diagonal,
    permute_latents,
    total_correlation,
)

ROOT = Path(__file__).parents[2]
ESTIMATORS = ["batch", "mws", "mss"]


def test_kl_and_density_agree_with_torch_distributions() -> None:
    q = posterior()
    normal = Normal(q.mean, torch.exp(q.logvar / 2))
    prior = Normal(torch.zeros_like(q.mean), 1.0)
    assert torch.allclose(kl_per_latent(q.mean, q.logvar), kl_divergence(normal, prior))
    assert torch.allclose(q.kl(), kl_divergence(normal, prior).sum(1).mean())
    assert torch.allclose(log_density(q.sample, q.mean, q.logvar), normal.log_prob(q.sample))


def test_kl_of_the_prior_is_zero() -> None:
    assert float(kl_per_latent(torch.zeros(2, 3), torch.zeros(2, 3)).abs().max()) == 0


def test_samples_have_the_mean_and_variance_of_the_posterior_and_carry_its_gradient() -> None:
    torch.manual_seed(0)
    mean = torch.tensor([[1.0, -2.0]]).requires_grad_()
    logvar = torch.tensor([[0.0, math.log(4.0)]]).requires_grad_()
    draws = Posterior.draw(mean.expand(50_000, 2), logvar.expand(50_000, 2)).sample
    assert torch.allclose(draws.mean(0), mean[0], atol=0.04)
    assert torch.allclose(draws.var(0), logvar[0].exp(), rtol=0.03)
    for leaf in torch.autograd.grad(draws.sum(), [mean, logvar]):
        assert leaf.abs().max() > 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("batch", "rows"), [(2, 2), (6, 6), (6, 1000)])
def test_total_correlation_agrees_with_loops(estimator: str, batch: int, rows: int) -> None:
    q = posterior(batch)
    expected = total_correlation_by_loops(q, weights_by_definition(batch, estimator, rows))
    assert float(total_correlation(q, estimator, rows)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("batch", [2, 3, 64])
def test_stratified_weights_of_a_row_sum_to_one_and_average_to_one_over_rows(batch: int) -> None:
    weights = log_weights(batch, "mss", 1000).double().exp()
    assert torch.allclose(weights.sum(1), torch.ones(batch, dtype=torch.float64))
    # Over a random order of the other images each has the weight 1/N on average: q(z) is estimated without bias.
    others = weights[~torch.eye(batch, dtype=torch.bool)]
    assert float(others.mean()) * (batch - 1) == pytest.approx(999 / 1000)


def test_trap_the_own_sample_weight_is_on_the_diagonal_not_in_column_0() -> None:
    batch, rows = 6, 50
    weights = log_weights(batch, "mss", rows).double().exp()

    wrong = torch.full((batch, batch), 1 / (batch - 1), dtype=torch.float64)  # what the public copies fill
    wrong.view(-1)[::batch] = 1 / rows
    wrong.view(-1)[1::batch] = (rows - batch + 1) / (rows * (batch - 1))

    def own_weights_are_1_over_n(matrix: Tensor) -> bool:
        return torch.allclose(matrix.diagonal(), torch.full((batch,), 1 / rows, dtype=torch.float64))

    assert own_weights_are_1_over_n(weights)
    assert not own_weights_are_1_over_n(wrong)
    q = posterior(batch)
    ours = float(total_correlation(q, "mss", rows))
    assert ours == pytest.approx(total_correlation_by_loops(q, weights), abs=1e-5)
    assert abs(ours - total_correlation_by_loops(q, wrong)) > 0.1


def test_trap_the_log_weight_enters_the_joint_once_not_once_a_latent() -> None:
    q, rows = posterior(), 50
    weights = log_weights(6, "mss", rows).double()
    pairs = log_density(q.sample[:, None], q.mean[None], q.logvar[None])
    wrong_joint = torch.logsumexp((weights[:, :, None] + pairs).sum(2), 1)  # the weight counts D times
    marginals = torch.logsumexp(weights[:, :, None] + pairs, 1)
    wrong = float((wrong_joint - marginals.sum(1)).mean())
    right = total_correlation_by_loops(q, weights.exp())
    assert float(total_correlation(q, "mss", rows)) == pytest.approx(right, abs=1e-5)
    assert abs(wrong - right) > 0.1


@pytest.mark.parametrize(("n", "d", "rows"), [(6, 3, 1000), (4, 10, 737_280)])
def test_batch_is_mws_without_its_constants_and_has_the_same_gradient(n: int, d: int, rows: int) -> None:
    values, gradients = {}, {}
    for estimator in ["batch", "mws"]:
        q = posterior(n, d)
        leaves = [q.mean.clone().requires_grad_(), q.logvar.clone().requires_grad_(), q.sample.clone().requires_grad_()]
        value = total_correlation(Posterior(*leaves), estimator, rows)
        gradients[estimator] = torch.autograd.grad(value, leaves)
        values[estimator] = value.item()
    offset = (d - 1) * math.log(rows * n)
    assert values["batch"] == pytest.approx(values["mws"] - offset, abs=1e-4)
    for ours, other in zip(gradients["batch"], gradients["mws"], strict=True):
        assert torch.allclose(ours, other, atol=1e-6)


def test_one_latent_has_no_total_correlation() -> None:
    for estimator in ESTIMATORS:
        assert float(total_correlation(posterior(8, 1), estimator, 100)) == pytest.approx(0, abs=1e-12)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/total_correlation.py, which makes the figure of docs/methods/beta_tc_vae.md."""
    return load_bench("total_correlation")


def test_the_whole_data_set_as_a_batch_gives_the_mixture_exactly(bench: ModuleType) -> None:
    """With M = N the weights of mws are 1/N²: mws is the truth + (D-1) log N, and batch the truth - (D-1) log N."""
    data = bench.Codes.make(rows=300)
    torch.manual_seed(0)
    q = data.posterior(torch.arange(300))
    truth = total_correlation_by_loops_in_numpy(q)
    offset = (data.latents - 1) * math.log(300)
    assert float(total_correlation(q, "mws", 300)) - offset == pytest.approx(truth, abs=1e-4)
    assert float(total_correlation(q, "batch", 300)) + offset == pytest.approx(truth, abs=1e-4)
    # mss leaves one neighbour almost out and gives the others 1/(N-1): exact but for terms of order 1/N.
    assert float(total_correlation(q, "mss", 300)) == pytest.approx(truth, abs=0.02)


def total_correlation_by_loops_in_numpy(q: Posterior) -> float:
    """log q(z) - Σ log q(z_j) with q(z) = 1/N Σ_k q(z|x_k) over all rows, averaged over the samples."""
    mean, deviation, z = q.mean.numpy(), np.exp(q.logvar.numpy() / 2), q.sample.numpy()
    total = 0.0
    for point in z:
        densities = np.exp(-(((point - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
        total += np.log(densities.prod(1).mean()) - np.log(densities.mean(0)).sum()
    return total / len(z)


def test_the_estimators_approach_the_closed_form_as_the_batch_grows(bench: ModuleType) -> None:
    data = bench.Codes.make(rows=400)
    truth = data.closed_form()
    assert truth == pytest.approx(data.brute_force(2000), abs=0.08)  # a mixture of N Gaussians is nearly a Gaussian
    batches = [16, 80, 400]
    table = {name: [bench.estimate(data, name, size, 3200)[0] for size in batches] for name in ESTIMATORS}
    known = (data.latents - 1) * math.log(data.rows)
    mws = [value - known for value in table["mws"]]
    # mws counts a sample's own posterior as 1/M of q(z) instead of 1/N: too high, less so in larger batches.
    assert all(larger < smaller for smaller, larger in pairwise(mws))
    assert mws[0] - truth > 0.2
    assert mws[-1] == pytest.approx(truth, abs=0.08)
    # mss estimates q(z) without bias but not its logarithm: too low at these sizes, less so in larger batches.
    assert all(larger > smaller for smaller, larger in pairwise(table["mss"]))
    assert truth - table["mss"][0] > 0.05
    assert table["mss"][-1] == pytest.approx(truth, abs=0.08)
    # batch, as it is logged, lies (D-1) log M below, and so falls as the batch grows.
    for size, value, other in zip(batches, table["batch"], mws, strict=True):
        assert value + (data.latents - 1) * math.log(size) == pytest.approx(other, abs=1e-3)


def test_the_figure_is_drawn(bench: ModuleType, tmp_path: Path) -> None:
    bench.draw(bench.measure(bench.Codes.make(rows=64), batches=[4, 64], budget=256), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (ROOT / "docs" / "pictures" / "total_correlation.png").exists()


def test_covariance_is_the_biased_one() -> None:
    x = posterior(5, 3).mean
    assert np.allclose(covariance(x).numpy(), np.cov(x.numpy().T, bias=True))
    unbiased = np.cov(x.numpy().T)
    assert np.abs(covariance(x).numpy() - unbiased).max() > 0.05


def test_trap_the_off_diagonal_sum_counts_both_triangles() -> None:
    matrix = covariance(posterior(5, 4).mean)
    both = sum(float(matrix[i, j]) ** 2 for i in range(4) for j in range(4) if i != j)
    one = sum(float(matrix[i, j]) ** 2 for i in range(4) for j in range(i))
    assert float(off_diagonal(matrix)) == pytest.approx(both)
    assert both > 1.9 * one > 0
    assert float(diagonal(matrix)) == pytest.approx(sum((float(matrix[i, i]) - 1) ** 2 for i in range(4)))


def test_the_identity_costs_nothing() -> None:
    assert float(off_diagonal(torch.eye(4))) == float(diagonal(torch.eye(4))) == 0


def test_permuted_latents_keep_their_marginals_and_lose_their_correlation() -> None:
    torch.manual_seed(0)
    first = torch.randn(4000)
    z = torch.stack([first, first + 0.1 * torch.randn(4000), -first], 1)
    permuted = permute_latents(z)
    assert torch.equal(permuted.sort(0).values, z.sort(0).values)
    assert torch.corrcoef(z.T).abs().min() > 0.9
    assert (torch.corrcoef(permuted.T) - torch.eye(3)).abs().max() < 0.06
