"""Where a score lies among those of the desk studies' models, and beside what papers printed.

Scores are compared only where data and metric are the same: the same images, factors and settings of the metric. Where
the size of the images or the number of rows differs, that is said. Published scores are named as such, never ranked.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pandas as pd

from unbraid.arguments import checked
from unbraid.data import catalogue
from unbraid.errors import InputError
from unbraid.jobs.job import ordered
from unbraid.jobs.training import Train
from unbraid.metrics import METRICS, PROTOCOLS, Protocol, ScoreTable, as_protocol
from unbraid.metrics.dci import ESTIMATORS
from unbraid.metrics.declaration import Settings
from unbraid.pictures.names import method_name
from unbraid.runs.identity import plain
from unbraid.runs.run import Run
from unbraid.studies import STUDIES, open_study
from unbraid.studies.published import LOOK_ALIKES, RESOLUTION, Published, published_for
from unbraid.training.representation import WHOLE

SCALE = "desk"
FEWEST = 5  # models that make a band
FEW = 20  # models up to which they are counted, not given in percent
_SAME = {"dsprites_official": "dsprites"}  # drawn bit for bit as in the file
_READS = {"train": ("train",), "codes": ("train",), "split": ("train", "test"), "all": ("all",)}
_ROWS = {"train": "training rows", "test": "test rows", "all": "rows"}


@dataclass(frozen=True)
class Kind:
    """What two scores must have in common to be compared: the metric with all its settings, and which of its scores."""

    metric: str
    settings: str
    """As JSON, defaults included."""
    score: str
    """Its name without the prefix of a protocol."""
    named: str = field(compare=False)
    """What the metric is called among its scores."""


@dataclass(frozen=True)
class Conditions:
    """How scores were made."""

    data: str
    resolution: int
    data_settings: Mapping[str, Any]
    metrics: Mapping[str, Settings]
    """The settings of each metric, defaults included, by the name that its scores begin with."""
    rows: Mapping[str, int]
    """`train`, `test` and `all`."""

    @classmethod
    def of(
        cls, data: str, resolution: int, data_settings: Mapping[str, Any], metrics: Mapping[str, Settings],
        rows: Mapping[str, int],
    ) -> Conditions:  # fmt: skip
        """The targets, labels or codes that come with images and factors do not count."""
        extra = {name for wrapper in catalogue.WRAPPERS if wrapper.gives for name in wrapper.help}
        chosen = {name: value for name, value in data_settings.items() if name not in extra}
        return cls(_SAME.get(data, data), resolution, catalogue.content(data, chosen), metrics, rows)

    def kind(self, score: str) -> Kind | None:
        """The kind of a score; None where it is not one of a metric of the codes."""
        names = [name for name in self.metrics if score == name or score.startswith(f"{name}.")]
        if not names or score.endswith((".low", ".high")):
            return None
        name = max(names, key=len)
        metric = name.rpartition(".")[2]
        settings = json.dumps(self.metrics[name], sort_keys=True, default=str)
        return Kind(metric, settings, metric + score[len(name) :], name)

    def same_data(self, other: Conditions) -> bool:
        return (self.data, self.data_settings) == (other.data, other.data_settings)

    def differences(self, other: Conditions, metrics: Collection[str]) -> list[str]:
        """What of these is not as in `other`, though scores of these metrics can be named beside each other."""
        sides = {"": (f"{self.resolution}x{self.resolution}", f"{other.resolution}x{other.resolution}")}
        read = {rows for metric in metrics for rows in _READS[METRICS[metric].reads]}
        for rows in (rows for rows in _ROWS if rows in read):
            sides[_ROWS[rows]] = (f"{self.rows[rows]:,} {_ROWS[rows]}", f"{other.rows.get(rows, 0):,}")
        return [f"{own}, not {compared}" for own, compared in sides.values() if own.partition(" ")[0] != compared]


@dataclass(frozen=True, eq=False)
class Models:
    """The finished models of a study whose scores were made alike."""

    study: str
    conditions: Conditions
    table: pd.DataFrame

    def scores(self, kind: Kind) -> pd.DataFrame | None:
        """Method and `value` of each, or None where they have no scores of this kind."""
        for name in self.conditions.metrics:
            column = name.removesuffix(kind.metric) + kind.score
            if self.conditions.kind(column) == kind and f"scores.{column}" in self.table:
                known = self.table[["method", f"scores.{column}"]].dropna()
                return known.set_axis(["method", "value"], axis=1) if len(known) >= FEWEST else None
        return None

    def described(self, other: Conditions, metrics: Collection[str]) -> str:
        """`models: desk run of the study assumptions on dsprites at 32x32, not 64x64; 3,000 steps`."""
        where = f"{self.conditions.data} at {self.conditions.resolution}x{self.conditions.resolution}"
        steps = sorted(self.table["steps"].unique())
        trained = f"{steps[0]:,} steps" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,} steps"
        differences = "; ".join(self.conditions.differences(other, metrics))
        text = f"models: {SCALE} run of the study {self.study}, {where}, {trained}"
        return f"{text}; differs: {differences}" if differences else text


@cache
def _models(study: str) -> tuple[Models, ...]:
    """The models of a study's kept results, by how they were scored; without those whose job it no longer has."""
    frame = open_study(study).kept(SCALE).frame
    frame = frame[(frame["state"] == "done") & frame["id"].notna()].astype({"id": str}) if len(frame) else frame
    groups: dict[str, tuple[Conditions, list[str]]] = {}
    for job in ordered(open_study(study).jobs(SCALE)):
        if isinstance(job, Train) and job.protocol and job.encoder is None:
            conditions = _of_job(job)
            key = json.dumps(vars(conditions), sort_keys=True, default=str)
            groups.setdefault(key, (conditions, []))[1].append(job.id)
    by_conditions = [Models(study, conditions, frame[frame["id"].isin(ids)]) for conditions, ids in groups.values()]
    return tuple(models for models in by_conditions if len(models.table) >= FEWEST)


