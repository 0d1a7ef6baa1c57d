"""Scores of codes against factors, as pure functions of arrays: samples first, NumPy or torch.

They need nothing else of Unbraid: `mig(codes, factors)` with codes (n, d) from any encoder and integer factors (n, k).
`score` runs a whole protocol.
"""

from unbraid.metrics._arrays import Scores
from unbraid.metrics.active_units import active_units
from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.code_information import code_information
from unbraid.metrics.dci import dci
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.irs import irs
from unbraid.metrics.mig import mig
from unbraid.metrics.modularity import modularity
from unbraid.metrics.protocols import METRICS, PROTOCOLS, ScoreTable, score
from unbraid.metrics.sap import sap
from unbraid.metrics.total_correlation import total_correlation
from unbraid.metrics.udr import udr
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation

__all__ = [
    "METRICS",
    "PROTOCOLS",
    "ScoreTable",
    "Scores",
    "active_units",
    "beta_vae_score",
    "code_information",
    "dci",
    "explicitness",
    "factor_vae_score",
    "irs",
    "mig",
    "modularity",
    "sap",
    "score",
    "total_correlation",
    "udr",
    "wasserstein_correlation",
]
