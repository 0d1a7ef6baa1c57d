"""The losses of intervention against closed forms, slow loops and finite differences."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.methods import build
from unbraid.methods.intervention import Intervention
from unbraid.methods.intervention_losses import adversarial, intervened, normalised
from unbraid.methods.translation import EDGE, LEAST, Pairs, Weights, cross_entropy, difficulty, first_weights

DATA = squares()
SMALL = {"network": "small", "latents": 4, "batch_size": 8, "translation_width": 8}


def make(**settings: Any) -> Intervention:
    torch.manual_seed(0)
    method = build("intervention", DATA, {**SMALL, **settings})
    assert isinstance(method, Intervention)
    return method


def pixels(method: Intervention, n: int = 8) -> Tensor:
    return method.pixels(DATA.sample(n, 0)[0])


# Interventions


@pytest.mark.parametrize("dimensions", [1, 2, 3, 6])
def test_an_intervention_replaces_one_feature_of_each_code(dimensions: int) -> None:
    torch.manual_seed(0)
    codes, others = torch.randn(2, 10, 6)
    features = torch.randint(6 // dimensions, (10,))
    found = intervened(codes, others, features, dimensions)
    for row in range(10):
        for column in range(6):
            source = others if column // dimensions == features[row] else codes
            assert found[row, column] == source[row, column]


class ReadsFactors(nn.Module):
    """Images of `squares` -> row and column as two codes; with `mixed` the second is column + 2·row."""

    def __init__(self, mixed: bool) -> None:
        super().__init__()
        self.mixed = mixed

    def forward(self, images: Tensor) -> Tensor:
        bright = images[:, 0] > 0.5
        rows, columns = (bright.any(axis).float().argmax(1) / 2 for axis in (2, 1))
        return torch.stack([rows, columns + 2 * rows if self.mixed else columns], 1)


class DrawsFactors(nn.Module):
    """The way back: the nearest square that exists, as logits so large that a pixel's cross-entropy is 0."""

    def __init__(self, mixed: bool) -> None:
        super().__init__()
        self.mixed = mixed

    def forward(self, codes: Tensor) -> Tensor:
        row, second = codes.round().long().T
        column = second - 2 * row if self.mixed else second
        index = DATA.index_of(torch.stack([row, column], 1).clamp(0, 5))
        return 400.0 * (DATA.images_at(index).float() / 255 - 0.5)


def restored_by(mixed: bool) -> tuple[float, float]:
    """`reconstruction` and `intervention` of an autoencoder with these codes."""
    method = make(latents=2, lambda_2=0.0, lambda_3=0.0)
    method.encoder, method.decoder = ReadsFactors(mixed), DrawsFactors(mixed)
    terms = method.loss(method.pixels(DATA.images_at(range(36))))
    return float(terms["reconstruction"]), float(terms["intervention"])


def test_proposition_1_intervention_2_restores_the_image_where_codes_are_the_factors() -> None:
    assert restored_by(mixed=False) == (0.0, 0.0)


def test_it_does_not_where_a_feature_cannot_be_exchanged_alone() -> None:
    reconstruction, intervention = restored_by(mixed=True)
    assert reconstruction == 0.0  # the codes say everything
    assert intervention > 100.0  # but exchanging the row leads out of what exists


# Weights and the adversary


def test_weights_are_exponentials_over_their_mean() -> None:
    torch.manual_seed(0)
    logits = 2 * torch.randn(50, dtype=torch.float64)
    weights = normalised(logits)
    assert torch.allclose(weights, logits.exp() / logits.exp().mean())
    assert float(weights.mean()) == pytest.approx(1)
    assert bool((weights > 0).all())
    assert torch.equal(normalised(torch.zeros(7)), torch.ones(7))
    assert bool(normalised(logits + 1e4).isfinite().all())  # exp alone would be infinite


def test_the_gradient_knows_of_the_normalisation() -> None:
    """A constant added to all logits changes no weight, so gradients sum to 0."""
    logits = torch.linspace(-1, 2, 9, dtype=torch.float64).requires_grad_()
    (normalised(logits) * torch.arange(9)).sum().backward()
    assert logits.grad is not None
    assert float(logits.grad.sum()) == pytest.approx(0, abs=1e-12)
    assert float(logits.grad.abs().sum()) > 1


