"""Random tasks against a plain loop, what masks do, targets and codes of the user's, and rows held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.examples.squares import squares, taught
from unbraid.data import CodeData, FactorData, HeldOut, RandomTasks, Rows, Subset, TargetData, TaskData, load
from unbraid.data.catalogue import load_plain
from unbraid.data.wrappers import tasks as tasks_module
from unbraid.errors import InputError

NAMES, SIZES = ("a", "b", "c", "d", "e"), (3, 6, 40, 5, 1)


def some_factors(n: int = 50) -> Tensor:
    rng = torch.Generator().manual_seed(1)
    return torch.stack([torch.randint(size, (n,), generator=rng) for size in SIZES], 1)


def plain_loop(random: RandomTasks, factors: Tensor) -> Tensor:
    """One network of nn.Linear layers at a time, in float64, with masked factors set to 0."""
    last = torch.tensor([max(size - 1, 1) for size in SIZES]).double()
    columns = []
    for task in range(random.count):
        layers: list[nn.Module] = []
        for weights, biases in random.layers_of(NAMES):
            layer = nn.Linear(weights.shape[1], weights.shape[2]).double()
            layer.weight.data, layer.bias.data = weights[task].T.double(), biases[task, 0].double()
            layers += [layer, nn.Tanh()]
        inputs = factors.double() / last * random.scale * random.masks(NAMES)[task]
        columns.append(nn.Sequential(*layers[:-1])(inputs)[:, 0].detach())
    return torch.stack(columns, 1)


@pytest.mark.parametrize("which", ["all", "random", "halves", "a,d"])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_random_tasks_are_those_of_a_plain_loop(which: str, scale: float) -> None:
    random = RandomTasks(7, seed=3, factors=which, width=12, layers=2, scale=scale)
    found = random.targets(some_factors(), NAMES, SIZES)
    assert found.shape == (50, 7)
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), plain_loop(random, some_factors()), atol=1e-5)


def test_networks_of_the_papers_size() -> None:
    random = RandomTasks(2)
    shapes = [tuple(weights.shape) for weights, _ in random.layers_of(NAMES)]
    assert shapes == [(2, 5, 300), (2, 300, 300), (2, 300, 300), (2, 300, 300), (2, 300, 1)]
    found = random.targets(some_factors(300), NAMES, SIZES)
    # tanh saturates behind sums of 300 products: the output is a sum of 300 numbers near ±N(0, 1)
    assert 5 < float(found.std(0).mean()) < 20
    # four saturated layers enlarge the rounding of float32 a hundredfold
    assert torch.allclose(found.double(), plain_loop(random, some_factors(300)), atol=1e-2)
    weights = torch.cat([tensor.flatten() for tensor, _ in random.layers_of(NAMES)])
    assert abs(float(weights.mean())) < 0.01
    assert float(weights.std()) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("which", ["all", "random", "halves", "b,e"])
def test_a_task_does_not_change_when_a_masked_factor_does(which: str) -> None:
    random = RandomTasks(12, factors=which, width=10, layers=2)
    masks, factors = random.masks(NAMES), some_factors()
    before = random.targets(factors, NAMES, SIZES)
    for column in range(4):  # the last factor has one value only
        moved = factors.clone()
        moved[:, column] = (moved[:, column] + 1) % SIZES[column]
        changed = (random.targets(moved, NAMES, SIZES) != before).any(0)
        assert changed.tolist() == masks[:, column].tolist()


def test_masks() -> None:
    assert RandomTasks(2).masks(NAMES).all()
    halves = RandomTasks(3, factors="halves").masks(NAMES).int().tolist()
    assert halves == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0]]
    assert RandomTasks(2, factors="e,b").masks(NAMES).int().tolist() == [[0, 1, 0, 0, 1]] * 2
    random = RandomTasks(400, factors="random").masks(NAMES)
    assert random.any(1).all()
    assert random.float().mean(0).tolist() == pytest.approx([0.5] * 5, abs=0.1)
    assert len(random.unique(dim=0)) == 31


def test_a_task_is_the_same_among_few_and_many_and_differs_from_the_others() -> None:
    few, many = (RandomTasks(count, seed=5, width=6) for count in (3, 11))
    factors = some_factors()
    a, b = few.targets(factors, NAMES, SIZES), many.targets(factors, NAMES, SIZES)
    assert torch.allclose(a, b[:, :3], atol=1e-5)
    assert torch.corrcoef(b.T).fill_diagonal_(0).abs().max() < 0.99
    other = RandomTasks(3, seed=6, width=6).targets(factors, NAMES, SIZES)
    assert not torch.allclose(a, other, atol=0.1)


def test_tasks_that_share_a_network_are_its_outputs() -> None:
    shared, own = RandomTasks(4, seed=3, width=12, networks="shared"), RandomTasks(4, seed=3, width=12)
    layers = shared.layers_of(NAMES)
    for weights, biases in layers[:-1]:
        assert torch.equal(weights, weights[:1].expand_as(weights))
        assert torch.equal(biases, biases[:1].expand_as(biases))
    assert torch.equal(layers[-1][0], own.layers_of(NAMES)[-1][0])
    found = shared.targets(some_factors(), NAMES, SIZES)
    assert torch.allclose(found.double(), plain_loop(shared, some_factors()), atol=1e-5)
    assert torch.equal(found[:, 0], own.targets(some_factors(), NAMES, SIZES)[:, 0])
    assert not torch.equal(found[:, 1], own.targets(some_factors(), NAMES, SIZES)[:, 1])


def test_data_with_tasks_gives_targets_with_every_batch() -> None:
    data = taught()
    assert data.tasks == (1, 1, 1)
    batch = data.batch(20, 4)
    assert set(batch) == {"images", "factors", "codes", "targets"}
    expected = data.random.targets(batch["factors"], data.names, data.sizes)
    assert torch.allclose(batch["targets"], expected, atol=1e-6)
    plain = squares().batch(20, 4)
    assert torch.equal(batch["images"], plain["images"])
    assert torch.equal(batch["factors"], plain["factors"])
    assert torch.equal(data.images(batch["factors"]), batch["images"])
    assert torch.equal(data.index_of(data.factors_at([5])), torch.tensor([5]))


@pytest.mark.parametrize("count", [1, 5, 7])
def test_large_tables_are_kept_and_read_again(count: int, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = RandomTasks(count, width=4, layers=1)
    rows = torch.tensor([3, 35, 0])
    expected = TaskData(squares(), random).targets_at(rows)
    monkeypatch.setattr(tasks_module, "_KEPT", 10)
    assert torch.equal(TaskData(squares(), random).targets_at(rows), expected)
    files = sorted((empty_cache / "drawn").glob("tasks_*"))
    assert len(files) == -(-count // 5)
    monkeypatch.setattr(RandomTasks, "networks", lambda *_: pytest.fail("drawn again"))
    assert torch.equal(TaskData(squares(), random).targets_at(rows), expected)


def test_five_tasks_and_seven_share_a_file(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "_KEPT", 10)
    for count in (5, 7):
        TaskData(squares(), RandomTasks(count, width=4, layers=1)).targets_at(torch.tensor([0]))
    assert len(list((empty_cache / "drawn").glob("tasks_*"))) == 2


# Rows held out


def test_subsets_keep_tasks_and_codes() -> None:
    data = taught()
    for part in (Subset(data, [9, 2]), HeldOut(data, lambda f: f["row"] > 0)):
        assert (part.tasks, part.codes) == (data.tasks, 3)
        first = int(data.index_of(part.factors_at([0])))
        for name, values in part.batch_at([0]).items():
            assert torch.equal(values, data.batch_at([first])[name])


def test_held_out_rows_and_the_others_make_the_whole() -> None:
    data = load("dsprites", 16, tasks=2, task_width=4, held_out=0.25, split_seed=3)
    assert isinstance(data, Subset)
    assert isinstance(data.held_out, Subset)
    assert (len(data), len(data.held_out)) == (552_960, 184_320)
    rows = torch.cat([data.rows, data.held_out.rows])
    assert len(rows.unique()) == 737_280
    again = load("dsprites", 16, tasks=2, task_width=4, held_out=0.25, split_seed=4)
    assert data.describe() != again.describe()
    assert data.batch(3, 0)["targets"].shape == data.held_out.batch(3, 0)["targets"].shape == (3, 2)


# Opened by name


def test_load_opens_tasks_and_what_it_opened_opens_them_again() -> None:
    data = load("dsprites", 16, tasks="3", task_seed="2", task_factors="x,y", task_width=5, held_out="0.5")
    assert data.opened is not None
    again = load(data.opened["name"], data.opened["resolution"], **data.opened["settings"])
    assert again.describe() == data.describe()
    assert data.describe()["data"] == "dsprites"
    tasks = data.describe()["tasks"]
    assert (tasks["count"], tasks["seed"], tasks["factors"], tasks["width"]) == (3, 2, "x,y", 5)
    plain = load_plain(data.opened)
    assert len(plain) == 737_280
    assert plain.describe() == load("dsprites", 16).describe()
    assert plain.tasks == ()


def test_a_coarse_grid_keeps_every_so_many_values() -> None:
    data = load("dsprites", 16, coarse="x=8,y=16,orientation=3")
    assert len(data) == 3 * 6 * 14 * 4 * 2
    assert [sorted(set(column.tolist())) for column in data.all_factors().T][2:] == [
        list(range(0, 40, 3)), [0, 8, 16, 24], [0, 16],
    ]  # fmt: skip
    assert data.opened is not None
    assert load_plain(data.opened).describe() == data.describe() != load("dsprites", 16).describe()


def test_some_rows_stand_for_the_whole() -> None:
    data = load("dsprites", 16, rows="200", tasks=2, task_width=5, held_out=0.25)
    assert data.opened is not None
    assert data.held_out is not None
    assert (len(data), len(data.held_out)) == (150, 50)
    whole = load_plain(data.opened)
    assert whole.describe() == load("dsprites", 16, rows=200).describe()
    chosen = {tuple(row) for row in whole.all_factors().tolist()}
    assert chosen == {tuple(row) for part in (data, data.held_out) for row in part.all_factors().tolist()}
    assert len(load_plain(data.opened, held_out=True)) == 150
    assert chosen != {tuple(row) for row in load("dsprites", 16, rows=200, rows_seed=1).all_factors().tolist()}


def test_describe_tells_tasks_apart() -> None:
    found = [
        TaskData(squares(), RandomTasks(2)), TaskData(squares(), RandomTasks(3)),
        TaskData(squares(), RandomTasks(2, seed=1)), TaskData(squares(), RandomTasks(2, factors="halves")),
        TaskData(squares(), RandomTasks(2, networks="shared")),
        squares(), TargetData(squares(), np.arange(36)),
        TargetData(squares(), np.arange(36), "classification"), CodeData(squares(), np.arange(36)),
    ]  # fmt: skip
    described = [str(data.describe()) for data in found]
    assert len(set(described)) == len(described)


SETTINGS_BAD: list[tuple[dict[str, Any], str]] = [
    ({"tasks": 0}, "there are no tasks; expected tasks=10 for random ones, or targets=FILE.npy for your own"),
    ({"tasks": -1}, "tasks is -1; expected at least 1"),
    ({"tasks": "ten"}, "tasks is 'ten'; expected a whole number"),
    ({"tasks": 2.5}, "tasks is 2.5; expected a whole number"),
    ({"tasks": 2, "task_factors": "shap"}, "task_factors names 'shap', which is not a factor; did you mean 'shape'?"),
    ({"tasks": 2, "task_width": 0}, "task_width is 0; expected at least 1"),
    ({"tasks": 2, "task_scale": 0}, "task_scale is 0.0; expected a number above 0"),
    ({"tasks": 2, "targets": "x"}, "tasks draws random tasks and targets names your own; expected one of them"),
    ({"task": 2}, "data set 'dsprites' has no setting 'task'; did you mean 'tasks'?"),
    ({"tasks": 2, "task_networks": "one"}, "task_networks is 'one'; did you mean 'own'?"),
    ({"coarse": "x"}, "coarse is 'x'; expected factors with steps from 1 to their size, as x=4,y=4"),
    ({"coarse": "scale=7"}, "coarse is 'scale=7'; expected factors with steps from 1 to their size, as x=4,y=4"),
    ({"coarse": "z=2"}, "there is no factor 'z'; known are orientation, scale, shape, x, y"),
    ({"rows": 0}, "rows is 0; expected 1 to 737,280, the rows of the data"),
    ({"rows": 800_000}, "rows is 800,000; expected 1 to 737,280, the rows of the data"),
    ({"held_out": 1.0}, "held_out is 1.0; expected a fraction of the rows between 0 and 1"),
    ({"targets": "nowhere.npy"}, "nowhere.npy does not exist; expected an .npy file of targets"),
    ({"codes": "nowhere.npy"}, "nowhere.npy does not exist; expected an .npy file of codes"),
    ({"code_scale": "standard"}, "code_scale needs the setting codes: an .npy file, or factors"),
    ({"codes": "factors", "code_scale": "big"}, "code_scale is 'big'; known are as_is, standard"),
]


@pytest.mark.parametrize(("settings", "message"), SETTINGS_BAD, ids=[message[:30] for _, message in SETTINGS_BAD])
def test_bad_settings_are_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        load("dsprites", 16, **settings)
    assert str(error.value) == message


def test_pictures_without_factors_have_no_random_tasks() -> None:
    pictures = Rows(squares().images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    with pytest.raises(InputError, match="random tasks are functions of factors, and this data has none"):
        TaskData(pictures, RandomTasks(2))
    assert TargetData(pictures, np.arange(36.0)).batch(2, 0)["targets"].shape == (2, 1)
    with pytest.raises(InputError, match="only one factor: digit"):
        RandomTasks(2, factors="halves").masks(["digit"])


# Targets of the user's


def test_targets_of_numbers_words_and_whole_numbers() -> None:
    rows = np.arange(36)
    words = np.array(["cat", "dog", "ant"])[rows % 3]
    data = TargetData(squares(), words, "classification")
    assert data.tasks == (3,)
    assert data.classes == [["ant", "cat", "dog"]]
    assert data.batch_at([0, 1, 2])["targets"].tolist() == [[1], [2], [0]]
    mixed = TargetData(squares(), np.stack([rows / 7, rows % 2 * 5], 1), ["regression", "classification"])
    assert mixed.tasks == (1, 2)
    assert mixed.batch_at([3])["targets"].tolist() == [[pytest.approx(3 / 7), 1]]
    assert mixed.batch_at([3])["targets"].dtype == torch.float32


def with_value(value: Any, row: int, column: int, dtype: Any = float) -> Any:
    table = np.zeros((36, 2), dtype)
    table[:, :] = np.arange(36)[:, None] % 4
    table[row, column] = value
    return table


TARGETS_BAD: list[tuple[Any, Any, str]] = [
    (np.zeros((35, 2)), "regression", "targets have 35 rows and the data has 36; expected one for each"),
    (np.zeros((36, 2, 2)), "regression", "targets have shape (36, 2, 2); expected (36, columns)"),
    (np.zeros((36, 0)), "regression", "targets have shape (36, 0); expected (36, columns)"),
    (with_value(np.nan, 7, 1), "regression", "targets column 1 is nan at row 7; expected finite numbers"),
    (with_value(np.inf, 0, 0), "regression", "targets column 0 is inf at row 0; expected finite numbers"),
    (
        np.array(["cat", "dog"] * 18), "regression",
        "targets column 0 is 'cat' at row 0; expected numbers, or task_kind=classification",
    ),
    (
        with_value(0.5, 9, 1), "classification",
        "targets column 1 is 0.5 at row 9; expected whole numbers or words as classes, or task_kind=regression",
    ),
    (
        with_value(np.nan, 9, 0), "classification",
        "targets column 0 is nan at row 9; expected whole numbers or words as classes, or task_kind=regression",
    ),
    (np.full(36, 4), "classification", "targets column 0 has only the class 4; expected at least two"),
    (
        np.zeros(36, complex), "classification",
        "targets column 0 is complex128; expected whole numbers or words as classes",
    ),
    (np.zeros((36, 2)), "regresion", "task_kind is 'regresion'; did you mean 'regression'?"),
    (np.zeros((36, 2)), ["regression"] * 3, "task_kind names 3 kinds and there are 2 tasks"),
]  # fmt: skip


@pytest.mark.parametrize(("targets", "kinds", "message"), TARGETS_BAD, ids=[case[2][:40] for case in TARGETS_BAD])
def test_bad_targets_are_one_line(targets: Any, kinds: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        TargetData(squares(), targets, kinds)
    assert str(error.value) == message


def test_targets_from_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.random.default_rng(0).normal(size=(737_280, 2)))
    data = load("dsprites", 16, targets=str(tmp_path / "y.npy"))
    assert data.tasks == (1, 1)
    assert data.describe()["tasks"]["kinds"] == ["regression"] * 2
    assert "npy" not in str(data.describe())
    moved = tmp_path / "moved.npy"
    (tmp_path / "y.npy").rename(moved)
    assert load("dsprites", 16, targets=str(moved)).describe() == data.describe()


def test_files_that_hold_something_else_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "many.npz", a=np.zeros(3))
    (tmp_path / "text.npy").write_text("1, 2, 3")
    for name, message in [
        ("objects.npy", "holds Python objects, which are not read; expected targets as numbers"),
        ("many.npz", "holds several arrays; expected an .npy file of targets"),
        ("text.npy", "cannot be read as an .npy file of targets"),
    ]:
        with pytest.raises(InputError, match=message) as error:
            load("dsprites", 16, targets=str(tmp_path / name))
        assert "\n" not in str(error.value)


# Codes


def test_true_factors_as_codes() -> None:
    data = load("dsprites", 16, codes="factors")
    assert data.codes == 5
    batch = data.batch(200, 0)
    assert torch.allclose(batch["codes"], batch["factors"] / torch.tensor([2, 5, 39, 31, 31]))
    standard = load("dsprites", 16, codes="factors", code_scale="standard")
    assert isinstance(standard, CodeData)
    assert standard._table.mean(0).abs().max() < 1e-4
    assert (standard._table.std(0) - 1).abs().max() < 1e-4


def test_bad_codes_are_one_line() -> None:
    for codes, message in [
        (np.zeros((3, 2)), "codes have 3 rows and the data has 36; expected one for each"),
        (with_value(np.nan, 5, 1), "codes column 1 is nan at row 5; expected finite numbers"),
        (np.array(["x"] * 36), "codes column 0 is 'x' at row 0; expected numbers"),
    ]:
        with pytest.raises(InputError) as error:
            CodeData(squares(), codes)
        assert str(error.value) == message


def test_a_wrapper_forwards_what_data_is() -> None:
    data: FactorData = taught(3)
    assert (len(data), data.names, data.sizes, data.image_shape) == (36, ("row", "column"), (6, 6), (3, 16, 16))
    assert torch.equal(data.all_factors(), squares().all_factors())


def test_centred_targets_are_the_same_tasks_without_their_means() -> None:
    plain, centred = (
        load("dsprites", 16, tasks=7, task_scale=0.05, rows=500, **more) for more in ({}, {"task_targets": "centred"})
    )
    rows = torch.arange(500)
    before, after = plain.batch_at(rows)["targets"], centred.batch_at(rows)["targets"]
    torch.testing.assert_close(after, before - before.mean(0), atol=1e-4, rtol=1e-4)
    assert before.var(0).mean() < 0.5 * before.square().mean(), "most of such targets is a constant"
    assert "centred" not in plain.describe()["tasks"]
    assert centred.describe()["tasks"]["centred"] is True
    with pytest.raises(InputError, match=r"task_targets is 'centered'.*centred"):
        load("dsprites", 16, tasks=2, task_targets="centered")
