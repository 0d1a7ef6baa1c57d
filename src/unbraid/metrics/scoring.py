"""`score`: all scores of a protocol for one set of codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, ContinuousFactorError, Pair, Rng, generator, need_rows, paired, split
from unbraid.metrics.protocols import METRICS, Part, Protocol, ProtocolLike, as_protocol
from unbraid.own import label
from unbraid.progress import Advance, progress

# scores that any code informative about a single factor decides
_DECIDED = ("dci.disentanglement", "modularity", "beta_vae_score", "factor_vae_score", "infomec.infom", "med")
_PACKAGES = ("unbraid", "numpy", "scipy", "scikit-learn", "lightgbm")  # scores depend on their versions


class ScoreTable(dict[str, float]):
    """Scores by name, and how they were computed."""

    def __init__(self, protocol: str = "none", seed: str = "0", samples: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.protocol, self.seed, self.samples = protocol, seed, dict(samples or {})
        self.versions = {package: version(package) for package in _PACKAGES}
        self.arrays: dict[str, dict[str, Array]] = {}
        self.notes: list[str] = []

    def record(self) -> dict[str, Any]:
        """The contents of `scores.json`."""
        made = {"protocol": self.protocol, "samples": self.samples, "seed": self.seed, "versions": self.versions}
        return {"scores": dict(self), **made, "notes": self.notes}


def score(
    codes: Any,
    factors: Any,
    test: Pair | None = None,
    protocol: ProtocolLike = "dlib",
    rng: Rng = 0,
    metrics: Iterable[str] | None = None,
    confidence: float | None = None,
    resamples: int = 20,
) -> ScoreTable:
    """Score codes (n, d) against factors (n, k); returns `mig`, `dci.disentanglement`, … by name.

    Factors are whole numbers, or any numbers if the metric allows. A metric that needs classes refuses a continuous
    factor with an error that says what to use instead. A protocol chosen by name leaves such metrics out and adds a
    note. `protocol="continuous"` has only metrics for continuous factors.

    With `test=(codes, factors)` the first pair is the training set, and both are used as given. Without it, the rows
    are split. `protocol` is a name, a `Protocol` or a mapping from metrics to their settings. `metrics` selects some of
    its metrics, or adds others with their defaults. `confidence=0.95` adds `NAME.low` and `NAME.high` from `resamples`
    bootstrap samples of the rows, which computes every metric that many more times.

    >>> factors = np.indices((3, 4, 5)).reshape(3, -1).T
    >>> sorted(score(2.0 * factors, factors, metrics=["mig", "modularity"]))
    ['mig', 'modularity']
    """
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    chosen = _selected(as_protocol(protocol), metrics)
    seed = "generator" if isinstance(rng, np.random.Generator) else str(rng)
    rng = generator(rng)
    sets = _sets(codes, factors, test, chosen, rng)
    sizes = {"train": len(sets.train[0]), "test": len(sets.test[0]), "all": len(sets.whole[0])}
    table = ScoreTable(chosen.name, seed, sizes)
    rounds = 1 + (resamples if confidence is not None else 0)
    by_name = isinstance(protocol, str) and metrics is None
    left_out: dict[str, ContinuousFactorError] = {}
    parts, measured = chosen.parts(), list[Part]()
    with progress("scoring", rounds * len(parts)) as advance, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seeds = _Seeds(rng)
        for part in parts:
            try:
                table |= _measure(part, sets, seeds[part.metric], table.arrays)
                measured.append(part)
            except ContinuousFactorError as error:
                remedy = f"{error.remedy}; or use protocol 'continuous'"
                left_out[part.metric] = ContinuousFactorError(sets.whole[1], error.column, remedy)  # rows as given
                if not by_name:
                    raise left_out[part.metric] from None
            advance(note=part.metric)
        if confidence is not None:
            table |= _intervals(table, measured, sets, confidence, resamples, rng, advance)
    table.notes = sorted({str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)})
    if left_out:
        first = next(iter(left_out.values()))
        instead = f"protocol 'continuous' has metrics for such factors{first.hint}"
        table.notes.append(f"left out {', '.join(left_out)}: {first.problem}; {instead}")
    decided = [name for name in _DECIDED if name in table and sets.train[1].shape[1] == 1]
    if decided:
        table.notes.append(f"with a single factor {', '.join(decided)} cannot distinguish codes")
    return table


def _selected(protocol: Protocol, metrics: Iterable[str] | None) -> Protocol:
    """The protocol with these metrics only; those it does not have are added with their defaults."""
    if metrics is None:
        return protocol
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    beside = {
        prefix: {metric: settings[metric] for metric in names if metric in settings}
        for prefix, settings in protocol.beside.items()
    }
    return replace(protocol, metrics={metric: protocol.metrics.get(metric, {}) for metric in names}, beside=beside)


class _Seeds(dict[str, int]):
    """A seed per metric, drawn when it is first asked for: scores beside others are those of their protocol alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._rng = rng

    def __missing__(self, metric: str) -> int:
        self[metric] = int(self._rng.integers(2**31))
        return self[metric]


