"""Unbraid: a laboratory for disentangled representation learning."""

from unbraid import data, metrics
from unbraid.metrics import score
from unbraid.runs.recording import train
from unbraid.runs.run import Run, load
from unbraid.runs.table import load_runs
from unbraid.training.representation import Representation, represent

__all__ = ["Representation", "Run", "data", "load", "load_runs", "metrics", "represent", "score", "train"]
