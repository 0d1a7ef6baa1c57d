"""Multi-task learning by hard parameter sharing: one encoder, a head for every task."""

from __future__ import annotations

from torch import Tensor

from unbraid import nets
from unbraid.methods.task_learner import TaskLearner, head_each


class Multitask(TaskLearner):
    """loss = Σ_t error_t, each task with a head of its own"""

    def make_heads(self) -> nets.Heads:
        return head_each(self.config, self.config.latents, self.spec.tasks)

    def outputs(self, codes: Tensor, tasks: slice) -> Tensor:
        outputs: Tensor = self.heads(codes, tasks)
        return outputs
