"""Unbraid: a laboratory for disentangled representation learning."""

from unbraid import data, metrics
from unbraid.explorer import explore
from unbraid.metrics import score
from unbraid.record import Run, load, load_runs
from unbraid.represent import Representation, represent
from unbraid.run import train

__all__ = ["Representation", "Run", "data", "explore", "load", "load_runs", "metrics", "represent", "score", "train"]
