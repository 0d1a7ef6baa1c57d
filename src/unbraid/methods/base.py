"""The contract of a learner. It carries VAEs, adversaries, contrastive and supervised learners through one loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unbraid.errors import InputError
from unbraid.methods import _state
from unbraid.methods.config import Config, Spec

Batch = Mapping[str, Tensor]
Terms = dict[str, Tensor]


@dataclass(frozen=True)
class Encoding:
    """What an encoder makes of a batch, samples first, float32."""

    codes: Tensor
    """(n, d): the means, where the encoder is Gaussian."""
    logvar: Tensor | None = None
    """(n, d): the log-variances of a Gaussian encoder."""
    projection: Tensor | None = None
    """(n, p): what a projection network makes of the codes, where the loss is one of that."""


@dataclass(frozen=True)
class _Adam:
    """What an optimiser is built from."""

    parameters: list[nn.Parameter]
    rate: str
    """The live hyperparameter that is its learning rate."""
    betas: tuple[float, float]


class Method(nn.Module, ABC):
    """A learner: networks, optimisers, and what one step does.

    A batch holds what `needs` lists: `images` as uint8 (n, C, H, W) on the learner's device, `factors`, or what a data
    set adds (`targets`, a second view). Randomness comes from torch's default generators, which the loop seeds for
    every step. `state_dict` holds networks, optimisers, live hyperparameters and the step count: loading it resumes
    training exactly.
    """

    config_class: ClassVar[type[Config]] = Config
    needs: ClassVar[tuple[str, ...]] = ("images",)
    strength: ClassVar[tuple[str, ...]] = ()  # the live settings that weigh its regularizers
    sweep: ClassVar[tuple[float, ...]] = ()  # values of the first that are worth a try, weakest first
    cost: ClassVar[float] = 1.0  # of a step, in steps of an autoencoder with the same networks
    # What it can do
    gaussian: ClassVar[bool] = False  # its encodings have a log-variance
    decodes: ClassVar[bool] = False  # it has `decode`
    reconstructs: ClassVar[bool] = False  # it has `reconstruction`: with `gaussian`, an evidence lower bound
    measures: ClassVar[bool] = False  # it has `measure`: errors on rows held out

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__()
        self.config, self.spec = config, spec
        self.hp = config.live()
        self.steps = 0
        self.precision = "fp32"
        self._adams: dict[str, _Adam] = {}
        self._optimisers: dict[str, torch.optim.Optimizer] = {}  # built on first use

    @abstractmethod
    def update(self, batch: Batch) -> Terms:
        """Take one step and return its terms by name, detached scalars; `loss` is the objective."""

    @abstractmethod
    def encoding(self, batch: Batch) -> Encoding:
        """The codes of a batch, and what else the encoder says about them."""

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (n, d) -> images as floats in [0, 1], (n, C, H, W)."""
        raise InputError(f"{type(self).__name__} has no decoder")

    def reconstruction(self, images: Tensor, codes: Tensor) -> Tensor:
        """-log p(x|z) of uint8 images given codes (n, d), summed over pixels, averaged over images."""
        raise InputError(f"{type(self).__name__} has no likelihood of images")

    def measure(self, batch: Batch) -> Terms:
        """Errors on a batch that it does not learn from, by name."""
        raise InputError(f"{type(self).__name__} measures no error")

    @property
    def code_groups(self) -> list[list[int]] | None:
        """The columns of the codes that form each feature; None where each column is one."""
        return None

    @property
    def projection_groups(self) -> list[list[int]] | None:
        """The same for the projection."""
        return None

    def encode(self, images: Tensor) -> Tensor:
        """The codes of images (n, C, H, W), uint8 or floats in [0, 1]: float32 (n, d)."""
        expected = f"expected uint8, or floats in [0, 1], of shape (n, {', '.join(map(str, self.spec.image_shape))})"
        if tuple(images.shape[1:]) != tuple(self.spec.image_shape):
            raise InputError(f"images have shape {tuple(images.shape)}; {expected}")
        if images.dtype != torch.uint8:
            if not images.is_floating_point():
                raise InputError(f"images are {images.dtype}; {expected}")
            if len(images) and not (float(images.min()) >= 0 and float(images.max()) <= 1):
                raise InputError(f"images go from {float(images.min()):g} to {float(images.max()):g}; {expected}")
            images = images * 255
        return self.encoding({"images": images}).codes

    # What learners are made of

    def pixels(self, images: Tensor) -> Tensor:
        """uint8 images as floats in [0, 1], in the memory layout the networks want."""
        return images.to(self.device, memory_format=torch.channels_last).float() / 255

    def autocast(self) -> AbstractContextManager[None]:
        """Within it, networks run in the chosen precision; losses belong outside."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def add_adam(
        self,
        name: str,
        parameters: Iterable[nn.Parameter],
        rate: str = "learning_rate",
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        """Add the optimiser `name`: Adam, its step fused, its learning rate the live hyperparameter `rate`."""
        self._adams[name] = _Adam(list(parameters), rate, betas)

    @property
    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        """By name. They are built on first use: a trained model needs none, and the first costs PyTorch seconds."""
        for name, adam in self._adams.items():
            if name not in self._optimisers:
                self._optimisers[name] = torch.optim.Adam(
                    adam.parameters, self.hp[adam.rate], betas=adam.betas, eps=1e-8, fused=True
                )
        return self._optimisers

    def descend(self, name: str, loss: Tensor, decay: float = 1.0) -> None:
        """One step of the optimiser `name` down the gradient of `loss`, its learning rate times `decay`."""
        self.optimisers[name].zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.step(name, decay)

    def step(self, name: str, decay: float = 1.0) -> None:
        """One step of the optimiser `name` by the gradients of its parameters, its learning rate times `decay`."""
        for group in self.optimisers[name].param_groups:
            group["lr"] = self.hp[self._adams[name].rate] * decay
        self.optimisers[name].step()

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def prepare(self, device: str | torch.device, precision: str) -> Method:
        """Move to a device and choose the precision, `fp32` or `bf16`."""
        self.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        _state.lay_out(self._optimisers.values())
        self.precision = precision
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        _state.store(destination, prefix, self.steps, self.hp, self._optimisers)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        taken = _state.take(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)
        if taken:
            self.steps = int(taken.pop("steps"))
            self.hp = dict(zip(self.hp, taken.pop("hp").tolist(), strict=True))
            _state.restore(taken, self.optimisers)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for function, capability in _CAPABILITIES.items():
            if function in vars(cls) and not getattr(cls, capability):
                raise TypeError(f"{cls.__name__} has {function} and does not say so; expected {capability} = True")


_CAPABILITIES = {"decode": "decodes", "reconstruction": "reconstructs", "measure": "measures"}
