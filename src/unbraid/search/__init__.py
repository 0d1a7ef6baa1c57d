"""Search over many models: population based training by any score, and rPU-VAE, which finds factors without labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.search.fitness import Score
    from unbraid.search.history import History, lineage, read_history
    from unbraid.search.hyperparameters import Hyperparameter, explore
    from unbraid.search.population import evolve
    from unbraid.search.reduction import ReductionConfig
    from unbraid.search.rpu_vae import RPU, RPUConfig, rpu
    from unbraid.search.rules import PopulationConfig, exploit
    from unbraid.search.spaces import search_space

__all__ = [
    "RPU", "History", "Hyperparameter", "PopulationConfig", "RPUConfig", "ReductionConfig", "Score", "evolve",
    "exploit", "explore", "lineage", "read_history", "rpu", "search_space",
]  # fmt: skip

_MODULES = {
    "RPU": "rpu_vae", "History": "history", "Hyperparameter": "hyperparameters", "PopulationConfig": "rules",
    "RPUConfig": "rpu_vae", "ReductionConfig": "reduction", "Score": "fitness", "evolve": "population",
    "exploit": "rules", "explore": "hyperparameters", "lineage": "history", "read_history": "history",
    "rpu": "rpu_vae", "search_space": "spaces",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name on first use: the rules of a population do not need the training of its models."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