def _of_job(job: Train) -> Conditions:
    protocol = as_protocol(job.protocol or {})
    count = min(job.samples or WHOLE, catalogue.declared(job.data).images or WHOLE)
    cut = min(protocol.train, round(count * protocol.train / (protocol.train + protocol.test)))
    rows = {"train": cut, "test": min(protocol.test, count - cut), "all": count}
    return Conditions.of(job.data, job.resolution, job.data_settings, _metrics(protocol), rows)


def _metrics(protocol: Protocol) -> dict[str, Settings]:
    """The settings of the built-in metrics of a protocol."""
    return {
        prefix + part.metric: part.full
        for part in protocol.parts() for prefix in part.prefixes if part.metric in METRICS
    }  # fmt: skip


@cache
def _studies_on(data: str, whole: bool) -> tuple[str, ...]:
    """The studies with kept models on a data set: on the whole of it, or on a part of it. Plans no study's jobs."""
    studies = []
    for name in STUDIES:
        try:
            frame = open_study(name).kept(SCALE).frame
        except InputError:
            continue  # its results are not kept yet
        rows = frame[frame["data"] == data] if len(frame) else frame
        parts = rows[[column for column in rows if column.startswith("data.")]].notna().any(axis=1)
        if len(rows) and bool((~parts if whole else parts).any()):
            studies.append(name)
    return tuple(studies)


def _comparable(conditions: Conditions, kind: Kind) -> tuple[Models, pd.DataFrame] | None:
    """The models with scores of this kind on the same data: of the same size of images and rows where there are."""
    best: tuple[tuple[bool, bool, int], Models, pd.DataFrame] | None = None
    for study in _studies_on(conditions.data, not conditions.data_settings):
        for models in _models(study):
            if not models.conditions.same_data(conditions) or (scores := models.scores(kind)) is None:
                continue
            alike = models.conditions.resolution == conditions.resolution
            rank = (alike, not models.conditions.differences(conditions, [kind.metric]), len(scores))
            if best is None or rank > best[0]:
                best = rank, models, scores
    return None if best is None else best[1:]


# The scores that are compared


@dataclass(frozen=True)
class Band:
    """Where one score lies."""

    score: str
    value: float
    method: str | None = None
    """That of the score, where it is known."""
    alike: tuple[float, ...] = ()
    """The scores of the models of this method, ascending."""
    models: tuple[float, ...] = ()
    """Those of all models, ascending."""
    published: tuple[Published, ...] = ()

    def __str__(self) -> str:
        """`mig 0.212: above 8 of 12 β-VAEs, 70 % of all 72 models (middle half 0.03 to 0.18); published: …`."""
        published = f"published: {self.papers}" if self.published else ""
        return f"{self.score} {self.value:.3g}: {'; '.join(filter(None, (self.ranks, published)))}"

    @property
    def ranks(self) -> str:
        """Above how many models it lies."""
        if not self.models:
            return ""
        own = FEWEST <= len(self.alike) < len(self.models)
        groups = [_above(self.value, self.alike, f"{method_name(str(self.method))}s")] if own else []
        groups.append(_above(self.value, self.models, "models", "all " if own else ""))
        low, high = (f"{number:.3g}" for number in pd.Series(self.models).quantile([0.25, 0.75]))
        return f"above {', '.join(groups)} (middle half {low} to {high})"

    def to(self, other: Band, count: int) -> str:
        """The same of many runs, of which this is the lowest and `other` the highest."""
        if count == 1:
            return str(self)
        text = f"{self.score} {self.value:.3g} to {other.value:.3g} in {count} runs"
        if self.models:
            low, high = (f"{100 * _below(one.value, self.models) / len(self.models):.0f} %" for one in (self, other))
            text += f", above {low} to {high} of {len(self.models)} models"
        return f"{text}; published: {self.papers}" if self.published else text

    @property
    def papers(self) -> str:
        """What papers printed: one or two values, else the lowest and the highest."""
        known = sorted(self.published, key=lambda one: one.mean)
        return ", ".join(map(str, known)) if len(known) <= 2 else f"{known[0]} to {known[-1]}"


