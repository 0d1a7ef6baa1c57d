"""Supervised tasks for any data: random networks of its factors (multitask, section 3.1), or your own targets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.cache import drawn_array
from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, digest
from unbraid.data.user_files import read_array
from unbraid.data.wrappers.annotated import Annotated, Array, finite_numbers, one_row_each
from unbraid.errors import InputError, nearest

KINDS = ("regression", "classification")
SHARING = ("own", "shared")
TARGETS = ("as_is", "centred")
_VERSION = 2  # raised whenever the targets of the same settings change
_BLOCK = 5  # tasks that are computed together and kept in one file, so that 5, 10, … 50 tasks share their files
_ROWS = 2048  # rows computed at a time: their activations stay in the processor's cache
_KEPT = 20_000  # data sets with more rows keep their targets in the user's cache folder

Layers = list[tuple[Tensor, Tensor]]  # weights (tasks, inputs, outputs) and biases (tasks, 1, outputs)


@dataclass(frozen=True)
class RandomTasks:
    """Tasks y = h(z, θ): h a network of tanh layers with one output, z the factors, θ drawn from N(0, 1).

    Factors are scaled to [0, `scale`], the first value 0 and the last `scale`, whatever their number of values: so all
    have the same weight, and a network's roughness does not depend on how finely a factor is divided. Weights and
    biases are drawn task by task from `seed`: task 3 is the same among 5 tasks and among 50.
    """

    count: int
    seed: int = 0
    factors: str = "all"
    """Which factors a task depends on: `all`; `random`, each with probability 1/2 and at least one, by task; `halves`,
    the first half for tasks 0, 2, … and the second for tasks 1, 3, … (appendix H); or names, as `x,y`, for all tasks.
    """
    width: int = 300
    layers: int = 4
    """Hidden layers."""
    scale: float = 1.0
    networks: str = "own"
    """`own`: each task is a network; `shared`: the tasks are the outputs of one, with hidden layers in common."""

    def __post_init__(self) -> None:
        if self.networks not in SHARING:
            raise InputError(f"task_networks is '{self.networks}'{nearest(self.networks, SHARING)}")
        for name, value, low in (("tasks", self.count, 1), ("task_width", self.width, 1), ("layers", self.layers, 1)):
            if value < low:
                raise InputError(f"{name} is {value}; expected at least {low}")
        if not 0 < self.scale < float("inf"):
            raise InputError(f"task_scale is {self.scale}; expected a number above 0")

    def masks(self, names: Sequence[str]) -> Tensor:
        """Whether a task depends on a factor: bool (tasks, k)."""
        if not names:
            raise InputError("random tasks are functions of factors, and this data has none; expected targets=FILE.npy")
        masks = torch.zeros(self.count, len(names), dtype=torch.bool)
        if self.factors == "all":
            masks[:] = True
        elif self.factors == "halves":
            half = len(names) // 2
            if not half:
                raise InputError(f"task_factors is 'halves', and there is only one factor: {names[0]}")
            masks[::2, :half] = True
            masks[1::2, half:] = True
        elif self.factors == "random":
            for task in range(self.count):
                rng = self._generator(task, "factors")
                masks[task] = torch.rand(len(names), generator=rng) < 0.5
                if not masks[task].any():
                    masks[task, int(torch.randint(len(names), (1,), generator=rng))] = True
        else:
            for name in self.factors.split(","):
                if name not in names:
                    known = [*names, "all", "random", "halves"]
                    raise InputError(f"task_factors names '{name}', which is not a factor{nearest(name, known)}")
                masks[:, names.index(name)] = True
        return masks

    def layers_of(self, names: Sequence[str], tasks: range | None = None) -> Layers:
        """The layers of these tasks (all by default), one tensor for all; the first ignores masked factors."""
        tasks = range(self.count) if tasks is None else tasks
        sizes = [len(names), *[self.width] * self.layers, 1]
        drawn: list[list[tuple[Tensor, Tensor]]] = []
        for task in tasks:
            network = _draw_layers(sizes, self._generator(task, "weights"))
            if self.networks == "shared":
                network[:-1] = _draw_layers(sizes, self._generator(0, "weights"))[:-1]
            drawn.append(network)
        layers = [
            (torch.stack([weights for weights, _ in layer]), torch.stack([biases for _, biases in layer]))
            for layer in zip(*drawn, strict=True)
        ]
        first, bias = layers[0]
        layers[0] = first * self.masks(names)[tasks.start : tasks.stop, :, None], bias
        return layers

    def inputs(self, factors: Tensor, sizes: Sequence[int]) -> Tensor:
        """Factors (n, k) as numbers from 0 to `scale`, float32."""
        last = torch.tensor([max(size - 1, 1) for size in sizes], dtype=torch.float32)
        return factors.float() * (self.scale / last)

    def targets(self, factors: Tensor, names: Sequence[str], sizes: Sequence[int]) -> Tensor:
        """What the tasks ask for at these factors: (n, k) -> float32 (n, tasks)."""
        return _evaluate(self.layers_of(names), self.inputs(factors, sizes))

    def _generator(self, task: int, stream: str) -> Generator:
        text = f"{self.seed}/{task}/{stream}"
        state = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return Generator().manual_seed(int.from_bytes(state, "little") >> 1)


def _draw_layers(sizes: Sequence[int], rng: Generator) -> Layers:
    """Of one network: weights (inputs, outputs) and biases (1, outputs) from N(0, 1)."""
    return [
        (torch.randn(inputs, outputs, generator=rng), torch.randn(1, outputs, generator=rng))
        for inputs, outputs in pairwise(sizes)
    ]


def _evaluate(layers: Layers, inputs: Tensor) -> Tensor:
    """Networks side by side on the same inputs: (n, k) -> (n, tasks)."""
    hidden = inputs.expand(len(layers[0][0]), *inputs.shape)
    for weights, biases in layers[:-1]:
        hidden = torch.baddbmm(biases, hidden, weights).tanh_()
    weights, biases = layers[-1]
    return torch.baddbmm(biases, hidden, weights)[..., 0].T


class TaskData(Annotated):
    """`data` with random tasks: a batch also holds `targets`, float32 (n, tasks).

    The targets of all rows are computed at first use. Large tables are kept in the cache folder. `centred` targets are
    those minus their mean over all rows, by task: a network on a small range of factors is mostly a constant.
    """

    def __init__(self, data: FactorData, random: RandomTasks, centred: bool = False) -> None:
        data.need_labels("tasks")
        super().__init__(data)
        self.random, self.centred = random, centred
        self.masks = random.masks(data.names)
        self.tasks = (1,) * random.count

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {"targets": self.targets_at(rows)}

    def targets_at(self, rows: Tensor) -> Tensor:
        """Rows (n,) -> float32 (n, tasks)."""
        index = rows.numpy()
        targets = np.concatenate([block[index] for block in self._blocks], 1)
        return torch.from_numpy(targets - self._means if self.centred else targets)

    def describe(self) -> dict[str, Any]:
        centred = {"centred": True} if self.centred else {}
        return {**super().describe(), "tasks": {"version": _VERSION, **asdict(self.random), **centred}}

    @cached_property
    def _means(self) -> Array:
        """Of each task over all rows, float32 (tasks,)."""
        return np.concatenate([block.mean(0, np.float64) for block in self._blocks]).astype(np.float32)

    @cached_property
    def _blocks(self) -> list[Array]:
        """The targets of all rows, a few tasks per array: float32 (rows, tasks)."""
        edges = range(0, self.random.count, _BLOCK)
        blocks = [range(first, min(first + _BLOCK, self.random.count)) for first in edges]
        inputs = self.random.inputs(self.all_factors(), self.sizes)
        if len(self) <= _KEPT:
            return [np.concatenate(list(self._draw(inputs, tasks))) for tasks in blocks]
        drawn = {**asdict(self.random), "count": None, "version": _VERSION, "factors of": digest(inputs)}
        key = hashlib.sha256(json.dumps([drawn, list(self.names)]).encode()).hexdigest()[:16]
        return [
            drawn_array(
                f"tasks_{key}_{tasks.start}_{tasks.stop}",
                (len(self), len(tasks)),
                np.float32,
                partial(self._draw, inputs, tasks),
            )
            for tasks in blocks
        ]

    def _draw(self, inputs: Tensor, tasks: range) -> Iterator[Array]:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        layers = [(weights.to(device), bias.to(device)) for weights, bias in self.random.layers_of(self.names, tasks)]
        for part in torch.split(inputs, _ROWS):
            yield _evaluate(layers, part.to(device)).cpu().numpy()


class TargetData(Annotated):
    """`data` with your own targets, one row per row of the data and one column per task.

    `kinds` is `regression` or `classification`, for all tasks or one for each. Classes are whole numbers or words; a
    batch holds their index in `classes`.
    """

    def __init__(self, data: FactorData, targets: Tensor | Array, kinds: str | Sequence[str] = "regression") -> None:
        super().__init__(data)
        table = one_row_each(np.asarray(targets), data, "targets")
        self.kinds = (kinds,) * table.shape[1] if isinstance(kinds, str) else tuple(kinds)
        for kind in self.kinds:
            if kind not in KINDS:
                raise InputError(f"task_kind is '{kind}'{nearest(kind, KINDS)}")
        if len(self.kinds) != table.shape[1]:
            raise InputError(f"task_kind names {len(self.kinds)} kinds and there are {table.shape[1]} tasks")
        self.classes: list[list[Any] | None] = []
        columns = []
        for number, kind in enumerate(self.kinds):
            name, column = f"targets column {number}", table[:, number]
            if kind == "classification":
                labels, values = _classes(column, name)
                self.classes.append(labels)
            else:
                values = finite_numbers(column, name, ", or task_kind=classification")
                self.classes.append(None)
            columns.append(values)
        self._table = torch.from_numpy(np.stack(columns, 1))
        self.tasks = tuple(1 if labels is None else len(labels) for labels in self.classes)

    def extras(self, rows: Tensor) -> dict[str, Tensor]:
        return {"targets": self._table[rows]}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "tasks": {"targets": digest(self._table), "kinds": list(self.kinds)}}


def _classes(column: Array, name: str) -> tuple[list[Any], Array]:
    """The labels, and each row's index among them as float32."""
    if column.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(column) | (column != np.floor(column)))
        if len(bad):
            raise InputError(
                f"{name} is {column[bad[0]]} at row {bad[0]}; expected whole numbers or words as classes, "
                "or task_kind=regression"
            )
    elif column.dtype.kind not in "iubUS":
        raise InputError(f"{name} is {column.dtype}; expected whole numbers or words as classes")
    labels, classes = np.unique(column, return_inverse=True)
    if len(labels) < 2:
        raise InputError(f"{name} has only the class {labels[0].item()!r}; expected at least two")
    return labels.tolist(), classes.astype(np.float32)


