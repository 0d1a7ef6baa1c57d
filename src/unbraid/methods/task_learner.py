"""What learners of supervised tasks share: settings, errors, and an encoder with heads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid import nets
from unbraid.errors import InputError
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Config, Spec, setting


@dataclass(frozen=True)
class HeadConfig(Config):
    """Settings of the heads: multitask, table 3."""

    head_width: int = setting(300, "units in a hidden layer of a head", low=1, high=100_000)
    head_layers: int = setting(3, "hidden layers of a head", low=1, high=100)
    activation: str = setting("relu", "between the layers of a head", choices=("relu", "tanh"))


@dataclass(frozen=True)
class TaskConfig(HeadConfig):
    """Settings of an encoder with heads; the defaults are multitask's, appendix C.1."""

    batch_size: int = setting(256, "images in a batch", low=1, high=1_000_000, live=True)
    learning_rate: float = setting(1e-3, "learning rate of Adam", above=0, live=True)
    latents: int = setting(8, "dimensions of the code", low=1, high=100_000)
    network: str = setting("multitask", "network of the encoder", choices=nets.NETWORKS, group=nets.GROUP)


def head_each(config: HeadConfig, codes: int, tasks: Sequence[int]) -> nets.Heads:
    """One head per task."""
    return nets.Heads(len(tasks), codes, max(tasks), config.head_width, config.head_layers, config.activation)


def check_tasks(method: str, tasks: Sequence[int]) -> None:
    if not tasks:
        raise InputError(
            f"{method} needs data with tasks; expected tasks=10 for random ones, or targets=FILE.npy for your own"
        )


def task_errors(outputs: Tensor, targets: Tensor, tasks: Sequence[int]) -> Tensor:
    """The mean error of each task, (tasks,): squared where the target is a number, else the cross-entropy.

    `outputs` (tasks, n, most classes) and `targets` (n, tasks); `tasks` has the number of classes, 1 for a number.
    """
    outputs = outputs.float()
    errors = (outputs[..., 0] - targets.T).square()  # (tasks, n)
    if max(tasks) > 1:
        chosen = torch.tensor(tasks, device=outputs.device)[:, None] > 1
        labels = torch.where(chosen, targets.T, 0).long()
        logits = _logits(outputs, tasks).flatten(0, 1)
        entropies = F.cross_entropy(logits, labels.flatten(), reduction="none").view_as(errors)
        errors = torch.where(chosen, entropies, errors)
    return errors.mean(1)


def measured(outputs: Tensor, targets: Tensor, tasks: Sequence[int]) -> Terms:
    """`error` over all tasks, `error_0`, … of each; `squared_error` and `accuracy` over the tasks that have one."""
    errors = task_errors(outputs, targets, tasks)
    numbers = torch.tensor([classes == 1 for classes in tasks], device=errors.device)
    terms = {"error": errors.mean()}
    if numbers.any():
        terms["squared_error"] = errors[numbers].mean()
    if not numbers.all():
        right = _logits(outputs, tasks).argmax(2) == targets.T
        terms["accuracy"] = right[~numbers].float().mean()
    return terms | {f"error_{task}": error for task, error in enumerate(errors)}


def _logits(outputs: Tensor, tasks: Sequence[int]) -> Tensor:
    """Outputs (tasks, n, most classes) with -inf for classes that a task does not have."""
    classes = torch.tensor(tasks, device=outputs.device)[:, None, None]
    return outputs.masked_fill(torch.arange(outputs.shape[2], device=outputs.device) >= classes, -torch.inf)


class TaskLearner(Method):
    """An encoder and heads that are trained together. A variant defines its heads; `learned` are the tasks in the loss.

    `encoder` may be a network of your own: float images (n, C, H, W) in [0, 1] -> codes (n, latents).
    """

    config_class = TaskConfig
    config: TaskConfig
    measures = True
    needs = ("images", "targets")

    def __init__(
        self, config: TaskConfig, spec: Spec, encoder: nn.Module | None = None, learned: slice = slice(None)
    ) -> None:
        super().__init__(config, spec)
        check_tasks(type(self).__name__, spec.tasks)
        self.learned = learned
        self.encoder = encoder or nets.encoder(config.network, spec.image_shape, config.latents)
        self.heads = self.make_heads()
        self.add_adam("tasks", [*self.encoder.parameters(), *self.heads.parameters()])

    @abstractmethod
    def make_heads(self) -> nets.Heads: ...

    @abstractmethod
    def outputs(self, codes: Tensor, tasks: slice) -> Tensor:
        """Codes (n, d) -> the outputs of these tasks, (tasks, n, most classes)."""

    def loss(self, codes: Tensor, targets: Tensor) -> Terms:
        """`loss` is the sum of the learned tasks' errors, `error` their mean."""
        with self.autocast():
            outputs = self.outputs(codes, self.learned)
        errors = task_errors(outputs, targets[:, self.learned], self.spec.tasks[self.learned])
        return {"loss": errors.sum(), "error": errors.mean()}

    def update(self, batch: Batch) -> Terms:
        terms = self.loss(self.encode(batch["images"]), batch["targets"])
        self.descend("tasks", terms["loss"])
        return {name: term.detach() for name, term in terms.items()}

    def encoding(self, batch: Batch) -> Encoding:
        with self.autocast():
            codes = self.encoder(self.pixels(batch["images"]))
        return Encoding(codes.float())

    @torch.no_grad()
    def measure(self, batch: Batch) -> Terms:
        with self.autocast():
            outputs = self.outputs(self.encode(batch["images"]), slice(None))
        return measured(outputs.float(), batch["targets"].to(self.device), self.spec.tasks)
