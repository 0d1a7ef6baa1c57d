"""Named sets of metrics with their settings, so that a figure says how it was made."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, generator, paired
from unbraid.metrics.active_units import active_units
from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.code_information import code_information
from unbraid.metrics.dci import dci
from unbraid.metrics.dci_es import dci_es
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.downstream import downstream
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
from unbraid.metrics.retrieved_factors import retrieved_factors
from unbraid.metrics.sap import sap
from unbraid.metrics.total_correlation import total_correlation
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation
from unbraid.progress import Advance, progress


@dataclass(frozen=True)
class Metric:
    """A metric and what it reads."""

    function: Callable[..., Scores]
    reads: str
    """`train`: the training rows. `split`: training and test rows. `all`: every row given, to intervene on factors.
    `codes`: the training codes alone."""


METRICS: dict[str, Metric] = {
    "mig": Metric(mig, "train"),
    "dci": Metric(dci, "split"),
    "sap": Metric(sap, "split"),
    "modularity": Metric(modularity, "train"),
    "explicitness": Metric(explicitness, "split"),
    "beta_vae": Metric(beta_vae_score, "all"),
    "factor_vae": Metric(factor_vae_score, "all"),
    "irs": Metric(irs, "train"),
    "infomec": Metric(infomec, "train"),
    "mig_sup": Metric(mig_sup, "train"),
    "jemmig": Metric(jemmig, "train"),
    "dcimig": Metric(dcimig, "train"),
    "med": Metric(med, "train"),
    "retrieved_factors": Metric(retrieved_factors, "train"),
    "dci_es": Metric(dci_es, "split"),
    "downstream": Metric(downstream, "split"),
    "probes": Metric(probes, "split"),
    "total_correlation": Metric(total_correlation, "codes"),
    "wasserstein_correlation": Metric(wasserstein_correlation, "codes"),
    "code_information": Metric(code_information, "codes"),
    "active_units": Metric(active_units, "codes"),
}


@dataclass(frozen=True)
class Protocol:
    """Which metrics, with which settings, on how many rows."""

    train: int
    """Rows for fitting, drawn at random where more are given."""
    test: int
    metrics: Mapping[str, Mapping[str, Any]]


_UNSUPERVISED: dict[str, dict[str, Any]] = {
    "total_correlation": {},
    "wasserstein_correlation": {},
    "code_information": {},
    "active_units": {},
}
_DLIB: dict[str, dict[str, Any]] = {
    "mig": {},
    "dci": {"estimator": "gbt"},
    "sap": {"predictor": "svm"},
    "modularity": {},
    "explicitness": {},
    "beta_vae": {},
    "factor_vae": {},
    "irs": {},
    **_UNSUPERVISED,
}
_TENTH = {"train_points": 1000, "test_points": 500}
PROTOCOLS: dict[str, Protocol] = {
    # the settings of the reference code, disentanglement_lib; its booster by a faster one that follows it
    "dlib": Protocol(10_000, 5_000, _DLIB),
    # assumptions, appendix B: an L1 SVM for DCI, completeness a plain mean, SAP on standardised codes, and a FactorVAE
    # score that drops codes by their variance, where the reference code compares the standard deviation with 0.05
    "locatello2018": Protocol(
        10_000,
        5_000,
        {
            **_DLIB,
            "dci": {"estimator": "l1_svm", "weighted_completeness": False},
            "sap": {"predictor": "svm", "standardised": True},
            "factor_vae": {"threshold": 0.05**0.5},
        },
    ),
    # intervention, appendix D: DCI by random forests, SAP by logistic regression, IRS as its paper has it
    "intervention": Protocol(
        10_000,
        5_000,
        {
            "dci": {"estimator": "forest", "weighted_completeness": False},
            "sap": {"predictor": "logistic"},
            "irs": {"quantile": 1.0, "bins": None},
        },
    ),
    # dlib with a tenth of the rows and votes
    "fast": Protocol(1_000, 500, {**_DLIB, "beta_vae": _TENTH, "factor_vae": _TENTH}),
}


_PACKAGES = ("unbraid", "numpy", "scipy", "scikit-learn", "lightgbm")  # whose versions move scores


class ScoreTable(dict[str, float]):
    """Scores by name, and how they were made."""

    protocol: str
    samples: dict[str, int]
    seed: str
    versions: dict[str, str]
    arrays: dict[str, dict[str, Array]]
    notes: list[str]

    def record(self) -> dict[str, Any]:
        """What `scores.json` holds."""
        made = {"protocol": self.protocol, "samples": self.samples, "seed": self.seed, "versions": self.versions}
        return {"scores": dict(self), **made, "notes": self.notes}


def score(
    codes: Any,
    factors: Any,
    test: Pair | None = None,
    protocol: str | Mapping[str, Mapping[str, Any]] = "dlib",
    rng: Rng = 0,
    metrics: Iterable[str] | None = None,
    confidence: float | None = None,
    resamples: int = 20,
) -> ScoreTable:
    """Score codes (n, d) against factors (n, k): `mig`, `dci.disentanglement`, … by name.

    With `test=(codes, factors)` the first pair is the training set and both are used as they are; without it the rows
    are split. `protocol` is a name or a mapping from metrics to their settings; `metrics` keeps only some of them.
    `confidence=0.95` adds `NAME.low` and `NAME.high` from `resamples` bootstrap samples of the rows: every metric is
    then computed that many times more.
    """
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    name, chosen = _chosen(protocol, metrics)
    seed = "generator" if isinstance(rng, np.random.Generator) else str(rng)
    rng = generator(rng)
    sets = _sets(codes, factors, test, chosen, rng)
    table = ScoreTable()
    table.protocol, table.seed, table.arrays, table.notes = name, seed, {}, []
    table.samples = {"train": len(sets.train[0]), "test": len(sets.test[0]), "all": len(sets.whole[0])}
    table.versions = {package: version(package) for package in _PACKAGES}
    rounds = 1 + (resamples if confidence is not None else 0)
    with progress("scoring", rounds * len(chosen.metrics)) as advance, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for metric, settings in chosen.metrics.items():
            table |= _measure(metric, settings, sets, int(rng.integers(2**31)), table.arrays)
            advance(note=metric)
        if confidence is not None:
            table |= _intervals(table, chosen, sets, confidence, resamples, rng, advance)
    table.notes = sorted({str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)})
    return table


def _chosen(protocol: str | Mapping[str, Mapping[str, Any]], metrics: Iterable[str] | None) -> tuple[str, Protocol]:
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            raise InputError(f"there is no protocol '{protocol}'{nearest(protocol, PROTOCOLS)}")
        name, found = protocol, PROTOCOLS[protocol]
    else:
        name, found = "own", Protocol(10_000, 5_000, protocol)
    wanted = list(found.metrics) if metrics is None else list(metrics)
    for metric in wanted:
        if metric not in METRICS:
            raise InputError(f"there is no metric '{metric}'{nearest(metric, METRICS)}")
        known = set(inspect.signature(METRICS[metric].function).parameters) - {"codes", "factors", "test", "rng"}
        for setting in found.metrics.get(metric, {}):
            if setting not in known:
                raise InputError(f"metric '{metric}' has no setting '{setting}'{nearest(setting, known)}")
    return name, Protocol(found.train, found.test, {metric: found.metrics.get(metric, {}) for metric in wanted})


@dataclass(frozen=True)
class _Sets:
    """Codes and factors of the training rows, the test rows, and all rows."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    whole: tuple[Array, Array]

    def resampled(self, rng: np.random.Generator) -> _Sets:
        """A bootstrap sample of each."""
        drawn = []
        for codes, labels in (self.train, self.test, self.whole):
            rows = rng.integers(len(codes), size=len(codes))
            drawn.append((codes[rows], labels[rows]))
        return _Sets(*drawn)


