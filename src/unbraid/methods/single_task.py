"""One task out of many: the encoder and heads of multitask, with one of the heads in use."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from unbraid import nets
from unbraid.errors import InputError
from unbraid.methods._tasks import TaskConfig, TaskLearner, head_each, task_errors
from unbraid.methods.base import Spec, Terms, setting


@dataclass(frozen=True)
class Config(TaskConfig):
    task: int = setting(0, "which task is learned, the first is 0", low=0)


class SingleTask(TaskLearner):
    """loss = error_t of the one task t; the heads of the others stay as they start"""

    config_class = Config
    config: Config

    def __init__(self, config: Config, spec: Spec, encoder: nn.Module | None = None) -> None:
        if spec.tasks and config.task >= len(spec.tasks):
            raise InputError(f"task is {config.task}; the data has {len(spec.tasks)} tasks, the first is 0")
        super().__init__(config, spec, encoder)

    def make_heads(self) -> nets.Heads:
        return head_each(self.config, self.config.latents, self.spec.tasks)

    def outputs(self, codes: Tensor) -> Tensor:
        found: Tensor = self.heads(codes)
        return found

    def loss(self, codes: Tensor, targets: Tensor) -> Terms:
        chosen = slice(self.config.task, self.config.task + 1)
        with self.autocast():
            outputs = self.heads(codes, chosen)
        (error,) = task_errors(outputs, targets[:, chosen], self.spec.tasks[chosen])
        return {"loss": error, "error": error}
