"""The only training loop."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.methods.base import Batch, Method, Terms
from unbraid.training.device import keep_freed_memory

_AHEAD = 16  # batches drawn at a time: drawing many images at once is cheaper


@dataclass(frozen=True)
class Logged:
    """A report: the step, and the mean of each term since the last report."""

    step: int
    terms: dict[str, float]


class DivergedError(Exception):
    """A term of the loss stopped being a finite number."""

    def __init__(self, step: int, term: str, value: float) -> None:
        super().__init__(f"{term} became {value} at step {step}")
        self.step, self.term, self.value = step, term, value


def train(method: Method, data: FactorData, *, steps: int, seed: int, every: int = 100) -> Iterator[Logged]:
    """Train until the method has taken `steps` steps, and report every `every` of them.

    A generator: between two reports the caller may save `method.state_dict()`, change `method.hp`, or stop. All
    randomness of a step comes from `seed` and the number of the step, so a method restored from its state dict
    resumes exactly. Torch's own random state is not changed.
    """
    if every < 1:
        raise InputError(f"every is {every}; expected at least 1")
    keep_freed_memory()
    feed = _Feed(data, method, seed)
    while method.steps < steps:
        until = min(steps, (method.steps // every + 1) * every)
        first, taken = method.steps, list[Terms]()
        with torch.random.fork_rng(devices=[method.device] if method.device.type == "cuda" else []):
            method.train()
            while method.steps < until:
                batch = feed(method.steps, int(method.hp["batch_size"]))
                _seed(step_seed(seed, method.steps, "method"), method.device)
                taken.append(method.update(batch))
                method.steps += 1
        yield Logged(until, _mean(taken, first))


def _seed(seed: int, device: torch.device) -> None:
    """Seed torch's own generators.

    `torch.manual_seed` also notes the call stack for each kind of device that is absent, in case one appears: up to a
    tenth of a small network's step.
    """
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def step_seed(seed: int, step: int, stream: str) -> int:
    """A seed for one stream of random numbers in one step, unrelated to its neighbours."""
    digest = hashlib.blake2b(f"{seed}/{step}/{stream}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1  # fits a signed 64-bit integer


def _mean(taken: list[Terms], first: int) -> dict[str, float]:
    """The mean of each term, or a DivergedError that names the first step and term that is not finite."""
    names = list(taken[0])
    for number, terms in enumerate(taken):
        if list(terms) != names:
            raise ValueError(f"step {first + number + 1} gave the terms {list(terms)}; the steps before, {names}")
    table = torch.stack([torch.stack([terms[name].float() for name in names]) for terms in taken]).cpu()  # (step, term)
    not_finite = ~table.isfinite()
    if not_finite.any():
        step = int(not_finite.any(1).nonzero()[0])
        culprits = [name for name, bad in zip(names, not_finite[step].tolist(), strict=True) if bad]
        term = next((name for name in culprits if name != "loss"), "loss")  # the loss is only the sum of the others
        raise DivergedError(first + step + 1, term, float(table[step, names.index(term)]))
    return dict(zip(names, table.double().mean(0).tolist(), strict=True))


class _Feed:
    """Batches by the number of the step, drawn for some steps at a time and moved to the device as uint8."""

    def __init__(self, data: FactorData, method: Method, seed: int) -> None:
        self._data, self._needs, self._device, self._seed = data, method.needs, method.device, seed
        self._drawn: tuple[int, int] | None = None
        self._batches: dict[str, Tensor] = {}

    def __call__(self, step: int, size: int) -> Batch:
        block, index = divmod(step, _AHEAD)
        if self._drawn != (block, size):
            rng = torch.Generator().manual_seed(step_seed(self._seed, block, "data"))
            drawn = self._data.batch(_AHEAD * size, rng)
            missing = [name for name in self._needs if name not in drawn]
            if missing:
                raise InputError(f"this method needs {', '.join(missing)}, which the data does not provide")
            self._batches = {name: drawn[name].to(self._device, non_blocking=True) for name in self._needs}
            self._drawn = block, size
        return {name: values[index * size : (index + 1) * size] for name, values in self._batches.items()}
