"""What all VAEs share: a Gaussian encoder, a decoder, and a loss that each variant spells out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from unbraid import nets
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Config, Spec, setting
from unbraid.methods.gaussian import Posterior


@dataclass(frozen=True)
class AutoencoderConfig(Config):
    """Settings of every encoder-decoder pair."""

    latents: int = setting(10, "dimensions of the code", low=1, high=100_000)
    network: str = setting("assumptions", "encoder and decoder", choices=nets.PAIRS, group=nets.GROUP)
    likelihood: str = setting(
        "bernoulli", "p(x|z) of a pixel: Bernoulli, or Gaussian of unit variance", choices=("bernoulli", "gaussian")
    )
    pixel_weight: float = setting(
        1.0, "how many pixels each pixel counts for in p(x|z): 4 if images of 32x32 stand for 64x64", above=0
    )


def negative_log_likelihood(outputs: Tensor, images: Tensor, likelihood: str, pixel_weight: float = 1.0) -> Tensor:
    """-log p(x|z) summed over pixels, averaged over the batch; without its constant where p is Gaussian.

    `outputs` are logits where p is `bernoulli`, else means. Each pixel counts `pixel_weight` times.

    >>> import torch
    >>> negative_log_likelihood(torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2), "bernoulli")  # 4 log 2
    tensor(2.7726)
    """
    if likelihood == "bernoulli":
        total = F.binary_cross_entropy_with_logits(outputs, images, reduction="sum")
    else:
        total = 0.5 * (outputs - images).square().sum()
    return pixel_weight * total / len(images)


def expected_images(outputs: Tensor, likelihood: str) -> Tensor:
    """The mean of p(x|z), in [0, 1]."""
    return outputs.sigmoid() if likelihood == "bernoulli" else outputs.clamp(0, 1)


class VAE(Method):
    """-ELBO and a regularizer. A variant defines `loss`: its terms by name, the objective under `loss`.

    A variant whose step has more to it (an adversary, pairs of images, labels) defines `update` too.
    """

    config_class = AutoencoderConfig
    config: AutoencoderConfig
    gaussian = decodes = reconstructs = True

    def __init__(self, config: AutoencoderConfig, spec: Spec) -> None:
        super().__init__(config, spec)
        self.encoder = nets.encoder(config.network, spec.image_shape, 2 * config.latents)
        self.decoder = nets.decoder(config.network, config.latents, spec.image_shape)
        self.add_adam("vae", [*self.encoder.parameters(), *self.decoder.parameters()])

    @abstractmethod
    def loss(self, q: Posterior, reconstruction: Tensor) -> Terms:
        """The variant's terms. `reconstruction` is -log p(x|z), summed over pixels, averaged over the batch."""

    def update(self, batch: Batch) -> Terms:
        q, reconstruction = self.autoencode(batch["images"])
        terms = self.loss(q, reconstruction)
        self.descend("vae", terms["loss"])
        return {name: term.detach() for name, term in terms.items()}

    def autoencode(self, images: Tensor) -> tuple[Posterior, Tensor]:
        """The posterior with a sample, and -log p(x|z) of the sample."""
        x = self.pixels(images)
        q = Posterior.draw(*self._posterior(x))
        return q, self._reconstruction(x, q.sample)

    def _reconstruction(self, x: Tensor, codes: Tensor) -> Tensor:
        with self.autocast():
            outputs = self.decoder(codes)
        return negative_log_likelihood(outputs.float(), x, self.config.likelihood, self.config.pixel_weight)

    def reconstruction(self, images: Tensor, codes: Tensor) -> Tensor:
        return self._reconstruction(self.pixels(images), codes.to(self.device))

    def _posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with self.autocast():
            outputs = self.encoder(x)
        mean, logvar = outputs.float().chunk(2, 1)
        return mean, logvar

    def encoding(self, batch: Batch) -> Encoding:
        return Encoding(*self._posterior(self.pixels(batch["images"])))

    def decode(self, codes: Tensor) -> Tensor:
        with self.autocast():
            outputs = self.decoder(codes.to(self.device))
        return expected_images(outputs.float(), self.config.likelihood)
