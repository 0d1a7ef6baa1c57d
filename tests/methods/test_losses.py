from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Bernoulli, Normal, kl_divergence

from tests.examples.posteriors import posterior, total_correlation_by_loops, weights_by_definition
from tests.examples.squares import squares
from unbraid.methods import build
from unbraid.methods.annealed_vae import AnnealedVAE
from unbraid.methods.beta_tc_vae import BetaTCVAE
from unbraid.methods.dip_vae_ii import code_covariance
from unbraid.methods.factor_vae import FactorVAE
from unbraid.methods.gaussian import Posterior, covariance, permute_latents
from unbraid.methods.vae import VAE, expected_images, negative_log_likelihood

Array = np.ndarray[Any, Any]
DATA = squares()
SMALL = {"network": "small", "latents": 3, "batch_size": 8}
RECONSTRUCTION = 12.5


def make(name: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    return build(name, DATA, {**SMALL, **settings})


def images(n: int = 8) -> Tensor:
    return DATA.sample(n, 0)[0]


def kl(mean: Array, logvar: Array) -> float:
    return float(np.mean(np.sum(mean**2 + np.exp(logvar) - logvar - 1, axis=1) / 2))


def dip(matrix: Array, lambda_od: float, lambda_d: float) -> float:
    d = len(matrix)
    off = sum(matrix[i, j] ** 2 for i in range(d) for j in range(d) if i != j)
    return lambda_od * off + lambda_d * sum((matrix[i, i] - 1) ** 2 for i in range(d))


def beta_vae(method: VAE, mean: Array, logvar: Array, z: Array) -> float:
    return RECONSTRUCTION + 6 * kl(mean, logvar)


def annealed_vae(method: VAE, mean: Array, logvar: Array, z: Array) -> float:
    return RECONSTRUCTION + 1000 * abs(kl(mean, logvar) - 25 * 30_000 / 100_000)


def factor_vae(method: Any, mean: Array, logvar: Array, z: Array) -> float:
    values = z
    layers = [layer for layer in method.discriminator if isinstance(layer, torch.nn.Linear)]
    for layer in layers:
        values = values @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        if layer is not layers[-1]:
            values = np.where(values > 0, values, 0.2 * values)
    return RECONSTRUCTION + kl(mean, logvar) + 10 * float(np.mean(values[:, 0] - values[:, 1]))


def beta_tc_vae(method: VAE, mean: Array, logvar: Array, z: Array) -> float:
    q = Posterior(*(torch.from_numpy(values) for values in (mean, logvar, z)))
    weights = weights_by_definition(len(z), method.config.estimator, len(DATA))  # type: ignore[attr-defined]
    return RECONSTRUCTION + kl(mean, logvar) + 3 * total_correlation_by_loops(q, weights)


def dip_vae_i(method: VAE, mean: Array, logvar: Array, z: Array) -> float:
    return RECONSTRUCTION + kl(mean, logvar) + dip(np.cov(mean.T, bias=True), 5, 50)


def dip_vae_ii(method: VAE, mean: Array, logvar: Array, z: Array) -> float:
    matrix = np.cov(mean.T, bias=True) + np.diag(np.exp(logvar).mean(0))
    return RECONSTRUCTION + kl(mean, logvar) + dip(matrix, 5, 5)


LOSSES: list[tuple[str, dict[str, Any], Callable[..., float]]] = [
    ("beta_vae", {"beta": 6.0}, beta_vae),
    ("annealed_vae", {}, annealed_vae),
    ("factor_vae", {"discriminator_layers": 2, "discriminator_width": 7}, factor_vae),
    ("beta_tc_vae", {}, beta_tc_vae),
    ("beta_tc_vae", {"estimator": "mws"}, beta_tc_vae),
    ("beta_tc_vae", {"estimator": "mss"}, beta_tc_vae),
    ("dip_vae_i", {}, dip_vae_i),
    ("dip_vae_ii", {}, dip_vae_ii),
]


@pytest.mark.parametrize(
    ("name", "settings", "formula"), LOSSES, ids=["-".join([name, *settings]) for name, settings, _ in LOSSES]
)
def test_loss_and_gradients_agree_with_the_formula(
    name: str, settings: dict[str, Any], formula: Callable[..., float]
) -> None:
    method = make(name, **settings).double()
    method.steps = 30_000
    start = posterior(5, 3)
    mean, logvar = start.mean.clone().requires_grad_(), start.logvar.clone().requires_grad_()
    noise = (start.sample - start.mean) / torch.exp(start.logvar / 2)
    q = Posterior(mean, logvar, mean + torch.exp(logvar / 2) * noise)
    loss = method.loss(q, torch.tensor(RECONSTRUCTION, dtype=torch.float64))["loss"]

    def at(m: Array, v: Array) -> float:
        return formula(method, m, v, m + np.exp(v / 2) * noise.numpy())

    assert loss.item() == pytest.approx(at(start.mean.numpy(), start.logvar.numpy()), rel=1e-6)
    gradients = torch.autograd.grad(loss, [mean, logvar])
    for which, gradient in enumerate(gradients):
        for place in np.ndindex(5, 3):
            sides = []
            for step in (1e-5, -1e-5):
                point = [start.mean.numpy().copy(), start.logvar.numpy().copy()]
                point[which][place] += step
                sides.append(at(*point))
            slope = (sides[0] - sides[1]) / 2e-5
            assert float(gradient[place]) == pytest.approx(slope, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_likelihood_agrees_with_torch_distributions(likelihood: str) -> None:
    torch.manual_seed(0)
    outputs, x = torch.randn(4, 3, 8, 8), torch.rand(4, 3, 8, 8)
    if likelihood == "bernoulli":
        expected = -Bernoulli(logits=outputs, validate_args=False).log_prob(x).sum((1, 2, 3)).mean()
        assert torch.equal(expected_images(outputs, likelihood), Bernoulli(logits=outputs).mean)
    else:
        constant = 3 * 8 * 8 * np.log(2 * np.pi) / 2
        expected = -Normal(outputs, 1.0).log_prob(x).sum((1, 2, 3)).mean() - constant
        assert torch.equal(expected_images(outputs, likelihood), outputs.clamp(0, 1))
    assert float(negative_log_likelihood(outputs, x, likelihood)) == pytest.approx(float(expected), rel=1e-5)
    four_times = negative_log_likelihood(outputs, x, likelihood, pixel_weight=4.0)
    assert float(four_times) == pytest.approx(4 * float(expected), rel=1e-5)


@pytest.mark.parametrize("name", ["beta_vae", "autoencoder", "factor_vae", "ada_gvae", "intervention"])
def test_every_pixel_counts_as_often_as_asked(name: str) -> None:
    batch = {"images": images(), "partners": images()}
    terms = []
    for weight in (1.0, 4.0):
        method = make(name, pixel_weight=weight)
        torch.manual_seed(5)
        terms.append(method.update({need: batch[need] for need in method.needs if need in batch}))
    assert float(terms[1]["reconstruction"]) == pytest.approx(4 * float(terms[0]["reconstruction"]), rel=1e-5)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_step_descends_the_elbo_of_torch_distributions(likelihood: str) -> None:
    method = make("beta_vae", beta=3.0, likelihood=likelihood)
    x = images().float() / 255
    torch.manual_seed(5)
    mean, logvar = method.encoder(x).chunk(2, 1)
    q = Normal(mean, torch.exp(logvar / 2))
    z = mean + q.scale * torch.randn_like(mean)
    outputs = method.decoder(z)
    p = Bernoulli(logits=outputs, validate_args=False) if likelihood == "bernoulli" else Normal(outputs, 1.0)
    constant = 0 if likelihood == "bernoulli" else 16 * 16 * np.log(2 * np.pi) / 2
    reconstruction = -p.log_prob(x).sum((1, 2, 3)).mean() - constant
    divergence = kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
    parameters = list(method.parameters())
    gradients = torch.autograd.grad(reconstruction + 3 * divergence, parameters)

    torch.manual_seed(5)
    terms = method.update({"images": images()})
    assert float(terms["reconstruction"]) == pytest.approx(reconstruction.item(), rel=1e-4)
    assert float(terms["kl"]) == pytest.approx(divergence.item(), rel=1e-4)
    assert float(terms["loss"]) == pytest.approx((reconstruction + 3 * divergence).item(), rel=1e-4)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert torch.allclose(parameter.grad, gradient, rtol=1e-3, atol=1e-3 * float(gradient.abs().max()))


def test_autoencoder_descends_its_reconstruction() -> None:
    method = make("autoencoder")
    x = images().float() / 255
    expected = -Bernoulli(logits=method.decoder(method.encoder(x)), validate_args=False).log_prob(x)
    terms = method.update({"images": images()})
    assert float(terms["loss"]) == pytest.approx(expected.sum((1, 2, 3)).mean().item(), rel=1e-4)
    assert torch.equal(terms["loss"], terms["reconstruction"])


def test_capacity_grows_linearly_to_its_maximum_and_stays() -> None:
    method: AnnealedVAE = make("annealed_vae", c_max=20.0, threshold=50)
    found = []
    for steps in [0, 1, 25, 49, 50, 51, 10_000]:
        method.steps = steps
        found.append(float(method.loss(posterior(), torch.tensor(0.0))["capacity"]))
    assert found == pytest.approx([0, 0.4, 10, 19.6, 20, 20, 20])
    method.hp["c_max"] = 40.0
    assert float(method.loss(posterior(), torch.tensor(0.0))["capacity"]) == 40


def test_trap_capacity_is_compared_with_the_mean_kl_not_with_each_images_kl() -> None:
    method: AnnealedVAE = make("annealed_vae", gamma=1.0, c_max=0.0)
    q = posterior()
    each = kl_divergence(Normal(q.mean, torch.exp(q.logvar / 2)), Normal(0.0, 1.0)).sum(1)
    method.hp["c_max"] = float(each.mean())
    method.steps = 100_000
    wrong = float((each - each.mean()).abs().mean())
    assert float(method.loss(q, torch.tensor(0.0))["loss"]) == pytest.approx(0, abs=1e-6)
    assert wrong > 0.1


def test_trap_the_kl_of_beta_tc_vae_does_not_get_beta_as_well() -> None:
    method: BetaTCVAE = make("beta_tc_vae", beta=8.0)
    terms = method.loss(posterior(), torch.tensor(RECONSTRUCTION))
    loss, divergence, tc = (float(terms[name]) for name in ["loss", "kl", "total_correlation"])
    assert loss == pytest.approx(RECONSTRUCTION + divergence + 7 * tc)
    assert abs(loss - (RECONSTRUCTION + 8 * divergence + 7 * tc)) > 1
    assert abs(loss - (RECONSTRUCTION + divergence + 8 * tc)) > 1
    method.hp["beta"] = 1.0
    assert float(method.loss(posterior(), torch.tensor(RECONSTRUCTION))["loss"]) == pytest.approx(
        RECONSTRUCTION + divergence
    )


def test_trap_dip_vae_ii_puts_each_latents_mean_variance_on_the_diagonal() -> None:
    q = posterior(6, 3)
    variances = q.logvar.exp()
    expected = np.cov(q.mean.numpy().T, bias=True) + np.diag(variances.numpy().mean(0))
    assert np.allclose(code_covariance(q).numpy(), expected)
    wrong = covariance(q.mean) + torch.diag(variances).mean()  # one number that lands on the whole matrix
    assert np.abs(wrong.numpy() - expected).max() > 0.1
    # The mixture's own covariance, from many samples of q(z).
    torch.manual_seed(0)
    z = Posterior.draw(q.mean.repeat(40_000, 1), q.logvar.repeat(40_000, 1)).sample
    assert np.abs(np.cov(z.numpy().T) - expected).max() < 0.05


def test_trap_dip_vae_uses_the_biased_covariance_and_both_triangles() -> None:
    method = make("dip_vae_i")
    q = posterior(4, 3)
    terms = method.loss(q, torch.tensor(0.0))
    biased, unbiased = np.cov(q.mean.numpy().T, bias=True), np.cov(q.mean.numpy().T)
    assert float(terms["off_diagonal"]) == pytest.approx(dip(biased, 1, 0))
    assert float(terms["diagonal"]) == pytest.approx(dip(biased, 0, 1))
    one_triangle = float(np.sum(np.tril(biased, -1) ** 2))
    for wrong in [dip(unbiased, 1, 0), one_triangle]:
        assert abs(wrong - float(terms["off_diagonal"])) > 0.05


@pytest.mark.parametrize(("name", "ratio"), [("dip_vae_i", 10), ("dip_vae_ii", 1)])
def test_lambda_d_follows_lambda_od(name: str, ratio: float) -> None:
    method = make(name, lambda_od=2.0)
    method.hp["lambda_od"] = 20.0
    terms = {key: float(value) for key, value in method.loss(posterior(), torch.tensor(0.0)).items()}
    expected = terms["kl"] + 20 * terms["off_diagonal"] + 20 * ratio * terms["diagonal"]
    assert terms["loss"] == pytest.approx(expected)


def small_factor_vae(kind: type[FactorVAE] = FactorVAE) -> FactorVAE:
    torch.manual_seed(0)
    settings = {**SMALL, "discriminator_width": 32, "discriminator_layers": 2}
    return kind(kind.config_class.make(settings), make("beta_vae").spec)  # type: ignore[arg-type]


class LeakyFactorVAE(FactorVAE):
    """The trap: the codes of the discriminator's loss are not detached."""

    def discriminator_loss(self, z: Tensor) -> Tensor:
        logits = self._discriminate(torch.cat([z, permute_latents(z)]))
        return torch.nn.functional.cross_entropy(logits, torch.arange(2).repeat_interleave(len(z)))


def leaks(method: FactorVAE) -> bool:
    """Whether the encoder gets a gradient from the discriminator's loss."""
    q, _ = method.autoencode(images())
    method.discriminator_loss(q.sample).backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in method.discriminator.parameters())
    return any(parameter.grad is not None for parameter in method.encoder.parameters())


def test_trap_the_discriminators_loss_does_not_reach_the_encoder() -> None:
    assert not leaks(small_factor_vae())
    assert leaks(small_factor_vae(LeakyFactorVAE))


def test_the_vaes_loss_reaches_the_encoder_through_the_discriminator_and_leaves_it_alone() -> None:
    method = small_factor_vae()
    q, _ = method.autoencode(images())
    method.density_ratio(q.sample).backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is None for parameter in method.discriminator.parameters())
    assert any(parameter.grad is not None for parameter in method.encoder.parameters())
    assert all(parameter.requires_grad for parameter in method.discriminator.parameters())


