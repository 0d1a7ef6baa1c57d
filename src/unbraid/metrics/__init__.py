"""Scores of codes against factors, as functions of two arrays.

`mig(codes, factors)` and the others need nothing else of Unbraid: codes (n, d) come from any encoder, factors (n, k)
are whole numbers, or continuous if the metric allows. NumPy arrays, torch tensors and lists all work. `score` computes
all metrics of a protocol.

Importing this package loads NumPy only; SciPy, scikit-learn and LightGBM are imported by the metrics that use them.
"""

from inspect import isfunction as _isfunction

from unbraid.arguments import checked as _checked
from unbraid.metrics._arrays import Scores
from unbraid.metrics.active_units import active_units
from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.code_information import code_information
from unbraid.metrics.dci import dci
from unbraid.metrics.dci_es import dci_es
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.declaration import Metric
from unbraid.metrics.downstream import downstream
from unbraid.metrics.entangle import entangle
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.infomec import infomec
from unbraid.metrics.irs import irs
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.linear_r2 import linear_r2
from unbraid.metrics.mcc import mcc
from unbraid.metrics.med import med
from unbraid.metrics.mig import mig
from unbraid.metrics.mig_sup import mig_sup
from unbraid.metrics.modularity import modularity
from unbraid.metrics.probes import probes
from unbraid.metrics.protocols import METRICS, PROTOCOLS, Protocol, ProtocolLike, as_protocol
from unbraid.metrics.retrieved_factors import retrieved_factors
from unbraid.metrics.sap import sap
from unbraid.metrics.score_table import ScoreTable
from unbraid.metrics.scoring import score
from unbraid.metrics.total_correlation import total_correlation
from unbraid.metrics.udr import udr
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation

__all__ = [
    "METRICS",
    "PROTOCOLS",
    "Metric",
    "Protocol",
    "ProtocolLike",
    "ScoreTable",
    "Scores",
    "active_units",
    "as_protocol",
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
    "linear_r2",
    "mcc",
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

for _name in __all__:  # wrong types of settings are named, not whatever they would break
    if _isfunction(globals()[_name]):
        globals()[_name] = _checked(globals()[_name])
