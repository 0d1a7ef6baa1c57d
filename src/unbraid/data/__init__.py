"""Data with known factors of variation: drawn here, or read from official files and folders of pictures."""

from unbraid.data.catalogue import CATALOGUE, load
from unbraid.data.codes import CodeData
from unbraid.data.factors import FactorData, Rows
from unbraid.data.pairs import PairData
from unbraid.data.sampling import Correlated, HeldOut, Subset, split
from unbraid.data.tasks import RandomTasks, TargetData, TaskData

__all__ = [
    "CATALOGUE", "CodeData", "Correlated", "FactorData", "HeldOut", "PairData", "RandomTasks", "Rows", "Subset",
    "TargetData", "TaskData", "load", "split",
]  # fmt: skip
