"""Population based training (Jaderberg et al. 2017; population, sections 2.2, 3 and 4).

A population trains its members side by side. After each generation the worst copy weights, optimisers and
hyperparameters of one of the best, and change the hyperparameters they got. Every generation is a list of jobs whose
results lie in the folder, and what follows from them is decided by pure functions (`exploit`, `explore`): going on
after a kill is doing the same again, and finding it done.

The folder holds

    population.json      what it is a population of
    population.csv       its history: a row for each member of each generation
    jobs/, leases/, damaged/   as in a study; every model of every generation is a run
    rows-DIGEST.npy, labels-DIGEST.npz   the rows and the label sets that it was given, where it was given any
"""

from unbraid.population.fitness import Score
from unbraid.population.generations import PopulationConfig, exploit
from unbraid.population.history import History, lineage, read_history
from unbraid.population.hyperparameters import Hyperparameter, explore, search_space
from unbraid.population.run import evolve

__all__ = [
    "History", "Hyperparameter", "PopulationConfig", "Score", "evolve", "exploit", "explore", "lineage", "read_history",
    "search_space",
]  # fmt: skip