def _below(value: float, others: tuple[float, ...]) -> int:
    """How many are lower. Kept tables have seven digits: a model of the study does not lie above itself."""
    return bisect_left(others, value - 1e-6 * abs(value))


def _above(value: float, others: tuple[float, ...], what: str, which: str = "") -> str:
    below, count = _below(value, others), len(others)
    return (
        f"{below} of {which}{count} {what}" if count <= FEW else f"{100 * below / count:.0f} % of {which}{count} {what}"
    )


@dataclass(frozen=True)
class Bands:
    """Where scores lie, and what they were compared with. As text, one line for each."""

    bands: tuple[Band, ...] = ()
    notes: tuple[str, ...] = ()
    """What the models and the papers are, and how their scores were made in another way than these."""

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.bands, *self.notes)))

    def __bool__(self) -> bool:
        return bool(self.bands)

    def __getitem__(self, score: str) -> Band:
        for band in self.bands:
            if band.score == score:
                return band
        raise KeyError(score)


@checked
def bands_of(
    scores: ScoreTable | Run,
    data: str | None = None,
    resolution: int | None = None,
    method: str | None = None,
    only: Collection[str] | None = None,
) -> Bands:
    """Where scores lie among those of the desk studies' models on the same data, and beside what papers printed.

    An encoder's table and a run know their data; for codes, say of which `data` and `resolution` they are. With a
    `method`, models of the same method are counted too. Nothing is compared that has other data or other settings of
    the metric; another size of images or number of rows is named. Data without such models or papers gives no bands.
    `only` are the names of the scores that are wanted.

    Example:
        print(unbraid.bands_of(scores, "dsprites", 64))
    """
    if isinstance(scores, Run):
        known = _of_run(scores)
        return Bands() if known is None else _bands(scores.scores, known, method or scores.config.method, only)
    source = scores.data or {}
    name = source.get("name") if data is None else data
    if name is None or (data is None and name not in catalogue.CATALOGUE):
        return Bands()
    factors = catalogue.declared(name).names
    if tuple(scores.names) != tuple(factors):
        if data is None:
            return Bands()  # scored on some of its factors
        raise InputError(
            f"the scores are of the factors {', '.join(scores.names)}; those of {data} are {', '.join(factors)}"
        )
    size = resolution or source.get("resolution")
    if size is None:
        raise InputError("resolution is not known; expected the side of the images in pixels, such as 64")
    settings = source.get("settings", {}) if data is None else {}
    built_in = {name: given for name, given in scores.settings.items() if name.rpartition(".")[2] in METRICS}
    metrics = {
        name: given for name, given in built_in.items()
        if "classes" not in scores.types or not _by_type(name.rpartition(".")[2], given)
    }  # fmt: skip
    return _bands(scores, Conditions.of(name, size, settings, metrics, scores.samples), method, only)


def _by_type(metric: str, settings: Settings) -> bool:
    """Whether a metric treats classes in another way than ordered values, which all factors are in studies."""
    if metric in ("dci", "sap"):
        return ESTIMATORS[settings["estimator"]][1] if metric == "dci" else settings["predictor"] == "r2"
    return metric != "irs" and "categorical" in METRICS[metric].settings  # irs: only with more classes than bins


def _of_run(run: Run) -> Conditions | None:
    """How a run was scored; None where that is not known. Neither code nor files that the run names are opened."""
    opened = data_of(run)
    if opened is None or not run.path("scores").exists():
        return None
    config, record = run.config, run.read_json("scores")
    try:
        protocol = _protocol(record["protocol"], config.protocol)
        rows = {name: int(record["samples"][name]) for name in _ROWS}
        return Conditions.of(opened["name"], opened["resolution"], opened["settings"], _metrics(protocol), rows)
    except (InputError, KeyError, TypeError, ValueError, AttributeError):
        return None