def test_each_optimiser_changes_its_own_networks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    method = small_factor_vae()
    changed: dict[str, set[str]] = {}
    descend = FactorVAE.descend

    def watched(self: FactorVAE, name: str, loss: Tensor) -> None:
        before = {key: value.detach().clone() for key, value in self.named_parameters()}
        descend(self, name, loss)
        moved = {key.split(".")[0] for key, value in self.named_parameters() if not torch.equal(value, before[key])}
        changed[name] = moved

    monkeypatch.setattr(FactorVAE, "descend", watched)
    terms = method.update({"images": images()})
    assert changed == {"vae": {"encoder", "decoder"}, "discriminator": {"discriminator"}}
    assert set(terms) == {"loss", "reconstruction", "kl", "total_correlation", "discriminator"}


def test_the_discriminator_learns_to_tell_correlated_codes() -> None:
    method = small_factor_vae()
    torch.manual_seed(0)

    def codes(correlation: float) -> Tensor:
        first, noise = torch.randn(256, 1), torch.randn(256, 3)
        return correlation * first + (1 - correlation**2) ** 0.5 * noise

    assert method.discriminator_loss(codes(0.95)).item() == pytest.approx(np.log(2), abs=0.05)
    method.hp["discriminator_learning_rate"] = 3e-3
    for _ in range(150):
        method.descend("discriminator", method.discriminator_loss(codes(0.95)))
    assert method.discriminator_loss(codes(0.95)).item() < 0.5
    assert method.density_ratio(codes(0.95)).item() > 0.5  # a total correlation above that of
    assert method.density_ratio(codes(0.0)).item() < 0  # independent codes, which look permuted
