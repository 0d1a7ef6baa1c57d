"""Training and encoding: the only loop, devices and precisions, and representations that every metric reads."""

from unbraid.training.device import keep_freed_memory, resolve_device, resolve_precision
from unbraid.training.loop import DivergedError, step_seed
from unbraid.training.representation import Representation, represent

__all__ = [
    "DivergedError", "Representation", "keep_freed_memory", "represent", "resolve_device", "resolve_precision",
    "step_seed",
]  # fmt: skip
