"""An untrained encoder: what a representation is worth before anything is learned."""

from __future__ import annotations

import torch

from unbraid import nets
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Spec
from unbraid.methods.task_learner import TaskConfig, head_each, measured


class RandomEncoder(Method):
    """loss = 0: nothing is learned"""

    config_class = TaskConfig
    config: TaskConfig
    measures = True

    def __init__(self, config: TaskConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.encoder = nets.encoder(config.network, spec.image_shape, config.latents)
        self.heads = head_each(config, config.latents, spec.tasks) if spec.tasks else None

    def update(self, batch: Batch) -> Terms:
        return {"loss": torch.zeros((), device=self.device)}

    def encoding(self, batch: Batch) -> Encoding:
        with self.autocast():
            codes = self.encoder(self.pixels(batch["images"]))
        return Encoding(codes.float())

    @torch.no_grad()
    def measure(self, batch: Batch) -> Terms:
        """The errors of heads that have not learned either; empty on data without tasks."""
        if self.heads is None:
            return {}
        with self.autocast():
            outputs = self.heads(self.encode(batch["images"]))
        return measured(outputs.float(), batch["targets"].to(self.device), self.spec.tasks)