def test_without_the_weight_network_all_weigh_the_same_and_it_stays_as_it_is() -> None:
    method = make(weighting="equal", lambda_3=0.0)
    before = [parameter.clone() for parameter in method.weight_network.parameters()]
    torch.manual_seed(0)
    method.update(DATA.batch(8, 0))
    assert all(map(torch.equal, before, method.weight_network.parameters()))
    assert torch.equal(method.exchange(DATA.sample(5, 0)[0])[2], torch.ones(5))
    learned = make(lambda_3=0.0)
    assert not torch.equal(learned.exchange(DATA.sample(5, 0)[0])[2], torch.ones(5))


def joint() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """p of two correlated factors of three values, and ṗ of equation 1: for two factors, the product of marginals."""
    a, b = np.indices((3, 3))
    p = np.exp(-((a - b) ** 2) / 2)
    p /= p.sum()
    return p, np.outer(p.sum(1), p.sum(0))


def states(p: np.ndarray[Any, Any], n: int = 20_000) -> Tensor:
    """As many states as a sample of p of this size would have, without its noise."""
    return torch.from_numpy(np.repeat(np.arange(p.size), np.round(n * p.ravel()).astype(int)))


def test_the_adversarial_loss_of_the_best_discriminator_is_a_divergence() -> None:
    p, q = joint()
    real, fake = states(p), states(q)
    for weights in (np.ones(9), (p / q).ravel()):
        reached = q.ravel() * weights
        best = torch.from_numpy(np.log(p.ravel() / reached))  # logit of p / (p + wṗ)
        found = adversarial(best[real], best[fake], torch.from_numpy(weights)[fake])
        middle = (p.ravel() + reached) / 2
        divergence = (p.ravel() * np.log(p.ravel() / middle) + reached * np.log(reached / middle)).sum() / 2
        assert float(found) == pytest.approx(2 * divergence - math.log(4), abs=2e-3)


def test_proposition_2_the_weights_learned_are_the_true_ones() -> None:
    """Discriminator and weights are tables of the nine states; the loss alone must bring ṗ to p."""
    p, q = joint()
    real, fake = states(p, 2000), states(q, 2000)
    verdicts, logits = (torch.zeros(9, dtype=torch.float64, requires_grad=True) for _ in range(2))
    up, down = torch.optim.Adam([verdicts], 0.05, maximize=True), torch.optim.Adam([logits], 0.02)
    for step in range(900):
        if step == 600:
            for optimiser in (up, down):
                optimiser.param_groups[0]["lr"] /= 5
        loss = adversarial(verdicts[real], verdicts[fake], normalised(logits[fake]))
        up.zero_grad()
        down.zero_grad()
        loss.backward()
        up.step()
        down.step()
    found = logits.detach().exp() / logits.detach()[fake].exp().mean()
    assert np.allclose(found.numpy(), (p / q).ravel(), rtol=0.1)
    assert (p / q).max() / (p / q).min() > 3  # they were far from equal


def test_one_gradient_moves_both_sides() -> None:
    """The discriminator's gradient is the loss's with its sign turned, everyone else's the loss's own."""
    method = make()
    with torch.no_grad():
        for parameter in (*method.encoder.parameters(), *method.decoder.parameters()):
            parameter.mul_(3)  # images that differ, so that the weights of the weight network matter
    torch.manual_seed(1)
    named = dict(method.named_parameters())
    slopes = torch.autograd.grad(method.loss(pixels(method))["loss"], list(named.values()))
    torch.manual_seed(1)
    method.update({"images": DATA.sample(8, 0)[0]})
    for (name, parameter), slope in zip(named.items(), slopes, strict=True):
        assert parameter.grad is not None
        sign = -1 if name.startswith("discriminator") else 1
        assert torch.allclose(parameter.grad, sign * slope, atol=1e-6, rtol=1e-4), name
        if not (name.startswith("weight_network") and name.endswith("bias")):  # the last one moves no weight
            assert float(slope.abs().sum()) > 0, name


# Algorithm 1


def tiny(n: int = 3, pixels: int = 4, tasks: int = 1) -> tuple[Tensor, Pairs, Pairs, Weights]:
    """What pairs are made of, training and test pairs made of it, and weights of a translation that is no copy."""
    torch.manual_seed(0)
    made_of = torch.randn(4, tasks, n, pixels, dtype=torch.float64)
    u, v, other_u, other_v = made_of.requires_grad_().sigmoid()
    train, test = Pairs(u, v), Pairs(other_u, other_v)
    weights = first_weights(train, 5)
    return made_of, train, test, replace(weights, output=0.3 * torch.randn_like(weights.output))


