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
from unbraid.metrics._arrays import (
    Array,
    ContinuousFactorError,
    Pair,
    Rng,
    Scores,
    as_pair,
    generator,
    need_rows,
    paired,
)
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
_NEWER: dict[str, dict[str, Any]] = {
    "infomec": {},
    "mig_sup": {},
    "jemmig": {},
    "dcimig": {},
    "med": {},
    "dci_es": {},
}
_APPENDIX_D: dict[str, dict[str, Any]] = {
    "dci": {"estimator": "forest", "max_depth": "cv", "weighted_completeness": False},
    "sap": {"predictor": "logistic", "standardised": True},  # its penalty would prefer codes of a large scale
    "irs": {"quantile": 1.0, "bins": None},
}
_TENTH = {"train_points": 1000, "test_points": 500}
_MULTITASK: dict[str, dict[str, Any]] = {
    **{name: _DLIB[name] for name in ("mig", "factor_vae", "dci", "sap")},
    "retrieved_factors": {},
}
PROTOCOLS: dict[str, Protocol] = {
    # the settings of the reference code, disentanglement_lib; its booster by a faster one that follows it
    "dlib": Protocol(10_000, 5_000, _DLIB),
    # dlib with a tenth of the rows and votes
    "fast": Protocol(1_000, 500, {**_DLIB, "beta_vae": _TENTH, "factor_vae": _TENTH}),
    # assumptions, appendix B, to the letter: an L1 SVM for DCI, completeness a plain mean, SAP on standardised codes by
    # an SVM without weights, a logistic regression for each value of a factor, a FactorVAE score that drops codes by
    # their variance, where the reference code compares the deviation with 0.05, and one value for a BetaVAE point
    "locatello2018": Protocol(
        10_000,
        5_000,
        {
            **_DLIB,
            "dci": {"estimator": "l1_svm", "weighted_completeness": False},
            "sap": {"predictor": "svm", "standardised": True, "balanced": False},
            "explicitness": {"one_vs_rest": True},
            "beta_vae": {"one_value": True},
            "factor_vae": {"threshold": 0.05**0.5},
        },
    ),
    # what assumptions measures on codes in all of its section 5
    "assumptions": Protocol(10_000, 5_000, {**_DLIB, "downstream": {}}),
    # the same on half the rows, with at most 1,000 points downstream: half a minute a model instead of two
    "assumptions_desk": Protocol(5_000, 2_500, {**_DLIB, "downstream": {"sizes": (10, 100, 1000)}}),
    # multitask, section 3.3 and appendix I; the same on half the rows
    "multitask": Protocol(10_000, 5_000, _MULTITASK),
    "multitask_desk": Protocol(5_000, 2_500, _MULTITASK),
    # intervention, appendix D: DCI by random forests, SAP by logistic regression, IRS as its paper has it
    "intervention": Protocol(10_000, 5_000, _APPENDIX_D),
    # the depths it gives for dSprites: shape, scale, orientation, x, y
    "intervention_dsprites": Protocol(
        10_000, 5_000, {**_APPENDIX_D, "dci": {**_APPENDIX_D["dci"], "max_depth": [4, 2, 4, 2, 2]}}
    ),
    # dlib and the metrics that came after it
    "extended": Protocol(10_000, 5_000, {**_DLIB, **_NEWER}),
    # for factors that are numbers, continuous or not
    "continuous": Protocol(
        10_000,
        5_000,
        {
            "dci": {"estimator": "forest", "max_depth": "cv"},
            "sap": {"predictor": "r2"},
            "irs": {},
            "infomec": {},
            "dci_es": {},
            "retrieved_factors": {},
            **_UNSUPERVISED,
        },
    ),
}


_DECIDED = ("dci.disentanglement", "modularity", "beta_vae", "factor_vae", "infomec.infom", "med")  # by one factor
_PACKAGES = ("unbraid", "numpy", "scipy", "scikit-learn", "lightgbm")  # whose versions move scores