@dataclass(frozen=True)
class _Sets:
    """Codes and factors of the training rows, of the test rows and of all rows."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    whole: tuple[Array, Array]

    def resampled(self, rng: np.random.Generator) -> _Sets:
        """A bootstrap sample of each set."""
        drawn = []
        for codes, labels in (self.train, self.test, self.whole):
            rows = rng.integers(len(codes), size=len(codes))
            drawn.append((codes[rows], labels[rows]))
        return _Sets(*drawn)


def _sets(codes: Any, factors: Any, test: Pair | None, protocol: Protocol, rng: np.random.Generator) -> _Sets:
    if test is not None:
        train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
        whole = np.concatenate([train_codes, test_codes]), np.concatenate([train_factors, test_factors])
        return _Sets((train_codes, train_factors), (test_codes, test_factors), whole)
    table, labels = paired(codes, factors)
    rows = len(table)
    need_rows(rows)
    order = rng.permutation(rows)
    cut = min(protocol.train, round(rows * protocol.train / (protocol.train + protocol.test)))
    first, second = order[:cut], order[cut : cut + protocol.test]
    return _Sets((table[first], labels[first]), (table[second], labels[second]), (table, labels))


def _measure(part: Part, sets: _Sets, seed: int, arrays: dict[str, dict[str, Array]] | None = None) -> dict[str, float]:
    metric, settings = part.metric, part.settings
    function, reads, metric = METRICS[metric].function, METRICS[metric].reads, label(metric)
    if reads == "codes":
        scores = function(sets.train[0], rng=seed, **settings)
    elif reads == "split":
        scores = function(*sets.train, test=sets.test, rng=seed, **settings)
    else:
        scores = function(*(sets.whole if reads == "all" else sets.train), rng=seed, **settings)
    if arrays is not None:
        arrays |= {prefix + metric: scores.arrays for prefix in part.prefixes}
    named = {metric if name == metric else f"{metric}.{name}": value for name, value in scores.items()}
    return {prefix + name: value for prefix in part.prefixes for name, value in named.items()}


def _intervals(
    scores: Mapping[str, float],
    parts: Iterable[Part],
    sets: _Sets,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    advance: Advance,
) -> dict[str, float]:
    """The bounds `NAME.low` and `NAME.high`: the spread of bootstrap scores around their median, centred on the score.

    Resampling repeats rows, which shifts many metrics (histograms then overestimate information); centring removes the
    shift.
    """
    drawn: dict[str, list[float]] = {}
    for _ in range(resamples):
        sample, seeds = sets.resampled(rng), _Seeds(rng)
        for part in parts:
            for name, value in _measure(part, sample, seeds[part.metric]).items():
                drawn.setdefault(name, []).append(value)
            advance(note=part.metric)
    tail = (1 - confidence) / 2
    bounds: dict[str, float] = {}
    for name, values in drawn.items():
        spread = np.quantile(values, [tail, 1 - tail]) - np.median(values)
        bounds[f"{name}.low"], bounds[f"{name}.high"] = (scores[name] + spread).tolist()
    return bounds