def data_of(run: Run) -> dict[str, Any] | None:
    """The name, resolution and settings of a run's data; None for data of one's own, which no study has."""
    opened = run.read_json("config").get("opened")
    if not isinstance(opened, dict) or not isinstance(opened.get("settings"), dict):
        return None
    if opened.get("name") not in catalogue.CATALOGUE or not isinstance(opened.get("resolution"), int):
        return None
    return None if catalogue.user_paths(opened) else opened


def _protocol(name: str, kept: Any) -> Protocol:
    """The protocol of a run's scores by its name, or with the built-in metrics that its config lists."""
    if not isinstance(kept, Mapping):
        return PROTOCOLS[name]  # the config's, or the one that it was scored by again
    if name in PROTOCOLS and kept != plain(PROTOCOLS[name]):
        raise InputError(f"{name} is not the protocol of the config")
    parts = {"": kept["metrics"], **kept.get("beside", {})} if "train" in kept else {"": kept}
    known = {prefix: {name: part[name] for name in part if name in METRICS} for prefix, part in parts.items()}
    rows = {name: kept[name] for name in ("train", "test") if "train" in kept}
    return Protocol("own", known.pop(""), **rows, beside=known)


def _bands(
    scores: Mapping[str, float], conditions: Conditions, method: str | None, only: Collection[str] | None
) -> Bands:
    bands: list[Band] = []
    used: dict[int, tuple[Models, list[str]]] = {}
    for name, value in scores.items():
        kind = conditions.kind(name) if only is None or name in only else None
        if kind is None or not math.isfinite(value):
            continue
        band = Band(name, value, method, published=_published(conditions, kind, method))
        if (compared := _comparable(conditions, kind)) is not None:
            models, others = compared
            alike = others["value"][others["method"] == method]
            band = replace(band, alike=tuple(sorted(alike)), models=tuple(sorted(others["value"])))
            used.setdefault(id(models), (models, []))[1].append(kind.metric)
        if band.models or band.published:
            bands.append(band)
    notes = [models.described(conditions, metrics) for models, metrics in used.values()]
    if papers := [one for band in bands for one in band.published]:
        notes.append(_papers(conditions, papers))
    return Bands(tuple(bands), tuple(notes))


def _published(conditions: Conditions, kind: Kind, method: str | None) -> tuple[Published, ...]:
    """What papers printed of the whole data set."""
    if conditions.data_settings:
        return ()
    return tuple(published_for(conditions.data, kind.score, conditions.metrics[kind.named], method))


def _papers(conditions: Conditions, papers: list[Published]) -> str:
    """`published: at 64x64, not 32x32, with other networks and training (multitask tables 5, 6); by its own …`."""
    images = f"on {LOOK_ALIKES[conditions.data]} itself, " if conditions.data in LOOK_ALIKES else ""
    other = "" if conditions.resolution == RESOLUTION else f", not {conditions.resolution}x{conditions.resolution}"
    alike, own = (_tables([one for one in papers if (one.protocol is None) == own]) for own in (False, True))
    ways = [f"with other networks and training ({alike})"] if alike else []
    ways += [f"by another protocol too ({own})"] if own else []
    return f"published: {images}at {RESOLUTION}x{RESOLUTION}{other}, {'; '.join(ways)}"


def _tables(papers: list[Published]) -> str:
    """`EncDiff table 1, multitask tables 5, 6`."""
    by_source: dict[str, set[int]] = {}
    for one in papers:
        by_source.setdefault(one.source, set()).add(one.table)
    return ", ".join(
        f"{source} table{'s' if len(tables) > 1 else ''} {', '.join(map(str, sorted(tables)))}"
        for source, tables in sorted(by_source.items())
    )


def bands_of_runs(runs: Iterable[Run], only: Collection[str] | None = None) -> list[str]:
    """Where the scores of many runs lie: one line for each score on each data set, then what was compared."""
    alike: dict[str, tuple[Conditions, dict[str, list[float]]]] = {}
    for run in runs:
        with suppress(InputError):  # a damaged one, which the table of runs names
            if (known := _of_run(run)) is not None:
                key = json.dumps(vars(known), sort_keys=True, default=str)
                scores = alike.setdefault(key, (known, {}))[1]
                for name, value in run.scores.items():
                    scores.setdefault(name, []).append(value)
    lines, notes = list[str](), dict[str, None]()
    for conditions, scores in alike.values():
        low, high = ({name: end(values) for name, values in scores.items()} for end in (min, max))
        lowest, highest = (_bands(ends, conditions, None, only) for ends in (low, high))
        where = f"{conditions.data} at {conditions.resolution}x{conditions.resolution}"
        for first, last in zip(lowest.bands, highest.bands, strict=True):
            lines.append(f"{where}: {first.to(last, len(scores[first.score]))}")
        notes |= dict.fromkeys(lowest.notes)
    return [*lines, *notes]
