"""Protocols: named sets of metrics with their settings, so that a score says how it was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from unbraid.arguments import check_types
from unbraid.errors import InputError, nearest, shown
from unbraid.metrics.declaration import Metric, Settings
from unbraid.metrics.own_metric import reads, scoring
from unbraid.own import label, look_up, refer

_MODULES = (
    "mig",
    "dci",
    "sap",
    "modularity",
    "explicitness",
    "beta_vae_score",
    "factor_vae_score",
    "irs",
    "infomec",
    "mig_sup",
    "jemmig",
    "dcimig",
    "med",
    "mcc",
    "linear_r2",
    "retrieved_factors",
    "dci_es",
    "downstream",
    "probes",
    "total_correlation",
    "wasserstein_correlation",
    "code_information",
    "active_units",
)
SAMPLED = "sampled"  # the prefix of scores of sampled codes


class _Metrics(dict[str, Metric]):
    """The metrics by name; a reference in place of a name gives the user's own."""

    def __missing__(self, name: str) -> Metric:
        value = look_up(name, dict(self), "metric", GROUP)
        if isinstance(value, Metric):
            return replace(value, function=scoring(label(name), value.function))
        if callable(value):
            return Metric(scoring(label(name), value), reads(value))
        raise InputError(f"{name} is {value!r}; expected a function of codes and factors, or a Metric")


GROUP = "unbraid.metrics"  # of entry points
METRICS: dict[str, Metric] = _Metrics({name: import_module(f"unbraid.metrics.{name}").DECLARED for name in _MODULES})


@dataclass(frozen=True)
class Protocol:
    """Which metrics, with which settings, on how many rows.

    >>> Protocol("mine", {"mig": {"bins": 50}, "dci": {}}, train=5_000, test=2_500).train
    5000
    """

    name: str = field(metadata={"numbers": False})
    metrics: Mapping[str, Settings]
    """The settings of each metric, by its name in METRICS; what is left out is the metric's default."""
    train: int = 10_000
    """Rows to fit on, drawn at random if more are given."""
    test: int = 5_000
    seconds: float = field(default=2.0, metadata={"numbers": False})
    """What scoring a model costs on one core of a desk machine, roughly; only schedules read it."""
    beside: Mapping[str, Mapping[str, Settings]] = field(default_factory=dict, metadata={"numbers": "if given"})
    """Metrics by other settings on the same rows, by the prefix of their scores: `dlib` gives `dlib.mig`, …"""
    sampled: Mapping[str, Settings] = field(default_factory=dict, metadata={"numbers": "if given"})
    """Metrics of codes drawn from q(z|x) instead of its means, as `sampled.mig`, …: of runs with a Gaussian encoder."""

    def __post_init__(self) -> None:
        for rows in ("train", "test"):
            if getattr(self, rows) < 1:
                raise InputError(f"{rows} is {getattr(self, rows)}; expected at least 1 row")
        for prefix in self.beside:
            if not prefix or "." in prefix or prefix in {*METRICS, SAMPLED}:
                raise InputError(f"'{prefix}' cannot be a prefix; expected a word without a dot that is not a metric")
        object.__setattr__(self, "metrics", _referred(self.metrics))
        object.__setattr__(self, "sampled", _referred(self.sampled))
        beside = {prefix: _referred(metrics) for prefix, metrics in self.beside.items()}
        object.__setattr__(self, "beside", beside)
        for metrics in (self.metrics, self.sampled, *self.beside.values()):
            _check(metrics)

    def parts(self) -> list[Part]:
        """What is computed, each once: a metric with the same settings under several prefixes is one part."""
        parts: list[Part] = []
        for prefix, metrics in {"": self.metrics, **{f"{name}.": given for name, given in self.beside.items()}}.items():
            for metric, settings in metrics.items():
                if METRICS[metric].reads == "model":
                    continue
                full = {**METRICS[metric].settings, **settings}
                same = [part for part in parts if part.metric == metric and part.full == full]
                if same:
                    same[0].prefixes.append(prefix)
                else:
                    parts.append(Part(metric, settings, full, [prefix]))
        return parts

    def evaluators(self) -> dict[str, Settings]:
        """What scores the trained method itself, with its settings."""
        return {name: settings for name, settings in self.metrics.items() if METRICS[name].reads == "model"}


