"""Search over many models: population based training by any score, and rPU-VAE, which finds factors without labels."""

from unbraid.search.fitness import Score
from unbraid.search.generations import PopulationConfig, exploit
from unbraid.search.history import History, lineage, read_history
from unbraid.search.hyperparameters import Hyperparameter, explore
from unbraid.search.population import evolve
from unbraid.search.reduction import ReductionConfig
from unbraid.search.rpu_vae import RPU, RPUConfig, rpu
from unbraid.search.spaces import search_space

__all__ = [
    "RPU", "History", "Hyperparameter", "PopulationConfig", "RPUConfig", "ReductionConfig", "Score", "evolve",
    "exploit", "explore", "lineage", "read_history", "rpu", "search_space",
]  # fmt: skip
