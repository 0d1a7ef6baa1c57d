"""Task heads on the codes of a frozen encoder, or on the true factors: which codes are good to learn tasks from?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.methods._frozen import OnCodes
from unbraid.methods.base import Batch, Terms
from unbraid.methods.config import Spec, setting
from unbraid.methods.task_learner import HeadConfig, check_tasks, head_each, measured, task_errors


@dataclass(frozen=True)
class Config(HeadConfig):
    """The defaults are multitask's, appendix C.3."""

    activation: str = setting("tanh", "between the layers of a head", choices=("relu", "tanh"))


class FrozenHeads(OnCodes):
    """loss = Σ_t error_t, each task with a head of its own on codes that stay as they are"""

    config_class = Config
    config: Config
    measures = True
    needs = ("codes", "targets")

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        self.check_codes(spec)
        check_tasks(type(self).__name__, spec.tasks)
        self.heads = head_each(config, spec.codes, spec.tasks)
        self.add_adam("heads", self.heads.parameters())

    def update(self, batch: Batch) -> Terms:
        errors = task_errors(self._outputs(batch), batch["targets"], self.spec.tasks)
        loss = errors.sum()
        self.descend("heads", loss)
        return {"loss": loss.detach(), "error": errors.mean().detach()}

    def _outputs(self, batch: Batch) -> Tensor:
        with self.autocast():
            outputs: Tensor = self.heads(self.encoding(batch).codes)
        return outputs.float()

    @torch.no_grad()
    def measure(self, batch: Batch) -> Terms:
        return measured(self._outputs(batch), batch["targets"].to(self.device), self.spec.tasks)
