"""Unbraid: a laboratory for disentangled representation learning.

Its names are imported on first use, so that `import unbraid.metrics` loads NumPy and no torch.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid import data as data
    from unbraid import methods as methods
    from unbraid import metrics as metrics
    from unbraid.explorer.page import explore as explore
    from unbraid.hub import push_to_hub as push_to_hub
    from unbraid.metrics import score as score
    from unbraid.pictures.plots import plot as plot
    from unbraid.runs.recording import train as train
    from unbraid.runs.run import Run as Run
    from unbraid.runs.run import load as load
    from unbraid.runs.table import load_runs as load_runs
    from unbraid.studies.bands import bands_of as bands_of
    from unbraid.training.representation import Representation as Representation
    from unbraid.training.representation import represent as represent

# A thread that waits for the others soon sleeps: a spinning one holds the core that they need when the machine is busy.
# libgomp spins 300,000 times. It reads this when torch loads it, so it is set before; the user's own setting stays.
if "torch" not in sys.modules and not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "1000"

_PACKAGES = ("data", "methods", "metrics")
_MODULES = {
    "Representation": "unbraid.training.representation",
    "Run": "unbraid.runs.run",
    "bands_of": "unbraid.studies.bands",
    "explore": "unbraid.explorer.page",
    "load": "unbraid.runs.run",
    "load_runs": "unbraid.runs.table",
    "plot": "unbraid.pictures.plots",
    "push_to_hub": "unbraid.hub",
    "represent": "unbraid.training.representation",
    "score": "unbraid.metrics",
    "train": "unbraid.runs.recording",
}
__all__ = sorted((*_PACKAGES, *_MODULES))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("unbraid")
    if name in _PACKAGES:
        return import_module(f"unbraid.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'unbraid' has no attribute '{name}'")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