@dataclass(frozen=True)
class Part:
    """A metric with its settings, and the prefixes its scores go by: the empty one, `dlib.`, …"""

    metric: str
    settings: Settings
    full: Settings
    """With the defaults."""
    prefixes: list[str]


def _referred(metrics: Mapping[Any, Settings]) -> dict[str, Settings]:
    """The same metrics, with references in place of the user's own."""
    return {name if name in METRICS else refer(name, GROUP): settings for name, settings in metrics.items()}


def _check(metrics: Mapping[str, Settings]) -> None:
    labels = [label(name) for name in metrics]
    for metric, settings in metrics.items():
        if metric not in METRICS and (label(metric) in METRICS or labels.count(label(metric)) > 1):
            raise InputError(f"there is another metric '{label(metric)}' besides {metric}; give yours another name")
        if not isinstance(settings, Mapping):
            raise InputError(f"settings of '{metric}' are {settings!r}; expected a mapping, such as {{}}")
        known = METRICS[metric].settings
        for setting in settings:
            if setting not in known:
                raise InputError(f"metric '{metric}' has no setting '{setting}'{nearest(setting, known)}")
        check_types(METRICS[metric].function, settings)


def is_score_of_codes(name: str) -> bool:
    """Whether a score is a metric's of the codes, by any protocol: not one of sampled codes or of the model."""
    first, _, rest = name.partition(".")
    return first in METRICS or (first != SAMPLED and rest.partition(".")[0] in METRICS)


ProtocolLike = str | Protocol | Mapping[str, Settings]
"""A protocol, the name of one in PROTOCOLS, or its metrics alone."""


def as_protocol(protocol: ProtocolLike) -> Protocol:
    """The protocol of that name, or one of those metrics on 10,000 training and 5,000 test rows."""
    if isinstance(protocol, Protocol):
        return protocol
    if isinstance(protocol, Mapping):
        return Protocol("own", protocol)
    if not isinstance(protocol, str):
        raise InputError(
            f"protocol is {shown(protocol)}; expected a name, a Protocol or a mapping from metrics to settings"
        )
    value = look_up(protocol, PROTOCOLS, "protocol", _PROTOCOLS)
    if isinstance(value, Metric) or (callable(value) and not isinstance(value, Protocol)):
        return Protocol("own", {refer(protocol): {}})
    return as_protocol(value)


def refer_protocol(protocol: ProtocolLike | None) -> ProtocolLike | None:
    """The same protocol, with references in place of the user's own code."""
    if isinstance(protocol, Mapping):
        return _referred(protocol)
    return refer(protocol, _PROTOCOLS) if isinstance(protocol, str) and protocol not in PROTOCOLS else protocol


