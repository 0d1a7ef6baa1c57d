from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from tests.examples.squares import squares
from unbraid.data import load
from unbraid.methods import Batch, Encoding, build
from unbraid.metrics import total_correlation
from unbraid.metrics.elbo import evidence
from unbraid.training.representation import represent


def test_the_evidence_of_a_vae_against_torchs_own_divergence() -> None:
    torch.manual_seed(0)
    data = squares()
    method = build("beta_vae", data, {"network": "small", "latents": 3})
    found = represent(method, data)
    scores = evidence(method, data, found)
    assert found.logvar is not None
    kl = kl_divergence(Normal(found.codes, torch.exp(found.logvar / 2)), Normal(0, 1)).sum(1).mean()
    assert scores["kl"] == pytest.approx(float(kl), rel=1e-5)
    assert scores["elbo"] == -scores["reconstruction"] - scores["kl"]

    noise = np.random.default_rng(0).standard_normal((2000, *found.codes.shape))
    errors = []
    with torch.no_grad():
        for draw in noise[:200]:
            codes = found.codes + torch.exp(found.logvar / 2) * torch.from_numpy(draw).float()
            images = data.images_at(found.rows).float() / 255
            errors.append(float(F.binary_cross_entropy(method.decode(codes), images, reduction="sum")) / len(images))
    assert scores["reconstruction"] == pytest.approx(np.mean(errors), abs=5 * np.std(errors) + 1e-3)


def test_where_images_are_drawn_anew_a_reconstruction_is_of_the_image_that_was_encoded() -> None:
    """Colours are drawn with every image: a decoder that gives back the colour of what was encoded is right."""
    data = load("color_dsprites", 16)
    method = build("beta_vae", data, {"network": "small", "latents": 3})

    def encoding(batch: Batch) -> Encoding:
        colour = batch["images"].flatten(2).amax(2).float() / 255
        return Encoding(colour, torch.full((len(colour), 3), -20.0))

    def reconstruction(images: Tensor, codes: Tensor) -> Tensor:
        return (codes - encoding({"images": images}).codes).abs().sum(1).mean()

    method.encoding, method.reconstruction = encoding, reconstruction  # type: ignore[method-assign]
    found = evidence(method, data, represent(method, data, samples=300))
    assert found["reconstruction"] < 0.01


def test_sampled_codes_are_less_correlated_than_their_means() -> None:
    torch.manual_seed(0)
    data = squares()
    method = build("beta_vae", data, {"network": "small", "latents": 2})
    found = represent(method, data)
    line = torch.linspace(-1, 1, len(found.rows))[:, None]
    noisy = evidence(
        method, data, type(found)(line.repeat(1, 2), found.factors, found.rows, found.names, found.sizes, None,
                                  torch.zeros(len(line), 2), True)
    )  # fmt: skip
    variance = float(line.var())
    assert noisy["total_correlation_mean"] > 3
    expected = -0.5 * np.log(1 - (variance / (variance + 1)) ** 2)
    assert noisy["total_correlation_sampled"] == pytest.approx(expected, abs=0.15)
    assert noisy["active_latents"] == 2


def test_the_total_correlations_are_those_of_the_metric_with_the_same_epsilon() -> None:
    torch.manual_seed(0)
    data = squares()
    method = build("beta_vae", data, {"network": "small", "latents": 3})
    found = represent(method, data)
    scores = {epsilon: evidence(method, data, found, epsilon=epsilon) for epsilon in (0.0, 1e-2)}
    for epsilon, table in scores.items():
        expected = total_correlation(found.codes, epsilon=epsilon)["total_correlation"]
        assert table["total_correlation_mean"] == pytest.approx(expected)
    assert evidence(method, data, found) == scores[0.0] != scores[1e-2]


def test_encoders_without_a_posterior_have_none() -> None:
    data = squares()
    method = build("autoencoder", data, {"network": "small", "latents": 3})
    assert evidence(method, data, represent(method, data)) == {}