def with_tasks(
    data: FactorData,
    tasks: int = 0,
    task_seed: int = 0,
    task_factors: str = "all",
    task_networks: str = "own",
    task_width: int = 300,
    task_scale: float = 1.0,
    task_targets: str = "as_is",
    targets: str = "",
    task_kind: str = "regression",
) -> TaskData | TargetData:
    """`tasks` random tasks, or the `targets` in an .npy file (rows, tasks); `task_kind` may name one kind per task."""
    if targets and tasks:
        raise InputError("tasks draws random tasks and targets names your own; expected one of them")
    if targets:
        kinds = task_kind.split(",")
        return TargetData(data, read_array(targets, "targets"), kinds[0] if len(kinds) == 1 else kinds)
    if not tasks:
        raise InputError("there are no tasks; expected tasks=10 for random ones, or targets=FILE.npy for your own")
    if task_targets not in TARGETS:
        raise InputError(f"task_targets is '{task_targets}'{nearest(task_targets, TARGETS)}")
    random = RandomTasks(tasks, task_seed, task_factors, task_width, scale=task_scale, networks=task_networks)
    return TaskData(data, random, task_targets == "centred")


DECLARED = Wrapper(
    with_tasks,
    {
        "tasks": "How many random tasks: networks of the factors.",
        "task_seed": "Seed of the random tasks.",
        "task_factors": "What a task depends on: all, random, halves, or factors by name as x,y.",
        "task_networks": "own for one network per task, shared for tasks that are the outputs of one network.",
        "task_width": "Units in each of the four hidden layers of a random task.",
        "task_scale": "Factors run from 0 to this; a larger one makes rougher tasks.",
        "task_targets": "as_is, or centred to take off each random task's mean over all rows.",
        "targets": "An .npy of your own targets (rows, tasks) instead.",
        "task_kind": "regression or classification, for all targets or a list by commas.",
    },
    gives="targets",
    user_files={"targets": ()},
)
