from __future__ import annotations

from typing import Any

import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

from tests.examples.squares import squares
from unbraid.data import Correlated, FactorData, Subset, load
from unbraid.methods import Batch, Config, Encoding, Method, Spec, Terms, build
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics.elbo import evidence
from unbraid.training.loop import train
from unbraid.training.representation import WHOLE, Representation, represent


def learner(name: str = "beta_vae", data: FactorData | None = None) -> Method:
    torch.manual_seed(0)
    return build(name, data or squares(), {"network": "small", "latents": 3})


def test_a_small_data_set_is_encoded_whole_and_in_order() -> None:
    data, method = squares(), learner()
    found = represent(method, data)
    assert found.whole
    assert torch.equal(found.rows, torch.arange(36))
    assert torch.equal(found.factors, data.all_factors())
    assert (found.names, found.sizes, found.groups) == (("row", "column"), (6, 6), None)
    with torch.no_grad():
        encoding = method.encoding(data.batch_at(torch.arange(36)))
    assert torch.allclose(found.codes, encoding.codes, atol=1e-6)
    assert found.logvar is not None
    assert encoding.logvar is not None
    assert torch.allclose(found.logvar, encoding.logvar, atol=1e-6)
    assert found.codes.dtype == found.logvar.dtype == torch.float32


def test_parts_do_not_show() -> None:
    data, method = squares(), learner()
    assert torch.allclose(represent(method, data, batch=7).codes, represent(method, data).codes, atol=1e-6)


def test_a_large_data_set_is_sampled() -> None:
    data, method = squares(), learner()
    found = represent(method, data, 5, samples=20)
    assert not found.whole
    assert found.codes.shape == (20, 3)
    assert len(found.rows.unique()) == 20
    assert torch.equal(found.factors, data.factors_at(found.rows))
    whole = represent(method, data).codes
    assert torch.allclose(found.codes, whole[found.rows], atol=1e-6)
    assert WHOLE == 50_000


def test_the_same_rng_gives_the_same_sample() -> None:
    data, method = squares(), learner()
    first, again, other = (represent(method, data, rng, samples=20) for rng in (5, 5, 6))
    assert torch.equal(first.rows, again.rows)
    assert torch.equal(first.codes, again.codes)
    assert not torch.equal(first.rows, other.rows)


def test_images_that_vary_are_drawn_from_the_rng() -> None:
    data = load("noisy_dsprites", resolution=16)
    some = Subset(data, range(40))
    method = learner(data=data)
    first, again, other = (represent(method, some, rng) for rng in (1, 1, 2))
    assert torch.equal(first.codes, again.codes)
    assert not torch.equal(first.codes, other.codes)


def test_weighted_rows_are_drawn_by_weight_even_where_there_are_few() -> None:
    data = Correlated(squares(), [("row", "column")], strength=0.1)
    found = represent(learner(), data, samples=2000)
    assert not found.whole
    assert len(found.codes) == 2000
    assert float(torch.corrcoef(found.factors.T.double())[0, 1]) > 0.9


def test_only_gaussian_encoders_have_a_logvar() -> None:
    assert represent(learner("factor_vae"), squares()).logvar is not None
    assert represent(learner("autoencoder"), squares()).logvar is None


class Spread(Method):
    """A Gaussian encoder that is not a VAE: where the ink is, and how far it spreads. It learns nothing."""

    gaussian = True

    def __init__(self) -> None:
        super().__init__(Config(), Spec.of(squares()))
        self.unused = nn.Parameter(torch.zeros(()))

    def update(self, batch: Batch) -> Terms:
        return {"loss": torch.zeros(())}

    def encoding(self, batch: Batch) -> Encoding:
        ink = self.pixels(batch["images"]).mean(1)
        ink = ink / ink.sum((1, 2), keepdim=True)
        places = torch.linspace(-1, 1, ink.shape[1])
        marginals = torch.stack([ink.sum(2), ink.sum(1)], 1)  # (n, axis, place)
        mean = marginals @ places
        variance = (marginals * (places - mean[..., None]).square()).sum(2)
        return Encoding(mean, variance.log(), projection=mean.flip(1))


def test_any_gaussian_encoder_keeps_its_log_variance_and_any_projection_its_codes() -> None:
    data, method = squares(), Spread()
    found = represent(method, data, batch=10)
    encoding = method.encoding(data.batch_at(range(36)))
    assert encoding.logvar is not None
    assert found.logvar is not None
    assert torch.allclose(found.logvar, encoding.logvar)
    assert found.projection is not None
    assert torch.allclose(found.projection, found.codes.flip(1))
    scores = evidence(method, data, found)
    expected = kl_per_latent(encoding.codes, encoding.logvar).sum(1).mean()
    assert scores["kl"] == pytest.approx(float(expected), rel=1e-5)
    assert "elbo" not in scores  # it has no likelihood of images


def test_features_of_several_columns_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    method = learner("autoencoder")
    monkeypatch.setattr(type(method), "code_groups", [[0, 1], [2]])
    assert represent(method, squares()).groups == [[0, 1], [2]]


def test_codes_can_be_used_in_training() -> None:
    codes = represent(learner(), squares()).codes
    weight = torch.ones(3, requires_grad=True)
    (codes @ weight).sum().backward()
    assert weight.grad is not None


def correlations(found: Representation, *names: str) -> Any:
    """|Spearman| of each code with each of these factors."""
    columns = found.factors[:, [found.names.index(name) for name in names]]
    table = spearmanr(found.codes.numpy(), columns.numpy()).statistic
    return abs(table[: found.codes.shape[1], found.codes.shape[1] :])


def test_a_beta_vae_finds_the_position_of_a_sprite() -> None:
    """Squares at 32 by 20 places, 550 steps: the codes of seeds 0 to 3 reach 0.97 or more with both factors."""
    sprites = load("dsprites", resolution=16)
    shape, scale, orientation, _, y = sprites.all_factors().T
    keep = (shape == 0) & (scale == 5) & (orientation == 0) & (y >= 6) & (y < 26)
    data = Subset(sprites, keep.nonzero().flatten())
    assert len(data) == 32 * 20
    torch.manual_seed(0)
    method = build("beta_vae", data, {"network": "small", "latents": 5, "learning_rate": 2e-3, "beta": 2.0})
    *_, last = train(method, data, steps=550, seed=0, every=50)
    table = correlations(represent(method, data), "x", "y")
    assert table.max(0).min() > 0.9
    assert table.argmax(0)[0] != table.argmax(0)[1]
    assert last.terms["reconstruction"] < 20


@pytest.mark.parametrize("batch", [1, 36])
def test_a_learner_is_left_ready_to_train(batch: int) -> None:
    data, method = squares(), learner()
    represent(method, data, batch=batch)
    for report in train(method, data, steps=2, seed=0):
        assert report.step == 2
    assert method.training