def test_the_gradient_goes_through_the_inner_steps() -> None:
    """Against finite differences, in float64, of everything the pairs are made of."""
    made_of, train, test, weights = tiny()
    difficulty(train, test, weights, 3, 0.7).sum().backward()

    def value(moved: Tensor) -> float:
        u, v, other_u, other_v = moved.sigmoid()
        return float(difficulty(Pairs(u, v), Pairs(other_u, other_v), weights, 3, 0.7).sum())

    assert made_of.grad is not None
    with torch.no_grad():
        for place in range(made_of.numel()):
            step = torch.zeros(made_of.numel(), dtype=torch.float64)
            step[place] = 1e-5
            step = step.view_as(made_of)
            slope = (value(made_of + step) - value(made_of - step)) / 2e-5
            assert float(made_of.grad.flatten()[place]) == pytest.approx(slope, rel=1e-5, abs=1e-8)
    assert float(made_of.grad[:2].abs().max()) > 1e-2  # training pairs matter through the steps alone


def test_algorithm_1_by_hand() -> None:
    """Gradient descent written out with its derivatives, for one task."""
    _, train, test, weights = tiny(n=6, pixels=4)
    found = difficulty(train, test, weights, 4, 0.7)[0].item()
    u, v, other_u, other_v = (x.detach().numpy()[0] for x in (train.u, train.v, test.u, test.v))
    hidden, output, bias = (weight.numpy()[0].copy() for weight in (weights.hidden, weights.output, weights.bias))
    mean = u.mean(0)
    spread = math.sqrt(np.mean(((u - mean) ** 2).sum(1)) + LEAST)

    def forward(x: Any) -> tuple[Any, Any, Any]:
        seen = (x - mean) / spread
        units = np.maximum(seen @ hidden, 0) / math.sqrt(5)
        copy = EDGE + (1 - 2 * EDGE) * x
        return seen, units, np.log(copy / (1 - copy)) + units @ output + bias

    for _ in range(4):
        seen, units, logits = forward(u)
        errors = (1 / (1 + np.exp(-logits)) - v) / len(u)
        back = (errors @ output.T) * (units > 0) / math.sqrt(5)
        hidden -= 0.7 / 4 * seen.T @ back
        output -= 0.7 * units.T @ errors
        bias -= 0.7 * errors.sum(0, keepdims=True)
    chance = 1 / (1 + np.exp(-forward(other_u)[2]))
    expected = -(other_v * np.log(chance) + (1 - other_v) * np.log(1 - chance)).sum(1).mean()
    assert found == pytest.approx(expected, rel=1e-10)


def test_algorithm_1_by_autograd() -> None:
    """Value and slopes of descent on the loss itself, which knows no derivative and no inner product."""
    made_of, train, test, weights = tiny(n=6, pixels=7, tasks=2)
    found = difficulty(train, test, weights, 4, 0.7)
    slopes = torch.autograd.grad(found.sum(), made_of, retain_graph=True)[0]
    mean = train.u.mean(1, keepdim=True)
    spread = ((train.u - mean).square().sum(2).mean(1)[:, None, None] + LEAST).sqrt()

    def loss(pairs: Pairs, hidden: Tensor, output: Tensor, bias: Tensor) -> Tensor:
        units = torch.relu((pairs.u - mean) / spread @ hidden) / math.sqrt(5)
        logits = torch.logit(EDGE + (1 - 2 * EDGE) * pairs.u) + units @ output + bias
        return cross_entropy(pairs.v, logits)

    theta = [weight.requires_grad_() for weight in (weights.hidden, weights.output, weights.bias)]
    for _ in range(4):
        downhill = torch.autograd.grad(loss(train, *theta).sum(), theta, create_graph=True)
        theta = [weight - rate * slope for weight, rate, slope in zip(theta, (0.1, 0.7, 0.7), downhill, strict=True)]
    expected = loss(test, *theta)
    assert torch.allclose(found, expected, rtol=1e-12)
    assert torch.allclose(slopes, torch.autograd.grad(expected.sum(), made_of)[0], rtol=1e-9, atol=1e-12)


