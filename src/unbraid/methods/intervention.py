"""Disentanglement by intervention: an autoencoder whose features can be exchanged one by one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid import nets
from unbraid.methods import intervention_losses, translation
from unbraid.methods._features import feature_columns
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Spec, setting
from unbraid.methods.translation import Pairs
from unbraid.methods.vae import AutoencoderConfig, expected_images, negative_log_likelihood

WEIGHTINGS = ("learned", "equal")


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    network: str = setting(
        "intervention", "encoder, decoder, discriminator and weight network", choices=nets.PAIRS, group=nets.GROUP
    )
    dimensions: int = setting(
        1, "dimensions of a feature; the code has latents / dimensions features", low=1, high=100_000
    )
    lambda_1: float = setting(0.25, "weight of the image restored by the second intervention", low=0, live=True)
    lambda_2: float = setting(10.0, "weight of the adversarial loss", low=0, live=True)
    lambda_3: float = setting(1.0, "weight of the difficulty of translation", low=0, live=True)
    discriminator_learning_rate: float = setting(1e-4, "learning rate of the discriminator's Adam", above=0, live=True)
    weight_learning_rate: float = setting(1e-5, "learning rate of the weight network's Adam", above=0, live=True)
    weighting: str = setting("learned", "weights of intervened images: learned, or all equal", choices=WEIGHTINGS)
    warm_up: int = setting(0, "steps at the beginning without the difficulty of translation", low=0)
    rise: int = setting(0, "steps after the warm-up over which lambda_3 rises from 0 to its value", low=0)
    target: str = setting(
        "written",
        "images v of the difficulty: trained with it as written, detached, or the excess over their entropy",
        choices=translation.TARGETS,
    )
    translation_steps: int = setting(5, "steps of the translation network in each training step", low=0, high=10_000)
    translation_rate: float = setting(2.0, "learning rate of the translation network", above=0, live=True)
    translation_width: int = setting(64, "hidden units of the translation network", low=1, high=100_000)


class Intervention(Method):
    """loss = reconstruction + λ₁·intervention + λ₂·adversarial + λ₃·difficulty (equation 3)

    Encoder, decoder and weight network descend it, the discriminator ascends it, all by one gradient.
    """

    config_class = Config
    config: Config
    decodes = True
    cost = 4.5

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        self.columns = feature_columns(config.latents, config.dimensions)
        self.features = len(self.columns)
        self.encoder = nets.encoder(config.network, spec.image_shape, config.latents)
        self.decoder = nets.decoder(config.network, config.latents, spec.image_shape)
        self.discriminator = nets.critic(config.network, spec.image_shape)
        self.weight_network = nets.critic(config.network, spec.image_shape)
        self.add_adam("autoencoder", [*self.encoder.parameters(), *self.decoder.parameters()])
        self.add_adam("discriminator", self.discriminator.parameters(), "discriminator_learning_rate")
        self.add_adam("weight_network", self.weight_network.parameters(), "weight_learning_rate")

    @property
    def code_groups(self) -> list[list[int]] | None:
        return self.columns if self.config.dimensions > 1 else None

    def update(self, batch: Batch) -> Terms:
        terms = self.loss(self.pixels(batch["images"]))
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        for parameter in self.discriminator.parameters():
            if parameter.grad is not None:
                parameter.grad.neg_()  # it ascends
        for name in self.optimisers:
            self.step(name)
        return {name: term.detach() for name, term in terms.items()}

    def loss(self, x: Tensor) -> Terms:
        """The terms of float images (n, C, H, W). One of weight 0 is not computed, and 0."""
        n, likelihood, pixel_weight = len(x), self.config.likelihood, self.config.pixel_weight
        lambda_1, lambda_2, lambda_3 = self.hp["lambda_1"], self.hp["lambda_2"], self.hp["lambda_3"] * self.risen
        z = self._codes(x)
        k = torch.randint(self.features, (n,), device=x.device)
        swapped = self._intervene(z, z[torch.randperm(n, device=x.device)], k)  # intervention 1
        wanted = [z, swapped, *(self._translation_codes(z) if lambda_3 else ())]
        outputs = torch.split(self._outputs(torch.cat(wanted)), n)
        x_hat, moved, *translated = (expected_images(part, likelihood) for part in outputs)
        reconstruction = negative_log_likelihood(outputs[0], x, likelihood, pixel_weight)
        zero = x.new_zeros(())
        intervention = self._restored(x, z, moved, k) if lambda_1 else zero
        adversarial = self._adversarial(x_hat, moved) if lambda_2 else zero
        difficulty = pixel_weight * self._difficulty(*translated) if lambda_3 else zero
        return {
            "loss": reconstruction + lambda_1 * intervention + lambda_2 * adversarial + lambda_3 * difficulty,
            "reconstruction": reconstruction,
            "intervention": intervention,
            "adversarial": adversarial,
            "difficulty": difficulty,
        }

    @property
    def risen(self) -> float:
        """The share of λ₃ that counts in this step: none while warming up, then more and more."""
        after = self.steps - self.config.warm_up
        return float(after >= 0) if not self.config.rise else min(max(after / self.config.rise, 0.0), 1.0)

    @torch.no_grad()
    def exchange(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Reconstructions of uint8 images, the same with a random feature of another of them, and the weights of these.

        By proposition 2 the intervened images, so weighted, should be distributed as the others.
        """
        n, z = len(images), self.encode(images)
        k = torch.randint(self.features, (n,), device=z.device)
        moved = self.decode(self._intervene(z, z[torch.randperm(n, device=z.device)], k))
        return self.decode(z), moved, self._weights(moved)

    def _restored(self, x: Tensor, z: Tensor, moved: Tensor, k: Tensor) -> Tensor:
        """L_in: intervention 2 restores feature k of the encoded intervened images, which should give x again."""
        outputs = self._outputs(self._intervene(self._codes(moved), z, k))
        return negative_log_likelihood(outputs, x, self.config.likelihood, self.config.pixel_weight)

    def _adversarial(self, x_hat: Tensor, moved: Tensor) -> Tensor:
        """L_adv of reconstructions, the real images, and intervened ones."""
        with self.autocast():
            logits = self.discriminator(torch.cat([x_hat, moved]))
        real, fake = logits.float()[:, 0].split([len(x_hat), len(moved)])
        return intervention_losses.adversarial(real, fake, self._weights(moved))

    def _weights(self, moved: Tensor) -> Tensor:
        """W(x̂')/N of intervened images, (n,)."""
        if self.config.weighting == "equal":
            return moved.new_ones(len(moved))
        with self.autocast():
            logits = self.weight_network(moved)
        return intervention_losses.normalised(logits.float()[:, 0])

    def _translation_codes(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The batch's codes with one of its values of a random feature in all of them, and with another."""
        n = len(z)
        k = torch.randint(self.features, (1,), device=z.device).expand(n)
        a, b = torch.rand(n, device=z.device).argsort()[[0, -1]]
        return self._intervene(z, z[a].expand_as(z), k), self._intervene(z, z[b].expand_as(z), k)

    def _difficulty(self, u: Tensor, v: Tensor) -> Tensor:
        """L_diff of images u and v: half of the pairs train the translation, the others test it."""
        n, config = len(u), self.config
        u, v = u.flatten(1), v.flatten(1)
        v = v.detach() if config.target == "detached" else v
        train, test = (Pairs(u[None, rows], v[None, rows]) for rows in (slice(0, (n + 1) // 2), slice(n // 2, n)))
        weights = translation.first_weights(train, config.translation_width)
        rate = self.hp["translation_rate"]
        loss = translation.difficulty(train, test, weights, config.translation_steps, rate)[0]
        return loss - translation.entropy(test.v)[0] if config.target == "excess" else loss

    def _intervene(self, codes: Tensor, others: Tensor, features: Tensor) -> Tensor:
        return intervention_losses.intervened(codes, others, features, self.config.dimensions)

    def _codes(self, x: Tensor) -> Tensor:
        with self.autocast():
            codes: Tensor = self.encoder(x)
        return codes.float()

    def _outputs(self, codes: Tensor) -> Tensor:
        with self.autocast():
            outputs: Tensor = self.decoder(codes)
        return outputs.float()

    def encoding(self, batch: Batch) -> Encoding:
        return Encoding(self._codes(self.pixels(batch["images"])))

    def decode(self, codes: Tensor) -> Tensor:
        return expected_images(self._outputs(codes.to(self.device)), self.config.likelihood)
