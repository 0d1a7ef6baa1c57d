from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.examples.squares import squares
from unbraid.data import Rows
from unbraid.errors import InputError
from unbraid.methods import Batch, Config, Encoding, Method, Spec, Terms, build
from unbraid.training.device import resolve_device, resolve_precision
from unbraid.training.loop import DivergedError, Logged, step_seed, train


class Counter(Method):
    """One weight and a log of what it was fed; its terms are the step it takes and what `faults` says."""

    def __init__(self, faults: dict[tuple[int, str], float] | None = None, batch_size: int = 4) -> None:
        super().__init__(Config(batch_size=batch_size), Spec((1, 16, 16), 36))
        self.weight = nn.Parameter(torch.zeros(()))
        self.faults = faults or {}
        self.batches: list[Tensor] = []
        self.noise: list[float] = []

    def update(self, batch: Batch) -> Terms:
        self.batches.append(batch["images"])
        self.noise.append(float(torch.rand(())))
        step = self.steps + 1
        return {
            name: torch.tensor(self.faults.get((step, name), float(step))) for name in ["loss", "reconstruction", "kl"]
        }

    def encoding(self, batch: Batch) -> Encoding:
        return Encoding(batch["images"].flatten(1).float())


def learner(**settings: Any) -> Method:
    torch.manual_seed(0)
    return build("beta_vae", squares(), {"network": "small", "latents": 2, "batch_size": 6, **settings})


def run(method: Method, steps: int, seed: int = 0, every: int = 100, data: Rows | None = None) -> list[Logged]:
    return list(train(method, data or squares(), steps=steps, seed=seed, every=every))


def same(a: Method, b: Method) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def copy_of_state(method: Method) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}


def test_reports_every_so_many_steps_and_at_the_end() -> None:
    assert [report.step for report in run(Counter(), 25, every=10)] == [10, 20, 25]
    assert [report.step for report in run(Counter(), 20, every=10)] == [10, 20]
    assert [report.step for report in run(Counter(), 3, every=10)] == [3]


def test_a_report_holds_the_mean_of_each_term_since_the_last() -> None:
    reports = run(Counter({(12, "kl"): 30.0}), 15, every=10)
    assert reports[0].terms == {"loss": 5.5, "reconstruction": 5.5, "kl": 5.5}
    assert reports[1].terms == pytest.approx({"loss": 13, "reconstruction": 13, "kl": (13 * 5 - 12 + 30) / 5})


def test_a_method_that_has_taken_its_steps_takes_no_more() -> None:
    method = Counter()
    run(method, 5)
    assert run(method, 5) == []
    assert method.steps == len(method.batches) == 5


def test_reports_stay_on_the_same_steps_after_an_odd_stop() -> None:
    method = Counter()
    run(method, 7, every=10)
    assert [report.step for report in run(method, 30, every=10)] == [10, 20, 30]


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    first, again, other = learner(), learner(), learner()
    assert run(first, 12, seed=3) == run(again, 12, seed=3)
    assert same(first, again)
    run(other, 12, seed=4)
    assert not same(first, other)


def test_every_step_has_its_own_images_and_its_own_noise() -> None:
    method = Counter(batch_size=12)
    run(method, 40)
    assert len({batch.numpy().tobytes() for batch in method.batches}) == 40
    assert len(set(method.noise)) == 40


def test_how_often_it_reports_changes_nothing() -> None:
    often, seldom = learner(), learner()
    run(often, 20, every=1)
    run(seldom, 20, every=7)
    assert same(often, seldom)


def test_torchs_random_state_is_left_as_it_was() -> None:
    torch.manual_seed(9)
    before = torch.get_rng_state()
    reports = train(learner(), squares(), steps=4, seed=0, every=2)
    torch.manual_seed(9)
    for _ in reports:
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(DivergedError):
        run(Counter({(2, "loss"): float("nan")}), 4)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_the_caller_draws_between_reports_changes_nothing() -> None:
    quiet, noisy = learner(), learner()
    run(quiet, 12, every=4)
    for _ in train(noisy, squares(), steps=12, seed=0, every=4):
        torch.randn(100)
        torch.manual_seed(123)
    assert same(quiet, noisy)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_term_that_is_not_finite_names_its_step_and_itself(value: float) -> None:
    faults = {(37, "kl"): value, (38, "reconstruction"): float("nan"), (39, "loss"): float("nan")}
    with pytest.raises(DivergedError, match=r"kl became .* at step 37") as error:
        run(Counter(faults), 300, every=100)
    assert (error.value.step, error.value.term) == (37, "kl")


def test_divergence_after_a_report_counts_from_the_first_step() -> None:
    with pytest.raises(DivergedError) as error:
        run(Counter({(237, "loss"): float("nan")}), 300, every=100)
    assert error.value.step == 237