def test_tasks_do_not_know_of_each_other() -> None:
    _, train, test, weights = tiny(tasks=3)
    together = difficulty(train, test, weights, 3, 0.7)
    for task in range(3):
        one = slice(task, task + 1)
        own = Weights(weights.hidden[one], weights.output[one], weights.bias[one])
        pairs = (Pairs(pair.u[one], pair.v[one]) for pair in (train, test))
        assert torch.allclose(difficulty(*pairs, own, 3, 0.7)[0], together[task])


def test_a_translation_begins_as_a_copy_and_learns() -> None:
    """Random patterns of 4 x 2 pixels that move from one place of a 4 x 8 image to another."""
    torch.manual_seed(0)
    u, v = torch.zeros(2, 1, 64, 4, 8)
    u[0, :, :, 1:3] = v[0, :, :, 5:7] = torch.rand(64, 4, 2).round()
    u, v = u.flatten(2), v.flatten(2)
    train, test = Pairs(u[:, :32], v[:, :32]), Pairs(u[:, 32:], v[:, 32:])
    weights = first_weights(train, 64)

    def after(steps: int, train: Pairs = train, test: Pairs = test) -> float:
        return float(difficulty(train, test, weights, steps, 2.0))

    copy = cross_entropy(test.v, torch.logit(EDGE + (1 - 2 * EDGE) * test.u))
    assert after(0) == pytest.approx(float(copy))
    assert after(0) > 3 * after(5) > 6 * after(100)
    assert after(5, Pairs(train.v, train.v), Pairs(test.v, test.v)) < 1.0  # nothing is to be changed


def test_difficulty_of_the_method_is_that_of_halves_of_its_batch() -> None:
    method = make()
    torch.manual_seed(3)
    images = torch.rand(16, 1, 16, 16)
    torch.manual_seed(4)
    found = method._difficulty(*images.chunk(2))
    u, v = images.flatten(1).chunk(2)
    torch.manual_seed(4)
    train, test = Pairs(u[None, :4], v[None, :4]), Pairs(u[None, 4:], v[None, 4:])
    expected = difficulty(train, test, first_weights(train, 8), 5, 2.0)
    assert torch.allclose(found, expected[0])


def test_translation_codes_differ_in_one_feature_which_is_the_same_for_all() -> None:
    method = make(dimensions=2)
    z = torch.randn(8, 4)
    torch.manual_seed(0)
    u, v = (codes.unflatten(1, (2, 2)) for codes in method._translation_codes(z))
    changed = (u != v).any(2).any(0)
    assert int(changed.sum()) == 1
    own, k = z.unflatten(1, (2, 2)), int(changed.float().argmax())
    for found in (u, v):
        assert torch.equal(found[:, 1 - k], own[:, 1 - k])
        assert len(found[:, k].unique(dim=0)) == 1
        assert bool((found[0, k] == own[:, k]).all(1).any())  # a value that occurs


# The method


def test_terms_are_those_of_equation_3() -> None:
    method = make(lambda_1=0.5, lambda_2=3.0, lambda_3=0.7)
    torch.manual_seed(2)
    terms = method.loss(pixels(method))
    parts = 0.5 * terms["intervention"] + 3 * terms["adversarial"] + 0.7 * terms["difficulty"]
    assert torch.allclose(terms["loss"], terms["reconstruction"] + parts)
    x, z = pixels(method), method.encode(DATA.sample(8, 0)[0])
    expected = F.binary_cross_entropy(method.decode(z), x, reduction="sum") / 8
    assert torch.allclose(terms["reconstruction"], expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["lambda_1", "lambda_2", "lambda_3"])
def test_a_term_of_weight_0_is_not_computed(name: str) -> None:
    term = {"lambda_1": "intervention", "lambda_2": "adversarial", "lambda_3": "difficulty"}[name]
    method = make(**{name: 0.0})
    terms = method.update({"images": DATA.sample(8, 0)[0]})
    assert terms[term] == 0
    assert all(terms[other] != 0 for other in ("intervention", "adversarial", "difficulty") if other != term)
    critics = [*method.discriminator.parameters(), *method.weight_network.parameters()]
    assert all((parameter.grad is None) == (name == "lambda_2") for parameter in critics)


