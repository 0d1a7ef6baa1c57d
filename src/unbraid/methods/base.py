"""The contract of a learner. It carries VAEs, adversaries, contrastive and supervised learners through one loop."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor, nn

from unbraid.data import FactorData
from unbraid.errors import InputError, nearest

Batch = Mapping[str, Tensor]
Terms = dict[str, Tensor]
T = TypeVar("T")


def setting(
    default: T,
    help: str,
    *,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    live: bool = False,
) -> T:
    """A field of a Config: its default, a sentence, its range, and whether training may change it (`live`)."""
    limits = {"low": low, "above": above, "high": high, "choices": tuple(choices)}
    return dataclasses.field(default=default, metadata={"help": help, "live": live, **limits})


@dataclass(frozen=True)
class Config:
    """What a learner's user may set. Subclasses add fields with `setting`; values are checked when it is made."""

    batch_size: int = setting(64, "images in a batch", low=1, live=True)
    learning_rate: float = setting(1e-4, "learning rate of Adam", above=0, live=True)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            self._check(field, getattr(self, field.name))

    @staticmethod
    def _check(field: dataclasses.Field[Any], value: Any) -> None:
        kind = type(field.default)
        if kind is float and type(value) is int:
            return Config._check(field, float(value))
        if type(value) is not kind:
            raise InputError(f"{field.name} is {value!r}; expected {_KINDS.get(kind, kind.__name__)}")
        limits = field.metadata
        if limits["choices"] and value not in limits["choices"]:
            raise InputError(f"{field.name} is '{value}'{nearest(str(value), limits['choices'])}")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{field.name} is {value}; expected a finite number")
        if limits["low"] is not None and not value >= limits["low"]:
            raise InputError(f"{field.name} is {value}; expected at least {limits['low']}")
        if limits["above"] is not None and not value > limits["above"]:
            raise InputError(f"{field.name} is {value}; expected more than {limits['above']}")
        if limits["high"] is not None and not value <= limits["high"]:
            raise InputError(f"{field.name} is {value}; expected at most {limits['high']}")
        return None

    def live(self) -> dict[str, float]:
        """The hyperparameters that may change while training runs."""
        fields = dataclasses.fields(self)
        return {field.name: float(getattr(self, field.name)) for field in fields if field.metadata["live"]}

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """A config from settings by name; an unknown name is an InputError with the nearest one."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in settings:
            if name not in known:
                raise InputError(f"there is no setting '{name}'{nearest(name, known)}")
        floats = {field.name for field in dataclasses.fields(cls) if type(field.default) is float}
        typed: dict[str, Any] = {
            name: float(value) if name in floats and type(value) is int else value for name, value in settings.items()
        }
        return cls(**typed)


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}


@dataclass(frozen=True)
class Spec:
    """What a learner must know of its data to be built, and to be built again without the data."""

    image_shape: tuple[int, int, int]
    rows: int
    """How many images the data set has: minibatch estimators of q(z) depend on it."""
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()
    """How many classes each task has, 1 where its target is a number; none for data without targets."""
    codes: int = 0
    """Dimensions of the codes that come with the data; 0 where none do."""

    @classmethod
    def of(cls, data: FactorData) -> Spec:
        return cls(data.image_shape, len(data), data.names, data.sizes, data.tasks, data.codes)


class Method(nn.Module, ABC):
    """A learner: networks, optimisers, and what one step does.

    `update(batch)` takes a step and names its terms. A batch holds what `needs` lists: `images` as uint8 (n, C, H, W)
    on the learner's device, `factors`, or what a data set adds (`targets`, a second view). Randomness comes from
    torch's default generators, which the loop seeds for every step. `state_dict` holds networks, optimisers, live
    hyperparameters and the step count, so that loading it resumes training exactly.
    """

    config_class: ClassVar[type[Config]] = Config
    needs: ClassVar[tuple[str, ...]] = ("images",)
    sweep: ClassVar[Mapping[str, tuple[float, ...]]] = {}  # the strengths that its study tries

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__()
        self.config, self.spec = config, spec
        self.hp = config.live()
        self.steps = 0
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self._rates: dict[str, str] = {}  # which hyperparameter is the learning rate of which optimiser
        self.precision = "fp32"

    @abstractmethod
    def update(self, batch: Batch) -> Terms:
        """Take one step and give its terms by name, detached scalars; `loss` is the one that is descended."""

    @abstractmethod
    def encode(self, images: Tensor) -> Tensor:
        """uint8 (n, C, H, W) -> codes, float32 (n, d)."""

    def codes_of(self, batch: Batch) -> Tensor:
        """The codes of a batch, (n, d). A learner on frozen codes takes them from the batch."""
        return self.encode(batch["images"])

    def measure(self, batch: Batch) -> Terms:
        """How well it does on a batch it does not learn from, by name; nothing where its codes are all there is."""
        return {}

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (n, d) -> images as floats in [0, 1], (n, C, H, W)."""
        raise InputError(f"{type(self).__name__} has no decoder")

    @property
    def code_groups(self) -> list[list[int]] | None:
        """Which columns of the codes form one feature; None where each column is one."""
        return None

    def pixels(self, images: Tensor) -> Tensor:
        """uint8 images as floats in [0, 1], in the memory layout the networks want."""
        return images.to(self.device, memory_format=torch.channels_last).float() / 255

    def autocast(self) -> AbstractContextManager[None]:
        """Within it, networks run in the precision that was asked for; losses belong outside."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def descend(self, name: str, loss: Tensor) -> None:
        """One step of the optimiser `name` down the gradient of `loss`."""
        self.optimisers[name].zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.step(name)

    def step(self, name: str) -> None:
        """One step of the optimiser `name` by the gradients that are there."""
        for group in self.optimisers[name].param_groups:
            group["lr"] = self.rate(name)
        self.optimisers[name].step()

    def rate(self, name: str) -> float:
        """The learning rate of the optimiser `name` at this step; a learner with a schedule says so here."""
        return self.hp[self._rates[name]]

    def add_adam(
        self,
        name: str,
        parameters: Iterable[nn.Parameter],
        rate: str = "learning_rate",
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        """Add the optimiser `name`: Adam, its step fused, its learning rate the live hyperparameter `rate`."""
        self.optimisers[name] = torch.optim.Adam(parameters, self.hp[rate], betas=betas, eps=1e-8, fused=True)
        self._rates[name] = rate

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def prepare(self, device: str | torch.device, precision: str) -> Method:
        """Move to a device and choose the precision, `fp32` or `bf16`."""
        self.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._lay_out_state()
        self.precision = precision
        return self

    def _lay_out_state(self) -> None:
        """Put the optimisers' state where the parameters are, strides and all: fused Adam walks both in memory order.

        Without this, moments that come from a file (contiguous) would meet the wrong weights of a channels-last layer.
        """
        for optimiser in self.optimisers.values():
            for parameter, state in optimiser.state.items():
                for key, value in state.items():
                    same = value.shape == parameter.shape
                    state[key] = torch.empty_like(parameter).copy_(value) if same else value.to(parameter.device)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}training.steps"] = torch.tensor(self.steps)
        destination[f"{prefix}training.hp"] = torch.tensor(list(self.hp.values()), dtype=torch.float64)
        for name, optimiser in self.optimisers.items():
            for index, state in optimiser.state_dict()["state"].items():
                for key, value in state.items():
                    destination[f"{prefix}training.{name}.{index}.{key}"] = value.detach()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        start = f"{prefix}training."
        ours = {key.removeprefix(start): state_dict.pop(key) for key in list(state_dict) if key.startswith(start)}
        super()._load_from_state_dict(state_dict, prefix, *args)
        if "steps" not in ours:
            return
        self.steps = int(ours.pop("steps"))
        self.hp = dict(zip(self.hp, ours.pop("hp").tolist(), strict=True))
        for name, optimiser in self.optimisers.items():
            states: dict[int, dict[str, Tensor]] = {}
            for key, value in ours.items():
                owner, index, item = key.split(".")
                if owner == name:
                    states.setdefault(int(index), {})[item] = value.clone()
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
        self._lay_out_state()
