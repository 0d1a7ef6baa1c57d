"""`score`: all scores of a protocol for one set of codes, or for an encoder and data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid.errors import InputError
from unbraid.metrics._arrays import Array, ContinuousFactorError, Pair, Rng, generator
from unbraid.metrics._baselines import BASELINE, add_baselines
from unbraid.metrics._bootstrap import intervals, share_of
from unbraid.metrics._measuring import Seeds, Work
from unbraid.metrics._rows import Rows, rows_of, split
from unbraid.metrics.declaration import Size
from unbraid.metrics.protocols import METRICS, Part, Protocol, ProtocolLike, as_protocol
from unbraid.metrics.score_table import ScoreTable
from unbraid.own import label
from unbraid.progress import progress

if TYPE_CHECKING:
    from unbraid.data.labels import Labels

# scores that any code informative about a single factor decides
_DECIDED = ("dci.disentanglement", "modularity", "beta_vae_score", "factor_vae_score", "infomec.infom", "med")
ABOVE = 0.01  # of a score over that of perfect codes that is worth a note


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
    data = rows_of(codes, factors, test, names, types)
    sets = split(data, chosen, rng)
    sizes = {"train": len(sets.train[0]), "test": len(sets.test[0]), "all": len(sets.whole[0])}
    width = sets.train[0].shape[1]
    columns = columns or [str(code) for code in range(width)]
    if len(columns) != width:
        raise InputError(f"there are {len(columns)} names for {width} codes; expected one per code")
    table = ScoreTable(chosen.name, seed, sizes, data.labels.names, columns, data.labels.types)
    table.data = opened
    work = Work(sets, data.labels, named)
    rounds = 1 + (resamples if confidence is not None else 0) + (2 if baseline else 0)
    by_name = isinstance(protocol, str) and metrics is None
    partly: dict[int, list[str]] = {}
    parts, present, unconverged = chosen.parts(), list[Part](), list[str]()
    table.settings = {prefix + label(part.metric): part.full for part in parts for prefix in part.prefixes}
    if announce is not None:
        announce(_forecast(parts, work, baseline, resamples if confidence is not None else 0))
    with progress("scoring", rounds * len(parts)) as advance, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seeds = Seeds(rng)
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
            table |= intervals(table, present, work, confidence, resamples, rng, advance)
        if baseline:
            add_baselines(table, present, work, rng, advance)
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


def _refusal(error: ContinuousFactorError, data: Rows) -> ContinuousFactorError:
    """The error with the row and the name as they were given."""
    name, column = f"factor '{data.labels.names[error.column]}'", data.labels.values[:, [error.column]]
    remedy = f"{error.remedy}; or use protocol 'continuous'"
    return ContinuousFactorError(column, 0, remedy, name, data.rows)


def _notes(table: ScoreTable, data: Rows, partly: Mapping[int, Sequence[str]]) -> list[str]:
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


def forecast(protocol: ProtocolLike, size: Size) -> float:
    """What scoring by a protocol costs on one core of a desk machine, roughly, in seconds."""
    return sum(METRICS[part.metric].seconds(size, part.settings) for part in as_protocol(protocol).parts())


def _forecast(parts: Sequence[Part], work: Work, baseline: bool, resamples: int) -> float:
    """The same for one call of `score`, with its baselines and resamples."""
    codes, factors = work.sets.train
    columns = zip(work.labels.types, factors.T, strict=True)
    values = sum(1 if factor_type == "continuous" else len(np.unique(column)) for factor_type, column in columns)
    size = Size(len(codes), codes.shape[1], factors.shape[1], values)
    small = replace(size, rows=min(size.rows, BASELINE))
    seconds = 0.0
    for part in parts:
        declared = METRICS[part.metric]
        seconds += declared.seconds(size, part.settings) * (1 + resamples * share_of(size.rows))
        seconds += 2 * declared.seconds(small if declared.refits else size, part.settings) if baseline else 0
    return seconds