def test_exchanged_images_and_their_weights() -> None:
    method = make(latents=2)
    images = DATA.images_at(range(36))
    method.encoder, method.decoder = ReadsFactors(False), DrawsFactors(False)
    torch.manual_seed(0)
    reconstructed, moved, weights = method.exchange(images)
    assert torch.equal(reconstructed, images.float() / 255)
    before, after = DATA.all_factors(), ReadsFactors(False)(moved).long()
    assert int((before != after).sum(1).max()) == 1
    assert float(weights.mean()) == pytest.approx(1)
    assert torch.allclose(weights, normalised(method.weight_network(moved)[:, 0]))


def test_features_of_several_dimensions_are_groups_of_codes() -> None:
    assert make(dimensions=1).code_groups is None
    assert make(dimensions=2).code_groups == [[0, 1], [2, 3]]
    with pytest.raises(InputError, match="dimensions is 3; expected a divisor of latents, 4"):
        make(dimensions=3)


# What λ₃ does over steps, and what it moves


def test_the_difficulty_comes_in_after_the_warm_up() -> None:
    method = make(warm_up=4, rise=2, lambda_3=0.5)
    weights = []
    for step in range(8):
        method.steps = step
        weights.append(method.hp["lambda_3"] * method.risen)
    assert weights == [0, 0, 0, 0, 0, 0.25, 0.5, 0.5]
    method.steps = 3
    assert float(method.loss(pixels(method))["difficulty"].detach()) == 0
    method.steps = 6
    assert float(method.loss(pixels(method))["difficulty"].detach()) > 0
    assert make().risen == 1
    at_once = make(warm_up=3)
    at_once.steps = 2
    assert at_once.risen == 0
    at_once.steps = 3
    assert at_once.risen == 1


def test_the_excess_is_the_difficulty_less_the_entropy_of_its_target() -> None:
    images = torch.rand(16, 1, 8, 8).requires_grad_()
    losses = {}
    for target in ("written", "excess", "detached"):
        method = make(target=target)
        torch.manual_seed(3)
        losses[target] = method._difficulty(*images.chunk(2))
    v = images.detach().flatten(1)[8:][4:]
    floor = -(v * v.log() + (1 - v) * (1 - v).log()).sum(1).mean()
    assert float((losses["written"] - losses["excess"]).detach()) == pytest.approx(float(floor), rel=1e-4)
    assert torch.allclose(losses["detached"], losses["written"], rtol=1e-5)
    (slope,) = torch.autograd.grad(losses["detached"], images, retain_graph=True)
    assert not bool(slope[8:].any())  # v does not move
    (slope,) = torch.autograd.grad(losses["written"], images)
    assert bool(slope[8:].any())


@pytest.mark.parametrize("target", ["written", "excess", "detached"])
def test_pixels_that_saturate_have_finite_slopes(target: str) -> None:
    """A sigmoid gives exactly 0 and 1, where the slope of v log v is infinite and that of the sigmoid 0."""
    logits = torch.linspace(-200, 200, 16 * 64).view(16, 1, 8, 8).requires_grad_()
    images = torch.sigmoid(logits)
    assert bool((images == 0).any())
    assert bool((images == 1).any())
    loss = make(target=target)._difficulty(*images.chunk(2))
    (slope,) = torch.autograd.grad(loss, logits)
    assert bool(loss.isfinite())
    assert bool(slope.isfinite().all())


@pytest.mark.parametrize(("target", "expected"), [("written", 0.82), ("excess", 0.6)])
def test_as_written_the_difficulty_sharpens_what_is_drawn(target: str, expected: float) -> None:
    """A pixel that is 1 with p = 0.6, drawn as q by a model whose features change nothing, so that M may copy.

    crossentropy(p, q) + λ₃·crossentropy(q, q) is least where logit q = p/q - (1-p)/(1-q) + …: at 0.82 for λ₃ = 1.
    """
    from unbraid.methods.translation import entropy

    q = torch.linspace(0.3, 0.97, 400, dtype=torch.float64)
    losses = []
    for value in q:
        drawn = value.view(1, 1, 1)
        pairs = Pairs(drawn, drawn)
        hidden = first_weights(pairs, 2)
        hard = difficulty(pairs, pairs, hidden, 0, 1.0)[0].detach()
        hard = hard - entropy(drawn)[0] if target == "excess" else hard
        losses.append(float(-(0.6 * value.log() + 0.4 * (1 - value).log()) + hard))
    assert float(q[int(np.argmin(losses))]) == pytest.approx(expected, abs=0.02)
