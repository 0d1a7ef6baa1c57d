"""A plain autoencoder: a code and its reconstruction, no prior."""

from __future__ import annotations

from torch import Tensor

from unbraid import nets
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Spec
from unbraid.methods.vae import AutoencoderConfig, expected_images, negative_log_likelihood


class Autoencoder(Method):
    """loss = reconstruction"""

    config_class = AutoencoderConfig
    config: AutoencoderConfig
    decodes = True

    def __init__(self, config: AutoencoderConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.encoder = nets.encoder(config.network, spec.image_shape, config.latents)
        self.decoder = nets.decoder(config.network, config.latents, spec.image_shape)
        self.add_adam("autoencoder", [*self.encoder.parameters(), *self.decoder.parameters()])

    def update(self, batch: Batch) -> Terms:
        x = self.pixels(batch["images"])
        with self.autocast():
            outputs = self.decoder(self.encoder(x))
        weight = self.config.pixel_weight
        reconstruction = negative_log_likelihood(outputs.float(), x, self.config.likelihood, weight)
        self.descend("autoencoder", reconstruction)
        return {"loss": reconstruction.detach(), "reconstruction": reconstruction.detach()}

    def encoding(self, batch: Batch) -> Encoding:
        with self.autocast():
            codes = self.encoder(self.pixels(batch["images"]))
        return Encoding(codes.float())

    def decode(self, codes: Tensor) -> Tensor:
        with self.autocast():
            outputs = self.decoder(codes.to(self.device))
        return expected_images(outputs.float(), self.config.likelihood)
