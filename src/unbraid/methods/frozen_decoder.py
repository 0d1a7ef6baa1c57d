"""A decoder on the codes of a frozen encoder: how much of the image do they keep?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid import nets
from unbraid.methods._frozen import OnCodes
from unbraid.methods.base import Batch, Terms
from unbraid.methods.config import Config as BaseConfig
from unbraid.methods.config import Spec, setting


@dataclass(frozen=True)
class Config(BaseConfig):
    """The defaults are multitask's, appendix C.2."""

    learning_rate: float = setting(2e-4, "learning rate of Adam at the start", above=0, live=True)
    network: str = setting("multitask", "network of the decoder", choices=nets.PAIRS, group=nets.GROUP)
    halve_every: int = setting(0, "steps between two halvings of the learning rate, 0 for none", low=0)


class FrozenDecoder(OnCodes):
    """loss = squared_error: of the decoded image, averaged over pixels"""

    config_class = Config
    config: Config
    decodes = measures = True
    needs = ("images", "codes")

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        self.check_codes(spec)
        self.decoder = nets.decoder(config.network, spec.codes, spec.image_shape)
        self.add_adam("decoder", self.decoder.parameters())

    def update(self, batch: Batch) -> Terms:
        error = self._error(batch)
        halvings = self.steps // self.config.halve_every if self.config.halve_every else 0
        self.descend("decoder", error, decay=0.5**halvings)
        return {"loss": error.detach(), "squared_error": error.detach()}

    def _error(self, batch: Batch) -> Tensor:
        x = self.pixels(batch["images"])
        with self.autocast():
            outputs = self.decoder(self.encoding(batch).codes)
        return F.mse_loss(outputs.float(), x)

    @torch.no_grad()
    def measure(self, batch: Batch) -> Terms:
        return {"squared_error": self._error(batch)}

    def decode(self, codes: Tensor) -> Tensor:
        with self.autocast():
            outputs: Tensor = self.decoder(codes.to(self.device))
        return outputs.float().clamp(0, 1)
