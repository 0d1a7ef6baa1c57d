"""`score`: all scores of a protocol for one set of codes, or for an encoder and data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import (
    Array,
    ContinuousFactorError,
    Pair,
    Rng,
    Scores,
    as_codes,
    as_pair,
    generator,
    need_rows,
)
from unbraid.metrics.declaration import Metric, Settings, Size
from unbraid.metrics.protocols import METRICS, Part, Protocol, ProtocolLike, as_protocol
from unbraid.metrics.score_table import ScoreTable
from unbraid.own import label
from unbraid.progress import Advance, progress

if TYPE_CHECKING:
    from unbraid.data.labels import Labels

# scores that any code informative about a single factor decides
_DECIDED = ("dci.disentanglement", "modularity", "beta_vae_score", "factor_vae_score", "infomec.infom", "med")
BASELINE = 2_000  # training rows for the baselines of metrics that fit models
ABOVE = 0.01  # of a score over that of perfect codes that is worth a note
RESAMPLED, FEWEST = 8, 500  # a bootstrap sample has an eighth of the rows, but at least 500


def score(
    codes: Any,
    factors: Any,
    test: Pair | None = None,
    protocol: ProtocolLike = "dlib",
    rng: Rng = 0,
    metrics: Iterable[str] | str | None = None,
    confidence: float | None = None,
    resamples: int = 20,
    *,
    names: Iterable[str] | None = None,
    code_names: Iterable[str] | None = None,
    types: Mapping[str, str] | None = None,
    baseline: bool = False,
    announce: Callable[[float], None] | None = None,
    preprocess: Callable[[Any], Any] | None = None,
    batch: int = 256,
    device: str | None = None,
    samples: int | None = None,
) -> ScoreTable:
    """Score codes (n, d) against factors (n, k), or an encoder on data: `mig`, `dci.disentanglement`, … by name.

    **Codes** are an array, a tensor, a data frame or a sparse matrix. **Factors** are an array, a data frame or a
    mapping from names to columns; `names` names them, `code_names` the codes. Words, booleans and categories are
    classes, whole numbers are ordered values, and other numbers are continuous; `types={"angle": "continuous"}` says
    otherwise. Rows with a missing label are left out, with a note. A metric that needs classes is computed without the
    continuous factors, with a note; if all are continuous, it is left out, or is an error if you chose it.
    `protocol="continuous"` has only metrics for continuous factors.

    **An encoder** is a module, a function, a scikit-learn transformer or the file of one, as in `represent`, and takes
    the place of the codes; a data set, its name, or a pair of images and factors then takes the place of the factors.
    `preprocess`, `batch`, `device` and `samples` are those of `represent`. **AnnData** takes the place of the codes,
    and the names of columns of its `obs` that of the factors.

    With `test=(codes, factors)` the first pair is the training set, and both are used as given. Without it, the rows
    are split. `protocol` is a name, a `Protocol` or a mapping from metrics to their settings. `metrics` selects some of
    its metrics, or adds others with their defaults.

    `baseline=True` adds what the scores would be for noise (each code shuffled among the rows) and for perfect codes
    (one per factor), as `noise` and `perfect` of the result; metrics that fit models use at most 2,000 training rows
    for that. `confidence=0.95` adds `NAME.low` and `NAME.high` from `resamples` bootstrap samples. `announce` is called
    with the seconds that all this will take on one core, roughly, before it starts.

    >>> factors = np.indices((3, 4, 5)).reshape(3, -1).T
    >>> sorted(score(2.0 * factors, factors, metrics=["mig", "modularity"]))
    ['mig', 'modularity']
    """
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    if confidence is not None and resamples < 2:
        raise InputError(f"resamples is {resamples}; expected at least 2")
    chosen = _selected(as_protocol(protocol), metrics)
    seed = "generator" if isinstance(rng, np.random.Generator) else str(rng)
    rng = generator(rng)
    opened = None
    if is_encoder(codes):
        if test is not None:
            raise InputError("test is for codes; an encoder's codes are split")
        data_set = _as_data(factors)
        codes, factors = encoded(
            codes, data_set, rng, preprocess=preprocess, batch=batch, device=device, samples=samples, types=types
        )
        opened = None if types else data_set.opened
    elif hasattr(codes, "obs") and hasattr(codes, "X"):
        code_names = getattr(codes, "var_names", None) if code_names is None else code_names
        codes, factors = _annotated(codes, factors)
    named = names is not None or hasattr(factors, "names") or _has_names(factors)
    columns = _code_names(codes) if code_names is None else [str(name) for name in code_names]
    data = _data(codes, factors, test, names, types)
    sets = _sets(data, chosen, rng)
    sizes = {"train": len(sets.train[0]), "test": len(sets.test[0]), "all": len(sets.whole[0])}
    width = sets.train[0].shape[1]
    columns = columns or [str(code) for code in range(width)]
    if len(columns) != width:
        raise InputError(f"there are {len(columns)} names for {width} codes; expected one per code")
    table = ScoreTable(chosen.name, seed, sizes, data.labels.names, columns, data.labels.types)
    table.data = opened
    work = _Work(sets, data.labels, named)
    rounds = 1 + (resamples if confidence is not None else 0) + (2 if baseline else 0)
    by_name = isinstance(protocol, str) and metrics is None
    partly: dict[int, list[str]] = {}
    parts, present, unconverged = chosen.parts(), list[Part](), list[str]()
    table.settings = {prefix + label(part.metric): part.full for part in parts for prefix in part.prefixes}
    if announce is not None:
        announce(_forecast(parts, work, baseline, resamples if confidence is not None else 0))
    with progress("scoring", rounds * len(parts)) as advance, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seeds = _Seeds(rng)
        for part in parts:
            before = len(caught)
            measured = work.measure(part, seeds[part.metric])
            if any(_is_convergence(warning) for warning in caught[before:]):
                unconverged.append(label(part.metric))
            advance(note=part.metric)
            if measured.error is not None:
                if not by_name:
                    raise _refusal(measured.error, data)
                table.absent[label(part.metric)] = _refusal(measured.error, data).problem
                continue
            for column in measured.dropped:
                partly.setdefault(column, []).append(label(part.metric))
                table.without.setdefault(label(part.metric), set()).add(data.labels.names[column])
            present.append(part)
            table |= measured.scores
            table.arrays |= {prefix + label(part.metric): measured.arrays for prefix in part.prefixes}
        if confidence is not None:
            table |= _intervals(table, present, work, confidence, resamples, rng, advance)
        if baseline:
            _baselines(table, present, work, rng, advance)
    table.notes = [*data.notes, *_notes(table, data, partly)]
    if unconverged:
        notes = f"{', '.join(dict.fromkeys(unconverged))}: some fits stopped before they converged"
        table.notes.append(f"{notes}, so these scores may be slightly low")
    others = [one for one in caught if issubclass(one.category, UserWarning) and not _is_convergence(one)]
    table.notes += sorted({" ".join(str(warning.message).split()) for warning in others})
    return table


def _is_convergence(warning: warnings.WarningMessage) -> bool:
    """Whether scikit-learn says, in several lines, that a fit ran out of iterations."""
    return warning.category.__name__ == "ConvergenceWarning"


def is_encoder(codes: Any) -> bool:
    """Whether codes are still to be computed: something to call, a transformer or the file of one."""
    return isinstance(codes, str | Path) or callable(codes) or (hasattr(codes, "transform") and hasattr(codes, "fit"))


def encoded(
    encoder: Any,
    data: Any,
    rng: np.random.Generator,
    *,
    preprocess: Callable[[Any], Any] | None = None,
    batch: int = 256,
    device: str | None = None,
    samples: int | None = None,
    types: Mapping[str, str] | None = None,
) -> tuple[Array, Labels]:
    """The codes of an encoder and the labels of the data, some of another type than the data says."""
    from unbraid.training.representation import represent

    opened = _as_data(data)
    if not opened.names:
        raise InputError("this data has no factors; there is nothing to score against")
    coded = represent(encoder, opened, rng, samples=samples, batch=batch, preprocess=preprocess, device=device)
    return coded.codes.numpy(), opened.labels_at(coded.rows).retyped(types or {})


def _as_data(data: Any) -> Any:
    from unbraid.training.representation import as_data

    return as_data(data)


def _annotated(table: Any, factors: Any) -> tuple[Any, Any]:
    """The codes and the factors of AnnData, whose factors are columns of `obs`."""
    wanted = [factors] if isinstance(factors, str) else list(factors)
    for name in wanted:
        if name not in table.obs.columns:
            raise InputError(f"obs has no column '{name}'; it has {', '.join(map(str, table.obs.columns))}")
    return table.X, table.obs[wanted]


def _code_names(codes: Any) -> list[str]:
    return [str(name) for name in codes.columns] if hasattr(codes, "columns") and hasattr(codes, "iloc") else []


def _has_names(factors: Any) -> bool:
    return isinstance(factors, Mapping) or hasattr(factors, "iloc")


def _selected(protocol: Protocol, metrics: Iterable[str] | str | None) -> Protocol:
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
class _Data:
    """Codes and labels of the rows that have every label: the training rows first if there is a test set."""

    codes: Array
    labels: Labels
    train: int | None
    """How many rows are the training set, where it was given."""
    rows: Array
    """The row of each in what was given."""
    notes: list[str]


def _data(
    codes: Any, factors: Any, test: Pair | None, names: Iterable[str] | None, types: Mapping[str, str] | None
) -> _Data:
    from unbraid.data.labels import as_labels, together

    table = as_codes(codes)
    if test is None:
        labels, cut = as_labels(factors, names, types), len(table)
        _paired(len(table), len(labels))
    else:
        other, other_factors = as_pair(test)
        unseen = as_codes(other, "test codes")
        if table.shape[1] != unseen.shape[1]:
            raise InputError(f"codes have {table.shape[1]} columns but {unseen.shape[1]} in the test set")
        labels, cut = together(factors, other_factors, names, types)
        _paired(len(table), cut)
        _paired(len(unseen), len(labels) - cut, "test ")
        table = np.concatenate([table, unseen])
    notes, complete = list(labels.notes), labels.complete
    if not complete.all():
        lost = int((~complete).sum())
        culprits = [name for name, column in zip(labels.names, labels.values.T, strict=True) if np.isnan(column).any()]
        if not complete.any():
            raise InputError(f"no row has all labels; leave out some of {', '.join(culprits)}")
        notes.append(f"left out {lost:,} of {len(labels):,} rows without a label for {', '.join(culprits)}")
    rows = np.flatnonzero(complete)
    train = None if test is None else int(complete[:cut].sum())
    return _Data(table[rows], labels.rows(rows), train, rows, notes)


def _paired(codes: int, factors: int, which: str = "") -> None:
    if codes != factors:
        raise InputError(f"there are {codes} rows of {which}codes but {factors} of {which}factors")


@dataclass(frozen=True)
class _Sets:
    """Codes and factors of the training rows, of the test rows and of all rows."""

    train: tuple[Array, Array]
    test: tuple[Array, Array]
    whole: tuple[Array, Array]

    def each(self, change: Callable[[Array, Array], tuple[Array, Array]]) -> _Sets:
        """Each of the three, changed."""
        return _Sets(change(*self.train), change(*self.test), change(*self.whole))


def _sets(data: _Data, protocol: Protocol, rng: np.random.Generator) -> _Sets:
    table, labels = data.codes, data.labels.table()
    if data.train is not None:
        cut = data.train
        for count in (cut, len(table) - cut):
            if not count:
                raise InputError("no row of the training or of the test set has all labels")
        return _Sets((table[:cut], labels[:cut]), (table[cut:], labels[cut:]), (table, labels))
    rows = len(table)
    need_rows(rows)
    order = rng.permutation(rows)
    cut = min(protocol.train, round(rows * protocol.train / (protocol.train + protocol.test)))
    first, second = order[:cut], order[cut : cut + protocol.test]
    return _Sets((table[first], labels[first]), (table[second], labels[second]), (table, labels))


@dataclass(frozen=True)
class _Measured:
    scores: dict[str, float]
    arrays: dict[str, Array]
    dropped: list[int]
    """The continuous factors that the metric could not use."""
    error: ContinuousFactorError | None = None
    """Why it has no score: it could use none of the factors."""


@dataclass(frozen=True)
class _Work:
    """What metrics are computed on."""

    sets: _Sets
    labels: Labels
    named: bool
    """Whether the factors were given names."""

    def measure(self, part: Part, seed: int, sets: _Sets | None = None, share: float = 1.0) -> _Measured:
        """The scores of a metric, without the continuous factors that it refuses; it draws a share of its points."""
        declared, sets = METRICS[part.metric], sets or self.sets
        settings = _with_points(declared, part.settings, share) if share < 1 else part.settings
        columns, dropped, error = list(range(len(self.labels.names))), list[int](), None
        while columns:
            try:
                scores = self._call(declared, settings, sets, columns, seed)
            except ContinuousFactorError as refused:
                error = error or refused
                dropped.append(columns.pop(refused.column))
            else:
                arrays = {
                    name: _expanded(array, declared.axes.get(name, ""), columns, len(self.labels.names))
                    for name, array in scores.arrays.items()
                }
                flat = {_flat(label(part.metric), name): value for name, value in scores.items()}
                named = {prefix + name: value for prefix in part.prefixes for name, value in flat.items()}
                return _Measured(named, arrays, dropped)
        return _Measured({}, {}, dropped, error)

    def _call(self, declared: Metric, settings: Settings, sets: _Sets, columns: Sequence[int], seed: int) -> Scores:
        if declared.reads == "codes":
            return declared.function(sets.train[0], rng=seed, **settings)
        given = dict(settings)
        if "categorical" in declared.settings and "categorical" not in given:
            given["categorical"] = [index for index, column in enumerate(columns) if column in self.labels.classes]
        if "names" in declared.settings and self.named:
            given.setdefault("names", [self.labels.names[column] for column in columns])
        chosen = sets.each(lambda codes, factors: (codes, _columns(factors, columns)))
        if declared.reads == "split":
            return declared.function(*chosen.train, test=chosen.test, rng=seed, **given)
        return declared.function(*(chosen.whole if declared.reads == "all" else chosen.train), rng=seed, **given)


def _flat(metric: str, name: str) -> str:
    return metric if name == metric else f"{metric}.{name}"


def _columns(factors: Array, columns: Sequence[int]) -> Array:
    return factors if len(columns) == factors.shape[1] else factors[:, columns]


def _expanded(array: Array, axes: str, columns: Sequence[int], count: int) -> Array:
    """An array over some factors as one over all, NaN for the others."""
    if len(columns) == count or "f" not in axes:
        return array
    axis = axes.index("f")
    shape = list(array.shape)
    shape[axis] = count
    whole = np.full(shape, np.nan)
    whole[(slice(None),) * axis + (list(columns),)] = array
    return whole


def _refusal(error: ContinuousFactorError, data: _Data) -> ContinuousFactorError:
    """The error with the row and the name as they were given."""
    name, column = f"factor '{data.labels.names[error.column]}'", data.labels.values[:, [error.column]]
    remedy = f"{error.remedy}; or use protocol 'continuous'"
    return ContinuousFactorError(column, 0, remedy, name, data.rows)


def _notes(table: ScoreTable, data: _Data, partly: Mapping[int, Sequence[str]]) -> list[str]:
    """What a reader of the scores should know."""
    notes = []
    if table.absent:
        reason = next(iter(table.absent.values()))
        notes.append(
            f"left out {', '.join(table.absent)}: {reason}; protocol 'continuous' has metrics for such factors"
        )
    by_metrics: dict[tuple[str, ...], list[str]] = {}
    for column, metrics in partly.items():
        by_metrics.setdefault(tuple(metrics), []).append(f"'{data.labels.names[column]}'")
    for metrics, factors in by_metrics.items():
        plural = "factors" if len(factors) > 1 else "factor"
        notes.append(f"{', '.join(metrics)}: without the continuous {plural} {', '.join(factors)}")
    constant = [name for name, column in zip(table.names, data.labels.values.T, strict=True) if np.ptp(column) == 0]
    for name in constant:
        notes.append(f"factor '{name}' has a single value in these rows, so no code can tell anything about it")
    decided = [name for name in _DECIDED if name in table]
    if decided and len(table.names) - len(constant) == 1:
        which = "a single factor" if not constant else "a single factor that varies"
        notes.append(f"with {which} {', '.join(decided)} cannot distinguish codes")
    if above := [name for name, perfect in table.perfect.items() if _higher(name) and table[name] > perfect + ABOVE]:
        notes.append(
            f"{', '.join(above)}: above what perfect codes score, which is a reference and not the maximum "
            "(one code per factor, its values as numbers at one scale)"
        )
    return notes


def _higher(score: str) -> bool:
    """Whether higher is better, by the metric that a score is of."""
    metrics = [METRICS[part] for part in score.split(".") if part in METRICS]
    return bool(metrics) and metrics[0].better == "higher"


def _intervals(
    scores: Mapping[str, float],
    parts: Sequence[Part],
    work: _Work,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
    advance: Advance,
) -> dict[str, float]:
    """The bounds `NAME.low` and `NAME.high`: the spread of bootstrap scores around their median, centred on the score.

    Resampling repeats rows, which shifts many metrics (histograms then overestimate information); centring removes the
    shift. A sample has an eighth of the rows, drawn with repetition, so that twenty cost little; its spread is that of
    all rows times √8 (the m out of n bootstrap), and is scaled back.
    """
    drawn: dict[str, list[float]] = {}
    share = _share_of(len(work.sets.train[0]))
    for _ in range(resamples):
        sample = work.sets.each(lambda codes, factors: _resampled(codes, factors, rng, share))
        seeds = _Seeds(rng)
        for part in parts:
            for name, value in work.measure(part, seeds[part.metric], sample, share).scores.items():
                drawn.setdefault(name, []).append(value)
            advance(note=part.metric)
    tail = (1 - confidence) / 2
    bounds: dict[str, float] = {}
    for name, values in drawn.items():
        spread = (np.quantile(values, [tail, 1 - tail]) - np.median(values)) * np.sqrt(share)
        bounds[f"{name}.low"], bounds[f"{name}.high"] = (scores[name] + spread).tolist()
    return bounds


def _share_of(rows: int) -> float:
    """The size of a bootstrap sample relative to the rows."""
    return max(rows // RESAMPLED, min(rows, FEWEST)) / rows


def _resampled(codes: Array, factors: Array, rng: np.random.Generator, share: float) -> tuple[Array, Array]:
    rows = rng.integers(len(codes), size=max(2, round(len(codes) * share)))
    return codes[rows], factors[rows]


def _with_points(metric: Metric, settings: Settings, share: float) -> Settings:
    """Settings of a metric that draws points from the rows, with a share of them."""
    if "train_points" not in metric.settings:
        return settings
    points = {"train_points": 10_000, "test_points": 5_000, **settings}
    return {**points, **{name: max(1, round(points[name] * share)) for name in ("train_points", "test_points")}}


def _baselines(
    table: ScoreTable, parts: Sequence[Part], work: _Work, rng: np.random.Generator, advance: Advance
) -> None:
    """Fill in the scores of noise, each code shuffled among the rows, and of perfect codes, one per factor."""
    rows = len(work.sets.train[0])
    share = min(1.0, BASELINE / rows)
    small = work.sets.each(lambda codes, factors: _first(codes, factors, share))
    seeds = _Seeds(rng)
    for part in parts:
        sets = small if METRICS[part.metric].refits else work.sets
        noise = sets.each(lambda codes, factors: (rng.permuted(codes, axis=0), factors))
        perfect = sets.each(lambda codes, factors: (_perfect(factors), factors))
        table.noise |= work.measure(part, seeds[part.metric], noise, share).scores
        with suppress(InputError):  # settings may name columns that perfect codes do not have
            table.perfect |= work.measure(part, seeds[part.metric], perfect, share).scores
        table.baseline_rows[label(part.metric)] = len(sets.train[0])
        advance(2, note=part.metric)


def _first(codes: Array, factors: Array, share: float) -> tuple[Array, Array]:
    """The first rows, which are in random order unless the user gave both sets."""
    count = max(2, round(len(codes) * share))
    return codes[:count], factors[:count]


def _perfect(factors: Array) -> Array:
    """One code per factor, its own values at mean 0 and deviation 1."""
    codes = factors.astype(np.float64) - factors.mean(0)
    spread = codes.std(0)
    return np.asarray(codes / np.where(spread > 0, spread, 1))


def forecast(protocol: ProtocolLike, size: Size) -> float:
    """What scoring by a protocol costs on one core of a desk machine, roughly, in seconds."""
    return sum(METRICS[part.metric].seconds(size, part.settings) for part in as_protocol(protocol).parts())


def _forecast(parts: Sequence[Part], work: _Work, baseline: bool, resamples: int) -> float:
    """The same for one call of `score`, with its baselines and resamples."""
    codes, factors = work.sets.train
    kinds = zip(work.labels.types, factors.T, strict=True)
    values = sum(1 if kind == "continuous" else len(np.unique(column)) for kind, column in kinds)
    size = Size(len(codes), codes.shape[1], factors.shape[1], values)
    small = replace(size, rows=min(size.rows, BASELINE))
    seconds = 0.0
    for part in parts:
        declared = METRICS[part.metric]
        seconds += declared.seconds(size, part.settings) * (1 + resamples * _share_of(size.rows))
        seconds += 2 * declared.seconds(small if declared.refits else size, part.settings) if baseline else 0
    return seconds
