"""Scores of codes against factors, as pure functions of arrays: samples first, NumPy or torch.

They need nothing else of Unbraid: `mig(codes, factors)` with codes (n, d) from any encoder and factors (n, k), whole
numbers, or continuous ones where the metric allows. `score` runs a whole protocol.
"""

from unbraid.metrics._arrays import Scores
from unbraid.metrics.active_units import active_units
from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.code_information import code_information
from unbraid.metrics.dci import dci
from unbraid.metrics.dci_es import dci_es
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.downstream import downstream
from unbraid.metrics.entangle import entangle
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.infomec import infomec
from unbraid.metrics.irs import irs
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.med import med
from unbraid.metrics.mig import mig
from unbraid.metrics.mig_sup import mig_sup
from unbraid.metrics.modularity import modularity
from unbraid.metrics.probes import probes
from unbraid.metrics.protocols import METRICS, PROTOCOLS, ScoreTable, score
from unbraid.metrics.retrieved_factors import retrieved_factors
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
    "dci_es",
    "dcimig",
    "downstream",
    "entangle",
    "explicitness",
    "factor_vae_score",
    "infomec",
    "irs",
    "jemmig",
    "med",
    "mig",
    "mig_sup",
    "modularity",
    "probes",
    "retrieved_factors",
    "sap",
    "score",
    "total_correlation",
    "udr",
    "wasserstein_correlation",
]
