"""An encoder as it starts: what a representation is worth before anything is learned."""

from __future__ import annotations

import torch
from torch import Tensor

from unbraid import nets
from unbraid.methods._tasks import TaskConfig, head_each, measured
from unbraid.methods.base import Batch, Method, Spec, Terms


class RandomEncoder(Method):
    """loss = 0: nothing is learned"""

    config_class = TaskConfig
    config: TaskConfig

    def __init__(self, config: TaskConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.encoder = nets.encoder(config.network, spec.image_shape, config.latents)
        self.heads = head_each(config, config.latents, spec.tasks) if spec.tasks else None

    def update(self, batch: Batch) -> Terms:
        return {"loss": torch.zeros((), device=self.device)}

    def encode(self, images: Tensor) -> Tensor:
        with self.autocast():
            codes: Tensor = self.encoder(self.pixels(images))
        return codes.float()

    @torch.no_grad()
    def measure(self, batch: Batch) -> Terms:
        """The errors of heads that have learned nothing either; nothing on data without tasks."""
        if self.heads is None:
            return {}
        with self.autocast():
            outputs = self.heads(self.encode(batch["images"]))
        return measured(outputs.float(), batch["targets"].to(self.device), self.spec.tasks)
