"""One head with an output for every task: plain regression on many targets."""

from __future__ import annotations

from torch import Tensor

from unbraid import nets
from unbraid.methods.task_learner import TaskLearner


class OneHead(TaskLearner):
    """loss = Σ_t error_t, all tasks from one head"""

    def make_heads(self) -> nets.Heads:
        config, tasks = self.config, self.spec.tasks
        outputs = len(tasks) * max(tasks)
        return nets.Heads(1, config.latents, outputs, config.head_width, config.head_layers, config.activation)

    def outputs(self, codes: Tensor, tasks: slice) -> Tensor:
        outputs: Tensor = self.heads(codes)
        return outputs.view(len(codes), len(self.spec.tasks), -1).transpose(0, 1)[tasks]