_PROTOCOLS = "unbraid.protocols"  # of entry points
_UNSUPERVISED: dict[str, Settings] = {
    "total_correlation": {},
    "wasserstein_correlation": {},
    "code_information": {},
    "active_units": {},
}
_DLIB: dict[str, Settings] = {
    "mig": {},
    "dci": {"estimator": "gbt"},
    "sap": {"predictor": "svm"},
    "modularity": {},
    "explicitness": {},
    "beta_vae_score": {},
    "factor_vae_score": {},
    "irs": {},
    **_UNSUPERVISED,
}
_NEWER: dict[str, Settings] = {
    "infomec": {},
    "mig_sup": {},
    "jemmig": {},
    "dcimig": {},
    "med": {},
    "dci_es": {},
}
_APPENDIX_D: dict[str, Settings] = {
    "dci": {"estimator": "forest", "max_depth": "cv", "weighted_completeness": False},
    "sap": {"predictor": "logistic", "standardised": True},  # its penalty would prefer codes of a large scale
    "irs": {"quantile": 1.0, "bins": None},
}
_APPENDIX_B: dict[str, Settings] = {
    **_DLIB,
    "dci": {"estimator": "l1_svm", "weighted_completeness": False},
    "sap": {"predictor": "svm", "standardised": True, "balanced": False},
    "explicitness": {"one_vs_rest": True},
    "beta_vae_score": {"one_value": True},
    "factor_vae_score": {"threshold": 0.05**0.5},
    "total_correlation": {"epsilon": 1e-5},
}
_TENTH = {"train_points": 1000, "test_points": 500}
_SIX = ("beta_vae_score", "factor_vae_score", "mig", "dci", "modularity", "sap")
_ALL = (
    # the settings of the reference code, disentanglement_lib, with a faster booster that reproduces its own
    Protocol("dlib", _DLIB, seconds=25.0),
    # dlib with a tenth of the rows and votes
    Protocol("fast", {**_DLIB, "beta_vae_score": _TENTH, "factor_vae_score": _TENTH}, 1_000, 500, seconds=5.0),
    # assumptions, appendix B, to the letter: an L1 SVM for DCI, completeness a plain mean, SAP on standardised codes by
    # an SVM without weights, one logistic regression per value of a factor, a FactorVAE score that drops codes by their
    # variance (the reference code compares the deviation with 0.05), one value per point of the BetaVAE score, and 1e-5
    # on the diagonal of the covariance for the total correlation
    Protocol("locatello2018", _APPENDIX_B, seconds=8.0),
    # what assumptions measures on codes in section 5: by appendix B, with the scores of the reference code beside them;
    # and its six metrics of sampled codes
    Protocol(
        "assumptions",
        {**_APPENDIX_B, "downstream": {}},
        seconds=80.0,
        beside={"dlib": _DLIB},
        sampled={name: _APPENDIX_B[name] for name in _SIX},
    ),
    # multitask, section 3.3 and appendix I
    Protocol(
        "multitask",
        {**{name: _DLIB[name] for name in ("mig", "factor_vae_score", "dci", "sap")}, "retrieved_factors": {}},
        seconds=20.0,
    ),
    # intervention, appendix D: DCI by random forests, SAP by logistic regression, IRS as in its paper
    Protocol("intervention", _APPENDIX_D, seconds=45.0),
    # with the depths that appendix D gives for dSprites: shape, scale, orientation, x, y. Of SAP it says "the
    # classifier of discrete factors": shape; the ordered ones by squared correlation, as in the code that it follows
    Protocol(
        "intervention_dsprites",
        {
            **_APPENDIX_D,
            "dci": {**_APPENDIX_D["dci"], "max_depth": [4, 2, 4, 2, 2]},
            "sap": {**_APPENDIX_D["sap"], "classes": [0]},
        },
        seconds=15.0,
    ),
    # for 3D Shapes: floor, wall and object hue, scale, shape, orientation
    Protocol("intervention_shapes3d", {**_APPENDIX_D, "sap": {**_APPENDIX_D["sap"], "classes": [4]}}, seconds=45.0),
    # dlib and later metrics
    Protocol("extended", {**_DLIB, **_NEWER}, seconds=35.0),
    # for numeric factors, continuous or not
    Protocol(
        "continuous",
        {
            "dci": {"estimator": "forest", "max_depth": "cv"},
            "sap": {"predictor": "r2"},
            "irs": {},
            "infomec": {},
            "dci_es": {},
            "retrieved_factors": {},
            **_UNSUPERVISED,
        },
        seconds=50.0,
    ),
    # for thousands of codes: at most a minute, and what noise of that width does not raise, but for dci by lasso, which
    # is arbitrary where its informativeness is not above 0
    Protocol(
        "wide",
        {
            "med": {"top_k": 5},
            "dci": {"estimator": "lasso"},
            "mcc": {},
            "linear_r2": {},
            "probes": {"reader": "ridge", "groups": "whole"},
            "active_units": {},
        },
        seconds=30.0,
    ),
)
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in _ALL}
