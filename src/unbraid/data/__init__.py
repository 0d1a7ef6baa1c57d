"""Data with known factors of variation: drawn here, or read from official files and folders of pictures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.data.array_data import ArrayData
    from unbraid.data.catalogue import CATALOGUE, load
    from unbraid.data.factors import FactorData, Rows
    from unbraid.data.wrappers.codes import CodeData
    from unbraid.data.wrappers.correlated import Correlated
    from unbraid.data.wrappers.held_out import HeldOut
    from unbraid.data.wrappers.pairs import PairData
    from unbraid.data.wrappers.subset import Subset, split
    from unbraid.data.wrappers.tasks import RandomTasks, TargetData, TaskData

__all__ = [
    "CATALOGUE", "ArrayData", "CodeData", "Correlated", "FactorData", "HeldOut", "PairData", "RandomTasks", "Rows",
    "Subset", "TargetData", "TaskData", "load", "split",
]  # fmt: skip

_MODULES = {
    "ArrayData": "array_data",
    "CATALOGUE": "catalogue", "load": "catalogue", "FactorData": "factors", "Rows": "factors",
    "CodeData": "wrappers.codes", "Correlated": "wrappers.correlated", "HeldOut": "wrappers.held_out",
    "PairData": "wrappers.pairs", "Subset": "wrappers.subset", "split": "wrappers.subset",
    "RandomTasks": "wrappers.tasks", "TargetData": "wrappers.tasks", "TaskData": "wrappers.tasks",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name on first use: writing whole files, say, does not need PyTorch."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