def test_a_learner_that_really_diverges_is_stopped() -> None:
    with pytest.raises(DivergedError):
        run(learner(learning_rate=1e6, beta=100.0), 40, every=40)


def test_the_batch_size_may_change_while_training_runs() -> None:
    method = Counter(batch_size=4)
    for report in train(method, squares(), steps=20, seed=0, every=5):
        method.hp["batch_size"] = {5: 7.0, 10: 2.0, 15: 4.0}.get(report.step, 4.0)
    assert [len(batch) for batch in method.batches] == [4] * 5 + [7] * 5 + [2] * 5 + [4] * 5
    steady = Counter(batch_size=4)
    run(steady, 20)
    assert torch.equal(method.batches[-1], steady.batches[-1])  # what came before leaves no trace


@pytest.mark.parametrize("stop", [1, 5, 16, 21])
def test_resuming_in_the_middle_of_a_block_of_drawn_batches_is_exact(stop: int) -> None:
    whole = learner()
    run(whole, 24)
    first, second = learner(), learner()
    run(first, stop)
    second.load_state_dict(copy_of_state(first))
    assert second.steps == stop
    run(second, 24)
    assert same(whole, second)


def through_a_file(method: Method) -> dict[str, Tensor]:
    """The state as a file gives it back: every tensor contiguous, whatever the networks' layout."""
    return {name: torch.tensor(value.tolist(), dtype=value.dtype) for name, value in method.state_dict().items()}


@pytest.mark.parametrize("prepared", ["before", "after"])
def test_a_channels_last_learner_resumes_exactly_from_a_contiguous_state(prepared: str) -> None:
    """Fused Adam walks weights and moments in memory order: moments in another layout would meet the wrong weights."""
    colour = squares(channels=3)

    def fresh() -> Method:
        torch.manual_seed(0)
        return build("beta_vae", colour, {"network": "small", "latents": 2, "batch_size": 6, "learning_rate": 1e-2})

    whole, first, second = fresh().prepare("cpu", "fp32"), fresh().prepare("cpu", "fp32"), fresh()
    run(whole, 8, data=colour)
    run(first, 4, data=colour)
    if prepared == "before":
        second.prepare("cpu", "fp32")
    second.load_state_dict(through_a_file(first))
    if prepared == "after":
        second.prepare("cpu", "fp32")
    run(second, 8, data=colour)
    assert same(whole, second)


def test_the_memory_layout_does_not_change_what_is_learned() -> None:
    plain, channels_last, late = learner(), learner().prepare("cpu", "fp32"), learner()
    run(plain, 8)
    run(channels_last, 8)
    run(late, 4)
    late.prepare("cpu", "fp32")
    run(late, 8)
    for x, y, z in zip(plain.parameters(), channels_last.parameters(), late.parameters(), strict=True):
        assert torch.allclose(x, y, atol=1e-5)
        assert torch.allclose(x, z, atol=1e-5)


def test_bf16_learns_about_what_fp32_learns() -> None:
    exact, rough = learner(learning_rate=1e-3), learner(learning_rate=1e-3).prepare("cpu", "bf16")
    fp32, bf16 = run(exact, 60, every=20)[-1].terms, run(rough, 60, every=20)[-1].terms
    assert bf16["loss"] == pytest.approx(fp32["loss"], rel=0.05)
    assert not same(exact, rough)
    assert all(parameter.dtype == torch.float32 for parameter in rough.parameters())
    assert rough.encode(squares().images_at([0])).dtype == torch.float32


def test_step_seeds_are_distinct_and_fit_torch() -> None:
    seeds = {step_seed(seed, step, stream) for seed in range(5) for step in range(50) for stream in ["data", "method"]}
    assert len(seeds) == 500
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_what_the_data_does_not_give_is_named() -> None:
    class Wants(Counter):
        needs = ("images", "targets", "views")

    with pytest.raises(InputError, match="this method needs targets, views, which the data does not provide"):
        run(Wants(), 1)


def test_devices_and_precisions() -> None:
    cpu = torch.device("cpu")
    assert resolve_device("cpu") == cpu
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")
    for name in ["cuda:99", "gpu", "meta:9:9"]:
        with pytest.raises(InputError, match=f"device '{name}' cannot be used: .*; try auto or cpu") as error:
            resolve_device(name)
        assert "\n" not in str(error.value)
    assert resolve_precision("fp32", cpu) == "fp32"
    assert resolve_precision("bf16", cpu) == "bf16"
    with pytest.raises(InputError, match="precision is 'fp16'; expected fp32, bf16 or auto"):
        resolve_precision("fp16", cpu)


@pytest.mark.parametrize(("native", "expected"), [(True, "bf16"), (False, "fp32")])
def test_auto_precision_is_what_the_cpu_computes_in(
    native: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": native})
    assert resolve_precision("auto", torch.device("cpu")) == expected
