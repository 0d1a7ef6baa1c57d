"""Heads of all tasks as one operation, what each learner of tasks descends, and their runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.examples.command import Here
from tests.examples.squares import squares, taught
from unbraid.data import FactorData, RandomTasks, Subset, TargetData, TaskData
from unbraid.errors import InputError
from unbraid.methods import Method, Spec, build
from unbraid.methods.multitask import Multitask
from unbraid.methods.task_learner import TaskConfig, head_each, measured, task_errors
from unbraid.metrics.elbo import held_out_errors
from unbraid.runs.run import Run
from unbraid.training.loop import train

SMALL: dict[str, Any] = {
    "network": "small", "latents": 4, "batch_size": 18, "learning_rate": 3e-3, "head_width": 16, "head_layers": 2,
}  # fmt: skip


def make(name: str, data: FactorData | None = None, **settings: Any) -> Method:
    torch.manual_seed(0)
    return build(name, data or taught(), {**SMALL, **settings})


# Heads


def test_table_3() -> None:
    heads = head_each(TaskConfig(), 8, (1,) * 10)
    assert [tuple(weights.shape) for weights in heads.weights] == [
        (10, 8, 300), (10, 300, 300), (10, 300, 300), (10, 300, 1),
    ]  # fmt: skip
    one = make("one_head")
    assert [tuple(weights.shape) for weights in one.heads.weights] == [(1, 4, 16), (1, 16, 16), (1, 16, 3)]


# Errors


def test_errors_of_numbers_and_of_classes() -> None:
    torch.manual_seed(0)
    outputs, tasks = torch.randn(3, 30, 4), (1, 4, 2)
    targets = torch.stack([torch.randn(30), torch.randint(4, (30,)).float(), torch.randint(2, (30,)).float()], 1)
    expected = [
        F.mse_loss(outputs[0, :, 0], targets[:, 0]),
        F.cross_entropy(outputs[1], targets[:, 1].long()),
        F.cross_entropy(outputs[2, :, :2], targets[:, 2].long()),
    ]
    assert torch.allclose(task_errors(outputs, targets, tasks), torch.stack(expected))
    found = measured(outputs, targets, tasks)
    assert list(found) == ["error", "squared_error", "accuracy", "error_0", "error_1", "error_2"]
    assert float(found["error"]) == pytest.approx(float(sum(expected)) / 3)
    assert float(found["squared_error"]) == pytest.approx(float(expected[0]))
    right = (outputs[1].argmax(1) == targets[:, 1]).sum() + (outputs[2, :, :2].argmax(1) == targets[:, 2]).sum()
    assert float(found["accuracy"]) == pytest.approx(float(right) / 60)


def test_classes_that_a_task_has_not_get_no_gradient() -> None:
    outputs = torch.randn(2, 10, 5, requires_grad=True)
    targets = torch.stack([torch.randint(2, (10,)).float(), torch.randn(10)], 1)
    task_errors(outputs, targets, (2, 1)).sum().backward()
    assert outputs.grad is not None
    assert bool(outputs.grad.isfinite().all())
    assert outputs.grad[0, :, 2:].abs().max() == 0
    assert outputs.grad[1, :, 1:].abs().max() == 0
    assert outputs.grad[0, :, :2].abs().min() > 0


@pytest.mark.parametrize("name", ["multitask", "one_head"])
def test_the_loss_is_the_sum_of_the_errors(name: str) -> None:
    batch = taught().batch(18, 0)
    with torch.no_grad():
        measures = make(name).measure(batch)
    terms = make(name).update(batch)
    assert float(terms["loss"]) == pytest.approx(sum(float(measures[f"error_{task}"]) for task in range(3)), rel=1e-5)
    assert float(terms["error"]) == pytest.approx(float(terms["loss"]) / 3, rel=1e-5)


def test_one_task_from_one_head_is_one_task_from_its_own() -> None:
    data = TaskData(squares(), RandomTasks(1, width=8, layers=2))
    losses = []
    for name in ("multitask", "one_head", "single_task"):
        *_, last = train(make(name, data), data, steps=20, seed=0)
        losses.append(last.terms["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0] == pytest.approx(losses[2], rel=1e-4)


def test_a_single_task_moves_its_own_head_and_no_other() -> None:
    data, method = taught(), make("single_task", task=1)
    before = [weights.detach().clone() for weights in [*method.heads.weights, *method.heads.biases]]
    encoder = [weights.detach().clone() for weights in method.encoder.parameters()]
    first = method.measure(data.batch_at(range(36)))
    list(train(method, data, steps=40, seed=0))
    for old, new in zip(before, [*method.heads.weights, *method.heads.biases], strict=True):
        assert torch.equal(old[[0, 2]], new[[0, 2]])
        assert not torch.equal(old[1], new[1])
    assert not any(torch.equal(old, new) for old, new in zip(encoder, method.encoder.parameters(), strict=True))
    after = method.measure(data.batch_at(range(36)))
    assert float(after["error_1"]) < 0.9 * float(first["error_1"])


def test_learners_of_one_seed_start_from_one_encoder() -> None:
    images = squares().images_at(range(36))
    codes = [make(name).encode(images) for name in ("multitask", "one_head", "single_task", "random_encoder")]
    assert all(torch.equal(codes[0], other) for other in codes[1:])
    batch = taught().batch_at(range(36))
    assert make("random_encoder").measure(batch) == make("multitask").measure(batch)


def test_an_untrained_encoder_needs_no_tasks() -> None:
    method = make("random_encoder", squares())
    assert method.measure(squares().batch_at([0])) == {}
    assert method.encode(squares().images_at([0, 1])).shape == (2, 4)


def test_classes_are_learned() -> None:
    factors = squares().all_factors().numpy()
    targets = np.stack([factors[:, 0] > 2, factors[:, 1], factors.sum(1) / 5], 1)
    data = TargetData(squares(), targets, ["classification", "classification", "regression"])
    method = make("multitask", data, batch_size=36)
    before = method.measure(data.batch_at(range(36)))
    list(train(method, data, steps=150, seed=0))
    after = method.measure(data.batch_at(range(36)))
    assert data.tasks == (2, 6, 1)
    assert float(before["accuracy"]) < 0.6
    assert float(after["accuracy"]) > 0.9
    assert float(after["squared_error"]) < 0.2 * float(before["squared_error"])


def test_an_encoder_of_ones_own() -> None:
    data = taught()
    mine = nn.Sequential(nn.Flatten(), nn.Linear(256, 2))
    method = Multitask(TaskConfig(latents=2, batch_size=18, head_width=16), Spec.of(data), encoder=mine)
    start = mine[1].weight.detach().clone()
    reports = list(train(method, data, steps=60, seed=0, every=10))
    assert reports[-1].terms["loss"] < reports[0].terms["loss"]
    assert method.encode(data.images_at([0])).shape == (1, 2)
    assert not torch.equal(start, mine[1].weight)


def test_what_cannot_be_built_is_said() -> None:
    for name in ("multitask", "one_head", "single_task"):
        with pytest.raises(InputError, match=r"needs data with tasks; expected tasks=10 .* or targets=FILE\.npy"):
            make(name, squares())
    with pytest.raises(InputError, match="task is 3; the data has 3 tasks, the first is 0"):
        make("single_task", task=3)


# Rows held out


def test_errors_on_rows_held_out_are_those_of_these_rows() -> None:
    whole, method = taught(), make("multitask")
    data = Subset(whole, range(20))
    assert held_out_errors(method, data) == {}
    data.held_out = Subset(whole, range(20, 36))
    found = held_out_errors(method, data)
    with torch.no_grad():
        outputs = method.heads(method.encode(whole.images_at(range(20, 36))))[..., 0]  # (tasks, n)
    errors = (outputs.T - whole.batch_at(range(20, 36))["targets"]).square().mean(0)
    assert [found[f"test.error_{task}"] for task in range(3)] == pytest.approx(errors.tolist(), rel=1e-5)
    assert found["test.rmse"] == pytest.approx(float(errors.mean()) ** 0.5, rel=1e-5)
    variances = whole.batch_at(range(20, 36))["targets"].double().var(0, unbiased=False)
    assert [found[f"test.r2_{task}"] for task in range(3)] == pytest.approx((1 - errors / variances).tolist(), rel=1e-5)
    assert found["test.r2"] == pytest.approx(float((1 - errors / variances).mean()), rel=1e-5)
    some = held_out_errors(method, data, rows=8)
    assert some.keys() == found.keys()
    assert some != found
    assert held_out_errors(build("beta_vae", whole, {"network": "small"}), data) == {}


# From the command line

TINY = [
    "--data", "dsprites", "--resolution", "16", "--set", "coarse=orientation=8,x=8,y=4",  # 2,880 rows, few classes
    "--network", "small", "--steps", "3", "--batch-size", "16", "--head-width", "8", "--protocol", "fast",
    "--out", "run", "--latents", "3",
]  # fmt: skip


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["unbraid.training.representation"], "WHOLE", 600)


@pytest.mark.usefixtures("few_rows")
def test_train_with_random_tasks(here: Here, tmp_path: Path) -> None:
    flags = ["--tasks", "2", "--task-factors", "x,y", "--task-width", "4", "--held-out", "0.25"]
    done = here("train", "multitask", *TINY, *flags)
    assert done.returncode == 0, done.stderr
    assert "error" in done.stdout
    run = Run(tmp_path / "run")
    assert run.spec.tasks == (1, 1)
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())["scores"]
    assert {"mig", "test.error", "test.error_0", "test.error_1", "test.rmse"} <= scores.keys()
    data = run.data()
    assert data.describe() == run.config.data
    assert data.held_out is not None
    assert held_out_errors(run.method(), data, rows=50) != {}
    assert run.config.data["tasks"]["factors"] == "x,y"
    assert len(run.whole_data()) == 2880
    again = here("train", "multitask", *TINY, *flags)
    assert "is done already" in again.stderr
    other = here("train", "multitask", *TINY, *flags[:-2], "--task-seed", "1", "--held-out", "0.25")
    assert other.returncode == 2
    assert "data.tasks.seed is 0, not 1" in other.stderr


@pytest.mark.usefixtures("few_rows")
def test_train_with_targets_of_ones_own(here: Here, tmp_path: Path) -> None:
    np.save(tmp_path / "my_targets.npy", np.random.default_rng(0).integers(3, size=(2880, 2)))
    done = here("train", "one_head", *TINY, "--targets", "my_targets.npy", "--task-kind", "classification,regression")
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path / "run").spec.tasks == (3, 1)
    np.save(tmp_path / "short.npy", np.zeros(10))
    bad = here("train", "multitask", *TINY, "--targets", "short.npy")
    assert bad.returncode == 2
    assert bad.stderr == "unbraid: targets have 10 rows and the data has 2,880; expected one for each\n"
    assert "needs data with tasks" in here("train", "multitask", *TINY).stderr
    assert "No such option" in here("train", "beta_vae", "--tasks", "3").stderr


@pytest.mark.usefixtures("few_rows")
def test_old_runs_without_tasks_are_still_read(here: Here, tmp_path: Path) -> None:
    arguments = ["--data", "dsprites", "--resolution", "16", "--network", "small", "--steps", "2", "--protocol", "none"]
    assert here("train", "autoencoder", *arguments, "--out", "run").returncode == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    del config["spec"]["tasks"], config["spec"]["codes"]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    assert Run(tmp_path / "run").spec == Spec.of(Run(tmp_path / "run").data())
    assert isinstance(Run(tmp_path / "run").method().encode(torch.zeros(1, 1, 16, 16, dtype=torch.uint8)), Tensor)