class ScoreTable(dict[str, float]):
    """Scores by name, and how they were made."""

    def __init__(self, protocol: str = "none", seed: str = "0", samples: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.protocol, self.seed, self.samples = protocol, seed, dict(samples or {})
        self.versions = {package: version(package) for package in _PACKAGES}
        self.arrays: dict[str, dict[str, Array]] = {}
        self.notes: list[str] = []

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

    Factors are whole numbers, or numbers of any kind where the metric allows. A metric that needs classes refuses a
    continuous factor by an error that says what to take instead; those of a named protocol, which nobody chose one by
    one, are left out with a note. `protocol="continuous"` has the metrics that take such factors.

    With `test=(codes, factors)` the first pair is the training set and both are used as they are; without it the rows
    are split. `protocol` is a name or a mapping from metrics to their settings; `metrics` keeps some, or adds others.
    `confidence=0.95` adds `NAME.low` and `NAME.high` from `resamples` bootstrap samples of the rows: every metric is
    then computed that many times more.
    """
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    name, chosen = _chosen(protocol, metrics)
    seed = "generator" if isinstance(rng, np.random.Generator) else str(rng)
    rng = generator(rng)
    sets = _sets(codes, factors, test, chosen, rng)
    sizes = {"train": len(sets.train[0]), "test": len(sets.test[0]), "all": len(sets.whole[0])}
    table = ScoreTable(name, seed, sizes)
    rounds = 1 + (resamples if confidence is not None else 0)
    named = isinstance(protocol, str) and metrics is None
    left_out: dict[str, ContinuousFactorError] = {}
    with progress("scoring", rounds * len(chosen.metrics)) as advance, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for metric, settings in chosen.metrics.items():
            try:
                table |= _measure(metric, settings, sets, int(rng.integers(2**31)), table.arrays)
            except ContinuousFactorError as error:
                right = f"{error.right}; or take protocol 'continuous'"
                left_out[metric] = ContinuousFactorError(sets.whole[1], error.column, right)  # rows as given
                if not named:
                    raise left_out[metric] from None
            advance(note=metric)
        if confidence is not None:
            kept = {metric: settings for metric, settings in chosen.metrics.items() if metric not in left_out}
            measured = Protocol(chosen.train, chosen.test, kept)
            table |= _intervals(table, measured, sets, confidence, resamples, rng, advance)
    table.notes = sorted({str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)})
    if left_out:
        why = next(iter(left_out.values()))
        instead = f"protocol 'continuous' has metrics for such factors{why.hint}"
        table.notes.append(f"left out {', '.join(left_out)}: {why.what}; {instead}")
    decided = [name for name in _DECIDED if name in table and sets.train[1].shape[1] == 1]
    if decided:
        table.notes.append(f"with a single factor {', '.join(decided)} cannot tell codes apart")
    return table


def _chosen(protocol: str | Mapping[str, Mapping[str, Any]], metrics: Iterable[str] | None) -> tuple[str, Protocol]:
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            raise InputError(f"there is no protocol '{protocol}'{nearest(protocol, PROTOCOLS)}")
        name, found = protocol, PROTOCOLS[protocol]
    elif isinstance(protocol, Mapping):
        name, found = "own", Protocol(10_000, 5_000, protocol)
    else:
        raise InputError(f"protocol is {protocol!r}; expected a name or a mapping from metrics to their settings")
    wanted = list(found.metrics) if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    for metric in wanted:
        if metric not in METRICS:
            raise InputError(f"there is no metric '{metric}'{nearest(metric, METRICS)}")
        known = set(inspect.signature(METRICS[metric].function).parameters) - {"codes", "factors", "test", "rng"}
        if not isinstance(found.metrics.get(metric, {}), Mapping):
            raise InputError(f"settings of '{metric}' are {found.metrics[metric]!r}; expected a mapping, such as {{}}")
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
        test_table, test_labels = paired(*as_pair(test), which="test ")
        for what, here, there in (("codes", table, test_table), ("factors", labels, test_labels)):
            if here.shape[1] != there.shape[1]:
                raise InputError(f"{what} have {here.shape[1]} columns but {there.shape[1]} in the test set")
        whole = np.concatenate([table, test_table]), np.concatenate([labels, test_labels])
        return _Sets((table, labels), (test_table, test_labels), whole)
    rows = len(table)
    need_rows(rows)
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
