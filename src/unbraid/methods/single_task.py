"""One task out of many: the encoder and heads of multitask, with one of the heads in use."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from unbraid import nets
from unbraid.errors import InputError
from unbraid.methods.config import Spec, setting
from unbraid.methods.task_learner import TaskConfig, TaskLearner, head_each


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
        super().__init__(config, spec, encoder, slice(config.task, config.task + 1))

    def make_heads(self) -> nets.Heads:
        return head_each(self.config, self.config.latents, self.spec.tasks)

    def outputs(self, codes: Tensor, tasks: slice) -> Tensor:
        outputs: Tensor = self.heads(codes, tasks)
        return outputs
