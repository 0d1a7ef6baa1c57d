"""InfoGAN-CR (Lin et al. 2020): a GAN whose codes can be read from its images, singly and in pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from unbraid import nets
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Config as BaseConfig
from unbraid.methods.config import Spec, setting

BETAS = (0.5, 0.999)


@dataclass(frozen=True)
class Config(BaseConfig):
    learning_rate: float = setting(1e-3, "learning rate of the generator's Adam", above=0, live=True)
    discriminator_learning_rate: float = setting(2e-3, "learning rate of the Adam of D and Q", above=0, live=True)
    contrastive_learning_rate: float = setting(2e-3, "learning rate of the Adam of CR", above=0, live=True)
    latents: int = setting(5, "codes, each uniform from -1 to 1", low=1, high=100_000)
    noise: int = setting(5, "dimensions of the noise, uniform from -1 to 1 too", low=0, high=100_000)
    lambda_information: float = setting(0.05, "weight of the information about the codes", low=0, live=True)
    alpha: float = setting(2.0, "weight of the contrastive regularization", low=0, live=True)
    contrastive_from: int = setting(288_000, "steps before the contrastive regularization begins", low=0)
    channels: int = setting(
        32, "channels of the first convolutions and the generator's last; others have twice that", low=1, high=100_000
    )
    generator_steps: int = setting(2, "steps of the generator per step of D and Q", low=1, high=10_000)


class InfoGANCR(Method):
    """loss = generator + λ·information + α·contrastive, which the generator descends

    D distinguishes real images from generated ones; Q predicts the codes of an image, and is the encoder. CR predicts
    which one code two generated images share.
    """

    config_class = Config
    config: Config
    decodes = True

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        channels, height, width = spec.image_shape
        self.generator = nets.infogan_generator(config.latents + config.noise, spec.image_shape, config.channels)
        self.trunk = nets.infogan_trunk(spec.image_shape, config.channels)
        self.d = spectral_norm(nn.Linear(128, 1))
        self.q = nn.Sequential(
            spectral_norm(nn.Linear(128, 128)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(128, config.latents))
        )
        pairs = nets.infogan_trunk((2 * channels, height, width), config.channels)
        self.cr = nn.Sequential(pairs, nn.Linear(128, config.latents))
        discriminators = nn.ModuleList([self.trunk, self.d, self.q])
        self.add_adam("generator", self.generator.parameters(), betas=BETAS)
        self.add_adam("discriminator", discriminators.parameters(), "discriminator_learning_rate", BETAS)
        self.add_adam("contrastive", self.cr.parameters(), "contrastive_learning_rate", BETAS)

    def update(self, batch: Batch) -> Terms:
        real = self.pixels(batch["images"])
        inputs, pairs = self._draw(len(real)), self._draw_pairs(len(real))
        contrasting = self.steps >= self.config.contrastive_from
        if contrasting:
            with torch.no_grad():
                images = self._pair_images(pairs[0])
            self.descend("contrastive", self._contrastive(images, pairs[1]))
        with torch.no_grad():
            fake = self._generate(inputs)
        logits, information = self._discriminate(torch.cat([fake, real]), inputs)
        discriminator = F.softplus(logits[: len(fake)]).mean() + F.softplus(-logits[len(fake) :]).mean()
        self.descend("discriminator", discriminator + self.hp["lambda_information"] * information)
        for network in (self.trunk, self.d, self.q, self.cr):
            network.requires_grad_(False)
        for _ in range(self.config.generator_steps):
            terms = self._generator_terms(inputs, pairs, contrasting)
            self.descend("generator", terms["loss"])
        for network in (self.trunk, self.d, self.q, self.cr):
            network.requires_grad_(True)
        return {name: term.detach() for name, term in (terms | {"discriminator": discriminator}).items()}

    def _generator_terms(self, inputs: Tensor, pairs: tuple[Tensor, Tensor], contrasting: bool) -> Terms:
        logits, information = self._discriminate(self._generate(inputs), inputs)
        generator = F.softplus(-logits).mean()
        loss = generator + self.hp["lambda_information"] * information
        contrastive = loss.new_zeros(())
        if contrasting:
            contrastive = self._contrastive(self._pair_images(pairs[0]), pairs[1])
            loss = loss + self.hp["alpha"] * contrastive
        return {"loss": loss, "generator": generator, "information": information, "contrastive": contrastive}

    def _discriminate(self, images: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """D's logits of images (m,), and -log Q of the codes in `inputs`, from which the first of them were generated.

        Q is a Gaussian of unit variance, without its constant.
        """
        with self.autocast():
            features = self.trunk(images)
            logits, codes = self.d(features), self.q(features[: len(inputs)])
        errors = codes.float() - inputs[:, : self.config.latents]
        return logits.float()[:, 0], 0.5 * errors.square().sum(1).mean()

    def _contrastive(self, images: Tensor, shared: Tensor) -> Tensor:
        with self.autocast():
            logits = self.cr(images)
        return F.cross_entropy(logits.float(), shared)

    def _draw(self, n: int) -> Tensor:
        """Codes and noise (n, d), at least two rows: batch norm needs more than one."""
        width = self.config.latents + self.config.noise
        return 2 * torch.rand(max(n, 2), width, device=self.device) - 1

    def _draw_pairs(self, n: int) -> tuple[Tensor, Tensor]:
        """Codes and noise of pairs (n, 2, d) that share one code and all noise, and which code that is (n,)."""
        pairs = torch.stack([self._draw(n), self._draw(n)], 1)
        shared = torch.randint(self.config.latents, (len(pairs),), device=self.device)
        same = torch.arange(pairs.shape[2], device=self.device) == shared[:, None]
        same[:, self.config.latents :] = True
        pairs[:, 1] = torch.where(same, pairs[:, 0], pairs[:, 1])
        return pairs, shared

    def _pair_images(self, pairs: Tensor) -> Tensor:
        """The two images of each pair as channels of one: (n, 2C, H, W)."""
        images = self._generate(pairs.flatten(0, 1))
        return images.view(-1, 2, *images.shape[1:]).flatten(1, 2)

    def _generate(self, inputs: Tensor) -> Tensor:
        with self.autocast():
            logits: Tensor = self.generator(inputs)
        return logits.float().sigmoid()

    def encoding(self, batch: Batch) -> Encoding:
        with self.autocast():
            codes = self.q(self.trunk(self.pixels(batch["images"])))
        return Encoding(codes.float())

    def decode(self, codes: Tensor) -> Tensor:
        """The images of these codes with all noise 0, the middle of its range."""
        return self._generate(F.pad(codes.to(self.device), (0, self.config.noise)))