def _sets(codes: Any, factors: Any, test: Pair | None, protocol: Protocol, rng: np.random.Generator) -> _Sets:
    table, labels = paired(codes, factors)
    if test is not None:
        test_table, test_labels = paired(*test)
        if (table.shape[1], labels.shape[1]) != (test_table.shape[1], test_labels.shape[1]):
            raise InputError("training and test set have different numbers of codes or factors")
        whole = np.concatenate([table, test_table]), np.concatenate([labels, test_labels])
        return _Sets((table, labels), (test_table, test_labels), whole)
    rows = len(table)
    if rows < 3:
        raise InputError(f"there are {rows} samples; at least 3 are needed for a training and a test set")
    order = rng.permutation(rows)
    cut = min(protocol.train, round(rows * protocol.train / (protocol.train + protocol.test)))
    first, second = order[:cut], order[cut : cut + protocol.test]
    return _Sets((table[first], labels[first]), (table[second], labels[second]), (table, labels))


def _measure(
    metric: str,
    settings: Mapping[str, Any],
    sets: _Sets,
    seed: int,
    arrays: dict[str, dict[str, Array]] | None = None,
) -> dict[str, float]:
    found = METRICS[metric]
    if found.reads == "codes":
        scores = found.function(sets.train[0], rng=seed, **settings)
    elif found.reads == "split":
        scores = found.function(*sets.train, test=sets.test, rng=seed, **settings)
    else:
        scores = found.function(*(sets.whole if found.reads == "all" else sets.train), rng=seed, **settings)
    if arrays is not None:
        arrays[metric] = scores.arrays
    return {metric if name == metric else f"{metric}.{name}": value for name, value in scores.items()}


def _intervals(
    scores: Mapping[str, float],
    protocol: Protocol,
    sets: _Sets,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    advance: Advance,
) -> dict[str, float]:
    """The spread of bootstrap scores around their median, put around the score itself.

    Resampling repeats rows, which shifts many metrics (a histogram's information rises): the median takes that out.
    """
    drawn: dict[str, list[float]] = {}
    for _ in range(resamples):
        sample = sets.resampled(rng)
        for metric, settings in protocol.metrics.items():
            for name, value in _measure(metric, settings, sample, int(rng.integers(2**31))).items():
                drawn.setdefault(name, []).append(value)
            advance(note=metric)
    tail = (1 - confidence) / 2
    bounds: dict[str, float] = {}
    for name, values in drawn.items():
        spread = np.quantile(values, [tail, 1 - tail]) - np.median(values)
        bounds[f"{name}.low"], bounds[f"{name}.high"] = (scores[name] + spread).tolist()
    return bounds
