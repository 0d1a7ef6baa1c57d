"""Contrastive's losses against slow formulas written from the paper, and the learner around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.examples.benches import load_bench
from tests.examples.squares import paired, squares
from unbraid.data import FactorData, PairData
from unbraid.errors import InputError
from unbraid.methods import Spec, build
from unbraid.methods.contrastive import Contrastive
from unbraid.methods.contrastive_losses import (
    OVER,
    hessian,
    info_max,
    info_min,
    ortho,
    p_ortho,
    positives,
    sub_info_max,
)
from unbraid.metrics import probes
from unbraid.training.loop import train
from unbraid.training.representation import represent

collapse = load_bench("collapse")
TAU = 0.3
TINY: dict[str, Any] = {"network": "resnet_tiny", "latents": 8, "batch_size": 12, "learning_rate": 2e-3}
PLAIN: dict[str, Any] = {"crop": 1.0, "flip": 0.0, "colour": 0.0, "grey": 0.0}


def sub_embeddings(pairs: int = 5, parts: int = 2, width: int = 4, seed: int = 0) -> Tensor:
    """(2 pairs, parts, width), each part of length 1, in double precision."""
    rng = torch.Generator().manual_seed(seed)
    z = F.normalize(torch.randn(2 * pairs, parts, width, generator=rng, dtype=torch.float64), dim=2)
    return z.requires_grad_()


def assert_same(fast: Callable[[Tensor], Tensor], slow: Callable[[Tensor], Tensor], z: Tensor) -> None:
    """The same value and the same gradient."""
    ours, theirs = fast(z), slow(z)
    assert ours.shape == ()
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    (mine,), (yours,) = torch.autograd.grad(ours, z), torch.autograd.grad(theirs, z)
    assert float(yours.abs().max()) > 1e-3
    assert torch.allclose(mine, yours, atol=1e-5)


# The paper's formulas, with its sums


def slow_info_max(z: Tensor, positives_of: Callable[[int], list[int]]) -> Tensor:
    """(1), Σ_{i∈I}, with the mean over positives j where there are several; z is (m, d)."""
    total = z.new_zeros(())
    views = range(len(z))
    for i in views:
        denominator = sum(torch.exp(z[i] @ z[a] / TAU) for a in views if a != i)
        found = positives_of(i)
        for j in found:
            total = total - torch.log(torch.exp(z[i] @ z[j] / TAU) / denominator) / len(found)
    return total


def other_view(m: int) -> Callable[[int], list[int]]:
    return lambda i: [(i + m // 2) % m]


def same_label(labels: list[int]) -> Callable[[int], list[int]]:
    """By the labels of pairs."""
    both = labels + labels
    return lambda i: [j for j in range(len(both)) if j != i and both[j] == both[i]]


def slow_info_min(z: Tensor) -> Tensor:
    """(4) within each view: the positive is z_ik', the negatives are z_ak of the view's other samples."""
    total, m = z.new_zeros(()), len(z)
    for k in range(z.shape[1]):
        for other in range(z.shape[1]):
            if k == other:
                continue
            for view in (range(m // 2), range(m // 2, m)):
                for i in view:
                    positive = torch.exp(z[i, k] @ z[i, other] / TAU)
                    negatives = [torch.exp(z[i, k] @ z[a, k] / TAU) for a in view if a != i]
                    total = total + torch.log(positive / (positive + sum(negatives)))
    return total


def slow_ortho(z: Tensor, permutation: list[int] | None = None, over: str = "pair") -> Tensor:
    """(5), and with a permutation (6); j is i and the other view of its pair, or any view."""
    total, m = z.new_zeros(()), len(z)
    for k in range(z.shape[1]):
        for other in range(z.shape[1]):
            if k == other:
                continue
            for i in range(m):
                for j in [i, (i + m // 2) % m] if over == "pair" else range(m):
                    left = z[i, k] if permutation is None else z[i, k][permutation]
                    total = total + (left @ z[j, other]).abs() / (z[i, k].norm() * z[j, other].norm())
    return total


def slow_hessian(z: Tensor, parts: int, create_graph: bool = False) -> Tensor:
    """(7) and (8): ∂L/∂z_i by torch.autograd.functional, element by element; z is (m, d)."""

    def loss(table: Tensor) -> Tensor:
        return slow_info_max(table, other_view(len(z)))

    gradient = torch.autograd.functional.jacobian(loss, z, create_graph=create_graph)
    width = z.shape[1] // parts
    squares = []
    for k in range(parts):
        for other in range(k + 1, parts):
            for i in range(k * width, (k + 1) * width):
                for j in range(other * width, (other + 1) * width):
                    squares.append(sum(gradient[n, i] * gradient[n, j] for n in range(len(z))) ** 2)
    return torch.stack(squares).sum().sqrt()


def pairs_of(z: Tensor) -> Tensor:
    return positives(torch.arange(len(z) // 2)[:, None])


# Losses


def test_info_max_is_equation_1() -> None:
    z = sub_embeddings(parts=1)
    assert_same(
        lambda z: info_max(z[:, 0], pairs_of(z)[0], TAU),
        lambda z: slow_info_max(z[:, 0], other_view(len(z))) / len(z),
        z,
    )


def test_info_max_with_labels_is_the_mean_over_positives() -> None:
    labels = [0, 1, 0, 2, 1]
    assert_same(
        lambda z: info_max(z[:, 0], positives(torch.tensor(labels)[:, None])[0], TAU),
        lambda z: slow_info_max(z[:, 0], same_label(labels)) / len(z),
        sub_embeddings(parts=1),
    )


@pytest.mark.parametrize("parts", [2, 3])
def test_sub_info_max_is_equation_2(parts: int) -> None:
    assert_same(
        lambda z: sub_info_max(z, pairs_of(z), TAU),
        lambda z: sum(slow_info_max(z[:, k], other_view(len(z))) for k in range(parts)) / len(z),  # type: ignore[arg-type]
        sub_embeddings(parts=parts),
    )


def test_disjoint_labels_give_each_part_positives_of_its_own() -> None:
    labels = [[0, 1, 0, 2, 1], [1, 1, 0, 0, 2]]
    assert_same(
        lambda z: sub_info_max(z, positives(torch.tensor(labels).T), TAU),
        lambda z: sum(slow_info_max(z[:, k], same_label(labels[k])) for k in range(2)) / len(z),  # type: ignore[arg-type]
        sub_embeddings(),
    )


@pytest.mark.parametrize("parts", [2, 3])
def test_info_min_is_equation_4(parts: int) -> None:
    assert_same(lambda z: info_min(z, TAU), lambda z: slow_info_min(z) / len(z), sub_embeddings(parts=parts))


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("parts", [2, 3])
def test_ortho_is_equation_5(parts: int, over: str) -> None:
    z = sub_embeddings(parts=parts)
    assert_same(lambda z: ortho(z, over=over), lambda z: slow_ortho(z, over=over) / len(z), z)


@pytest.mark.parametrize("over", OVER)
def test_p_ortho_is_equation_6_with_a_new_permutation_each_time(over: str) -> None:
    order = [2, 0, 3, 1]
    z = sub_embeddings()
    assert_same(lambda z: ortho(z, torch.tensor(order), over), lambda z: slow_ortho(z, order, over) / len(z), z)
    same = float(ortho(z, over=over).detach())
    assert float(ortho(z, torch.tensor(order), over).detach()) != pytest.approx(same)
    torch.manual_seed(0)
    drawn = {round(float(p_ortho(z, over).detach()), 6) for _ in range(40)}
    assert len(drawn) > 10
    torch.manual_seed(0)
    assert round(float(p_ortho(z, over).detach()), 6) in drawn


@pytest.mark.parametrize("over", OVER)
def test_ortho_takes_parts_of_any_length(over: str) -> None:
    z = sub_embeddings().detach()
    assert float(ortho(3 * z, over=over)) == pytest.approx(float(ortho(z, over=over)))


def test_what_j_runs_over_is_named() -> None:
    with pytest.raises(InputError, match="over is 'pairs'; did you mean 'pair'"):
        ortho(sub_embeddings(), over="pairs")


def test_where_equation_6_vanishes_for_every_permutation() -> None:
    """One half has equal elements, the elements of the other add up to 0. Which half it is may change from pair to pair
    only where j stays within the pair: over all views, one half is the same for all of them."""
    flat = torch.ones(4, dtype=torch.float64)
    free = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    free = free - free.mean(1, keepdim=True)
    one_half = torch.stack([flat.expand(6, 4), free], 1)
    taking_turns = one_half.clone()
    taking_turns[[1, 4]] = one_half[[1, 4]].flip(1)  # both views of the second pair
    for _ in range(5):
        assert float(p_ortho(one_half, "all")) == pytest.approx(0, abs=1e-12)
        assert float(p_ortho(taking_turns, "pair")) == pytest.approx(0, abs=1e-12)
    assert float(p_ortho(taking_turns, "all")) > 1


@pytest.mark.parametrize(("over", "low", "high"), [("pair", 0.9, 1.0), ("all", 0.0, 0.1)])
def test_over_all_views_one_half_of_free_embeddings_collapses(over: str, low: float, high: float) -> None:
    """(3) with (6) at λ = 0.1, of embeddings that can be anything: how far the poorer half is spread, from 0 to 1."""
    spread = collapse.trained(over, pairs=64, steps=200).spread
    assert low < min(spread) < high
    assert max(spread) > 0.7  # the other half keeps its pairs apart either way


@pytest.mark.parametrize(("parts", "width"), [(2, 6), (3, 6)])
def test_hessian_is_equations_7_and_8(parts: int, width: int) -> None:
    def ours(z: Tensor) -> Tensor:
        table = z[:, 0]
        return hessian(info_max(table, pairs_of(z)[0], TAU), table, parts)

    z = sub_embeddings(3, 1, width)
    assert_same(ours, lambda z: slow_hessian(z[:, 0], parts, create_graph=True) / len(z), z)


def test_the_gradient_behind_the_hessian_is_that_of_autograd_functional() -> None:
    z = sub_embeddings(3, 1, 4)
    table = z[:, 0].detach().requires_grad_()
    loss = info_max(table, pairs_of(z)[0], TAU)
    (gradient,) = torch.autograd.grad(len(z) * loss, table)
    theirs = torch.autograd.functional.jacobian(lambda t: slow_info_max(t, other_view(len(z))), table)
    assert torch.allclose(gradient, theirs, atol=1e-8)


def test_hessian_is_zero_where_no_direction_lowers_the_loss() -> None:
    """All views alike; its own gradient stays finite there."""
    z = torch.ones(6, 4, dtype=torch.float64).div(2).requires_grad_()
    found = hessian(info_max(z, positives(torch.arange(3)[:, None])[0], TAU), z, 2)
    assert float(found.detach()) == pytest.approx(0, abs=1e-12)
    found.backward()  # type: ignore[no-untyped-call]
    assert z.grad is not None
    assert bool(z.grad.isfinite().all())


def test_views_that_cannot_be_told_apart_cost_the_logarithm_of_their_number() -> None:
    z = torch.ones(10, 2, 4) / 2
    assert float(info_max(z[:, 0], pairs_of(z)[0], TAU)) == pytest.approx(math.log(9), rel=1e-5)
    assert float(sub_info_max(z, pairs_of(z), TAU)) == pytest.approx(2 * math.log(9), rel=1e-5)
    assert float(info_min(z, TAU)) == pytest.approx(-2 * math.log(5), rel=1e-5)
    assert float(ortho(z)) == pytest.approx(2 * 2, rel=1e-5)  # both views of a pair, twice
    assert float(ortho(z, over="all")) == pytest.approx(2 * 10, rel=1e-5)


def test_positives_are_no_view_itself_and_always_the_other_of_the_pair() -> None:
    found = positives(torch.tensor([[0, 1], [0, 0], [1, 1]]))
    assert found.shape == (2, 6, 6)
    assert not found.diagonal(dim1=1, dim2=2).any()
    for i in range(6):
        assert found[:, i, (i + 3) % 6].all()
    assert found[0, 0].tolist() == [False, True, False, True, True, False]
    assert found[1, 0].tolist() == [False, False, True, True, False, True]


def test_one_pair_has_nothing_to_be_told_from() -> None:
    z = sub_embeddings(1).detach().requires_grad_()
    whole = F.normalize(z.flatten(1), dim=1)
    terms = [sub_info_max(z, pairs_of(z), TAU), info_min(z, TAU)]
    terms.append(hessian(info_max(whole, pairs_of(z)[0], TAU), whole, 2))
    for term in terms:
        assert float(term.detach()) == pytest.approx(0, abs=1e-9)
        (gradient,) = torch.autograd.grad(term, z, retain_graph=True)
        assert bool(gradient.isfinite().all())


# The learner


def learner(data: FactorData | None = None, **settings: Any) -> Contrastive:
    torch.manual_seed(0)
    method = build("contrastive", data or paired(), {**TINY, **settings})
    assert isinstance(method, Contrastive)
    return method


@pytest.mark.parametrize("head", ["parts", "whole", "none"])
def test_the_loss_is_its_terms_with_their_weights(head: str) -> None:
    weights = {"info_min": 0.3, "ortho": 0.01, "p_ortho": 0.02, "hessian": 0.4}
    method = learner(head=head, **{f"lambda_{name}": value for name, value in weights.items()})
    terms = method.update(paired().batch_at(range(12)))
    first = "info_max" if head == "whole" else "sub_info_max"
    assert list(terms) == ["loss", first, *weights]
    expected = float(terms[first]) + sum(value * float(terms[name]) for name, value in weights.items())
    assert float(terms["loss"]) == pytest.approx(expected, rel=1e-5)
    assert all(bool(parameter.grad is not None) for parameter in method.parameters())


def test_the_hessian_reaches_the_encoder() -> None:
    method = learner(head="whole", lambda_hessian=0.5)
    codes = method.encode(paired().batch_at(range(12))["images"])
    terms = method.loss(method.sub_embeddings(codes), pairs_of(codes))
    terms["hessian"].backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in method.encoder.parameters()]
    assert all(gradient is not None and bool(gradient.isfinite().all()) for gradient in gradients)
    assert max(float(gradient.abs().max()) for gradient in gradients if gradient is not None) > 0


def test_each_head_sees_its_own_part_of_r() -> None:
    method = learner(latents=10, parts=2, projection=3)
    assert method.code_groups == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert method.projection_groups == [[0, 1, 2], [3, 4, 5]]
    codes = torch.randn(7, 10)
    before = method.project(codes)
    codes[:, 5:] = torch.randn(7, 5)
    after = method.project(codes)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])
    assert torch.allclose(after.view(7, 2, 3).norm(dim=2), torch.ones(7, 2), atol=1e-6)


def test_one_head_sees_all_of_r_and_its_z_has_length_one() -> None:
    method = learner(head="whole", projection=3)
    z = method.project(torch.randn(7, 8))
    assert z.shape == (7, 6)
    assert torch.allclose(z.norm(dim=1), torch.ones(7), atol=1e-6)
    assert len(method.heads) == 1


def test_without_a_head_z_is_r_with_parts_of_length_one() -> None:
    method = learner(head="none")
    codes = torch.randn(7, 8)
    expected = torch.cat([F.normalize(codes[:, :4], dim=1), F.normalize(codes[:, 4:], dim=1)], 1)
    assert torch.allclose(method.project(codes), expected)
    assert method.projection_groups == method.code_groups


@pytest.mark.parametrize("head", ["parts", "whole", "none"])
@torch.no_grad()
def test_centred_means_that_columns_have_mean_0_and_variance_1_before_z_gets_its_length(head: str) -> None:
    method, codes = learner(head=head, centred=True), torch.randn(40, 8)
    raw = {
        "parts": lambda: torch.cat([head(part) for head, part in zip(method.heads, codes.chunk(2, 1), strict=True)], 1),
        "whole": lambda: method.heads[0](codes),
        "none": lambda: codes,
    }[head]()
    standard = (raw - raw.mean(0)) / (raw.var(0, correction=0) + 1e-5).sqrt()
    pieces = [standard] if head == "whole" else standard.chunk(2, 1)
    expected = torch.cat([piece / piece.norm(dim=1, keepdim=True) for piece in pieces], 1)
    assert torch.allclose(method.project(codes), expected, atol=1e-5)
    one = method.eval().project(codes[:1])  # by what training has seen, not by the one row
    assert torch.allclose(one, method.project(codes)[:1], atol=1e-6)


@pytest.mark.parametrize("head", ["parts", "whole"])
def test_normalised_heads_are_those_of_the_released_code(head: str) -> None:
    """Linear, normalise, ReLU, linear, normalise, without biases beside a shift and without a shift at the end."""
    method, codes = learner(head=head, head_norm=True), torch.randn(40, 8)
    inputs = codes.chunk(2, 1)[0] if head == "parts" else codes
    first, last = (method.get_parameter(f"heads.0.{layer}.weight") for layer in (0, 3))
    hidden = inputs @ first.T
    hidden = torch.relu((hidden - hidden.mean(0)) / (hidden.var(0, correction=0) + 1e-5).sqrt())
    outputs = hidden @ last.T
    outputs = (outputs - outputs.mean(0)) / (outputs.var(0, correction=0) + 1e-5).sqrt()
    assert torch.allclose(method.heads[0](codes if head == "whole" else inputs), outputs, atol=1e-5)
    method.update(paired().batch_at(range(12)))
    names = [name for name, one in method.named_parameters() if name.startswith("heads.0") and one.requires_grad]
    assert names == ["heads.0.0.weight", "heads.0.1.weight", "heads.0.1.bias", "heads.0.3.weight", "heads.0.4.weight"]
    assert not bool(method.get_parameter("heads.0.4.bias").any())


@torch.no_grad()
@pytest.mark.parametrize(("centred", "low", "high"), [(False, 0.99, 1.0), (True, 0.0, 0.1)])
def test_centred_parts_are_not_alike_for_what_all_codes_share(centred: bool, low: float, high: float) -> None:
    z = learner(head="none", centred=centred).sub_embeddings(torch.randn(40, 8) + 100)[:, 0]
    assert low <= float((z @ z.T).mean()) <= high


def test_parts_of_r_are_as_equal_as_they_can_be() -> None:
    assert learner(latents=8, parts=3).code_groups == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert learner(latents=3, parts=1).code_groups == [[0, 1, 2]]


def test_who_is_positive() -> None:
    shared = torch.tensor([[0, 1], [0, 1], [1, 1]])
    assert learner().labels(shared).tolist() == [[0], [1], [2]]
    assert learner(positives="joint").labels(shared).tolist() == [[0], [0], [1]]
    assert learner(positives="disjoint").labels(shared).tolist() == shared.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latents": 1}, "latents is 1; expected at least 2, one for each of the parts"),
        ({"latents": 7, "head": "none"}, "latents is 7; with head 'none' expected a multiple of 2, the parts"),
        (
            {"head": "whole", "positives": "disjoint"},
            "head is 'whole' and positives is 'disjoint'; expected head 'parts' or 'none'",
        ),
    ],
)
def test_settings_that_do_not_fit_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        learner(**settings)
    assert str(error.value) == message


def test_labels_that_are_not_there() -> None:
    alone = PairData(squares(), None)
    with pytest.raises(InputError, match="positives is 'joint', but these pairs share no factor; expected 'pairs'"):
        learner(positives="joint").update(alone.batch_at(range(4)))
    with pytest.raises(InputError, match="parts is 2; expected 1, one for each shared factor"):
        learner(positives="disjoint").update(PairData(squares(), ["row"]).batch_at(range(4)))


def test_views_of_one_image_are_enough_for_data_without_factors() -> None:
    alone = PairData(squares(), None)
    *_, last = train(learner(), alone, steps=3, seed=0)
    assert last.terms["loss"] > 0


def test_supervised_halves_give_the_diagonal() -> None:
    """Appendix A.2: r0 learns one factor and r1 the other, each near chance on what is not its own."""
    data = paired()
    method = learner(data, positives="disjoint", head="none", latents=16, batch_size=36, learning_rate=5e-3, **PLAIN)
    *_, last = train(method, data, steps=120, seed=0, every=120)
    assert math.isfinite(last.terms["loss"])
    found = represent(method, data)
    both = found.codes, found.factors
    scores = probes(*both, test=both, groups=found.groups, names=data.names)
    assert scores["r0.row"] > 0.9
    assert scores["r1.column"] > 0.9
    assert scores["diagonal"] == 1.0
    assert scores["gap"] > 0.3


def test_it_is_built_for_the_papers_settings() -> None:
    method = build("contrastive", Spec((3, 64, 64), 100_000, ("digit", "background", "location"), (10, 10, 8)))
    assert isinstance(method, Contrastive)
    with torch.no_grad():
        codes = method.eval().encode(torch.zeros(2, 3, 64, 64, dtype=torch.uint8))
        z = method.project(codes)
    assert (codes.shape, z.shape) == ((2, 512), (2, 16))
    assert [len(group) for group in method.code_groups] == [256, 256]
