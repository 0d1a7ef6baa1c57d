"""Data with known factors of variation: drawn here, or read from official files and folders of pictures."""

from unbraid.data.catalogue import CATALOGUE, load
from unbraid.data.factors import FactorData, Rows
from unbraid.data.sampling import Correlated, HeldOut, Subset, split

__all__ = ["CATALOGUE", "Correlated", "FactorData", "HeldOut", "Rows", "Subset", "load", "split"]
