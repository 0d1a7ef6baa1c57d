"""Data with known factors of variation: drawn here, or read from official files and folders of pictures."""

from unbraid.data.catalogue import CATALOGUE, load
from unbraid.data.factors import FactorData, Rows
from unbraid.data.wrappers.codes import CodeData
from unbraid.data.wrappers.correlated import Correlated
from unbraid.data.wrappers.held_out import HeldOut
from unbraid.data.wrappers.pairs import PairData
from unbraid.data.wrappers.subset import Subset, split
from unbraid.data.wrappers.tasks import RandomTasks, TargetData, TaskData

__all__ = [
    "CATALOGUE", "CodeData", "Correlated", "FactorData", "HeldOut", "PairData", "RandomTasks", "Rows", "Subset",
    "TargetData", "TaskData", "load", "split",
]  # fmt: skip
