"""Unbraid: a laboratory for disentangled representation learning.

The names below are imported on first use, so that `import unbraid.metrics` loads NumPy and not torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid import data as data
    from unbraid import methods as methods
    from unbraid import metrics as metrics
    from unbraid.metrics import score as score
    from unbraid.record import Run as Run
    from unbraid.record import load as load
    from unbraid.record import load_runs as load_runs
    from unbraid.represent import Representation as Representation
    from unbraid.represent import represent as represent
    from unbraid.run import train as train

_SUBPACKAGES = ("data", "methods", "metrics")
_MODULES = {
    "Representation": "unbraid.represent",
    "Run": "unbraid.record",
    "load": "unbraid.record",
    "load_runs": "unbraid.record",
    "represent": "unbraid.represent",
    "score": "unbraid.metrics",
    "train": "unbraid.run",
}
__all__ = sorted((*_SUBPACKAGES, *_MODULES))


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"unbraid.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'unbraid' has no attribute '{name}'")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
