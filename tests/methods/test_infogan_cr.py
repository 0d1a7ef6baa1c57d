from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.methods import Spec, build
from unbraid.methods.infogan_cr import InfoGANCR
from unbraid.training.loop import train

DATA = squares()


def make(**settings: Any) -> InfoGANCR:
    torch.manual_seed(0)
    method = build("infogan_cr", DATA, {"latents": 4, "noise": 3, "contrastive_from": 0, **settings})
    assert isinstance(method, InfoGANCR)
    return method


def test_pairs_share_one_code_and_all_noise() -> None:
    method = make()
    pairs, shared = method._draw_pairs(200)
    assert pairs.shape == (200, 2, 7)
    same = pairs[:, 0] == pairs[:, 1]
    assert bool(same[:, 4:].all())
    assert bool((same[:, :4].sum(1) == 1).all())
    assert torch.equal(same[:, :4].float().argmax(1), shared)
    assert set(shared.tolist()) == {0, 1, 2, 3}
    assert -1 <= float(pairs.min()) < -0.9
    assert 0.9 < float(pairs.max()) <= 1


def test_the_images_of_a_pair_are_channels_of_one() -> None:
    method = make().eval()
    pairs, _ = method._draw_pairs(3)
    images = method._pair_images(pairs)
    assert images.shape == (3, 2, 16, 16)
    for place in (0, 1):
        assert torch.allclose(images[:, place], method._generate(pairs[:, place])[:, 0], atol=1e-6)


def test_terms_by_their_formulas() -> None:
    method = make(lambda_information=0.3, alpha=0.7).eval()
    inputs, pairs = method._draw(6), method._draw_pairs(6)
    terms = method._generator_terms(inputs, pairs, contrasting=True)
    fake = method._generate(inputs)
    chance = method.d(method.trunk(fake)).sigmoid()[:, 0]
    codes = method.q(method.trunk(fake))
    assert torch.allclose(terms["generator"], -chance.log().mean(), atol=1e-5)
    assert torch.allclose(terms["information"], ((codes - inputs[:, :4]) ** 2).sum(1).mean() / 2, atol=1e-5)
    guesses = method.cr(method._pair_images(pairs[0])).log_softmax(1)
    expected = -torch.stack([guess[label] for guess, label in zip(guesses, pairs[1], strict=True)]).mean()
    assert torch.allclose(terms["contrastive"], expected, atol=1e-5)
    parts = terms["generator"] + 0.3 * terms["information"] + 0.7 * terms["contrastive"]
    assert torch.allclose(terms["loss"], parts)


@pytest.mark.parametrize("side", ["generator", "discriminator", "contrastive"])
def test_each_side_moves_its_own_networks(side: str) -> None:
    rates = {"generator": "learning_rate", "discriminator": "discriminator_learning_rate"}
    method = make()
    for rate in [adam.rate for adam in method._adams.values()]:
        method.hp[rate] = 1e-3 if rate == rates.get(side, "contrastive_learning_rate") else 0.0
    before = {name: value.clone() for name, value in method.named_parameters()}
    method.update(DATA.batch(8, 0))
    moved = {name.split(".")[0] for name, value in method.named_parameters() if not torch.equal(value, before[name])}
    owned = {"generator": {"generator"}, "discriminator": {"trunk", "d", "q"}, "contrastive": {"cr"}}
    assert moved == owned[side]


def test_the_contrast_begins_when_it_should() -> None:
    method = make(contrastive_from=2)
    before = {name: value.clone() for name, value in method.cr.named_parameters()}
    found = []
    for method.steps in range(4):
        found.append(float(method.update(DATA.batch(8, 0))["contrastive"]))
        unmoved = all(torch.equal(value, before[name]) for name, value in method.cr.named_parameters())
        assert unmoved == (method.steps < 2)
    assert found[:2] == [0, 0]
    assert 0 < found[2] < 2 * math.log(4)


def test_the_networks_of_the_authors_code() -> None:
    method = build("infogan_cr", Spec((1, 64, 64), 100))
    weights = [(name, value) for name, value in method.named_parameters() if name.endswith(("original", "weight"))]
    found = {name: tuple(value.shape) for name, value in weights}
    convolutions = [shape for name, shape in found.items() if name.startswith("trunk") and len(shape) == 4]
    assert convolutions == [(32, 1, 4, 4), (32, 32, 4, 4), (64, 32, 4, 4), (64, 64, 4, 4)]
    linear = [shape for name, shape in found.items() if name.startswith(("trunk", "d", "q")) and len(shape) == 2]
    assert linear == [(128, 1024), (1, 128), (128, 128), (5, 128)]
    up = [shape for name, shape in found.items() if name.startswith("generator") and len(shape) > 1]
    assert up == [(128, 10), (1024, 128), (64, 64, 4, 4), (64, 32, 4, 4), (32, 32, 4, 4), (32, 1, 4, 4)]
    assert found["cr.0.0.parametrizations.weight.original"] == (32, 2, 4, 4)
    assert all("original" in name for name in found if name.startswith(("trunk", "d.", "q.")))  # spectrally normalised
    with pytest.raises(InputError, match="infogan_cr cannot take images of 28 x 28"):
        build("infogan_cr", Spec((1, 28, 28), 100))


def test_it_learns_to_draw_and_to_tell_its_codes() -> None:
    method = make(latents=2, noise=1, batch_size=24, lambda_information=1.0, contrastive_from=1000)
    truth = DATA.images_at(range(36)).float().mean(0) / 255
    first, _, last = (report.terms["information"] for report in train(method, DATA, steps=90, seed=0, every=30))
    assert last < 0.85 * first
    with torch.no_grad():
        codes = 2 * torch.rand(64, 3) - 1
        drawn, before = (one.eval()._generate(codes).mean(0) for one in (method, make(latents=2, noise=1)))
    assert (drawn - truth).abs().mean() < 0.4 * (before - truth).abs().mean()


def test_its_encoder_is_q() -> None:
    method = make().eval()
    images = DATA.images_at([3, 4])
    assert torch.allclose(method.encode(images), method.q(method.trunk(method.pixels(images))))
    assert method.decode(torch.zeros(2, 4)).shape == (2, 1, 16, 16)
