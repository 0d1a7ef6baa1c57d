"""ScoreTable: scores by name, how they were computed, and what noise and perfect codes would score."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array
from unbraid.metrics.protocols import METRICS

SHOWN = 6  # codes whose names `columns` gives
_PACKAGES = ("unbraid", "numpy", "scipy", "scikit-learn", "lightgbm")  # scores depend on their versions


class MissingScoreError(InputError, KeyError):
    """A score that is not in the table; the message says why."""

    def __str__(self) -> str:
        return str(self.args[0])


class ScoreTable(dict[str, float]):
    """Scores by name, and how they were computed."""

    def __init__(
        self,
        protocol: str = "none",
        seed: str = "0",
        samples: Mapping[str, int] | None = None,
        names: Sequence[str] = (),
        code_names: Sequence[str] = (),
        types: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.protocol, self.seed, self.samples = protocol, seed, dict(samples or {})
        self.names, self.code_names, self.types = tuple(names), tuple(code_names), tuple(types)
        self.versions = {package: version(package) for package in _PACKAGES}
        self.arrays: dict[str, dict[str, Array]] = {}
        self.notes: list[str] = []
        self.noise: dict[str, float] = {}
        """What each score is for codes without information: the same codes, each shuffled among the rows."""
        self.perfect: dict[str, float] = {}
        """What each score is for one code per factor."""
        self.baseline_rows: dict[str, int] = {}
        """The training rows that the noise and perfect values of each metric were computed on."""
        self.absent: dict[str, str] = {}
        """Why a metric of the protocol has no score."""
        self.without: dict[str, set[str]] = {}
        """The continuous factors that a metric could not use, and has no values for."""
        self.settings: dict[str, Mapping[str, Any]] = {}
        """The settings of each metric, defaults included, by the name that its scores begin with."""
        self.data: Mapping[str, Any] | None = None
        """The `name`, `resolution` and `settings` of the data that an encoder was scored on; None for codes."""

    def __missing__(self, name: str) -> float:
        metric = name.partition(".")[0]
        if metric in self.absent:
            raise MissingScoreError(f"there is no score '{name}': {self.absent[metric]}")
        if metric in METRICS and not any(known.partition(".")[0] == metric for known in self):
            raise MissingScoreError(f"there is no score '{name}': ask for it with metrics=['{metric}']")
        raise MissingScoreError(f"there is no score '{name}'{nearest(name, self)}")

    @property
    def size(self) -> str:
        """`"51 codes, 2 factors, 5,000 rows"`."""
        counts = ((len(self.code_names), "code"), (len(self.names), "factor"), (self.samples.get("all", 0), "row"))
        return ", ".join(f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in counts)

    @property
    def columns(self) -> str:
        """`"codes: z0, z1, z2; factors: shape (classes), scale, x (ordered)"`."""
        by_type = groupby(zip(self.names, self.types, strict=True), key=lambda factor: factor[1])
        factors = ", ".join(f"{', '.join(name for name, _ in group)} ({factor_type})" for factor_type, group in by_type)
        names = self.code_names
        shown = [*names[:SHOWN], f"… {names[-1]}"] if len(names) > SHOWN + 1 else names
        return f"codes: {', '.join(shown)}; factors: {factors}"

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Headings, and one row of text per score: its value, what noise and perfect codes score, and its interval."""
        heads = ["score", "value"]
        heads += ["noise", "perfect"] if self.noise else []
        heads += ["low", "high"] if (bounded := any(name.endswith(".low") for name in self)) else []
        rows = []
        for name, value in self.items():
            if not name.endswith((".low", ".high")):
                cells = [value, *([self.noise.get(name), self.perfect.get(name)] if self.noise else [])]
                cells += [self[f"{name}.low"], self[f"{name}.high"]] if bounded else []
                rows.append([name, *("" if cell is None else f"{cell:.4f}" for cell in cells)])
        return heads, rows

    def _repr_html_(self) -> str:
        """For notebooks: the table, how it was made, and the notes."""
        heads, rows = self.rows()
        head = "".join(f"<th>{name}</th>" for name in heads)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        lines = [
            f"{self.columns}; protocol {self.protocol}, seed {self.seed}",
            *(f"note: {note}" for note in self.notes),
        ]
        about = "<br>".join(html.escape(line) for line in (lines if self.names else lines[1:]))
        return f"<div>{self.size}</div><table><tr>{head}</tr>{body}</table><div>{about}</div>"

    def bands(self, data: str | None = None, resolution: int | None = None, method: str | None = None) -> Any:
        """Where the scores lie among those of the desk studies' models and of papers; see `unbraid.bands_of`."""
        import unbraid  # its public name, imported on first use: metrics do not depend on studies

        return unbraid.bands_of(self, data, resolution, method)

    def details(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Values per factor and per code: metric -> array -> name -> value, None for a value that does not exist."""
        tables: dict[str, dict[str, dict[str, float | None]]] = {}
        for metric, name, labels, array in self._vectors():
            convert = float if array.dtype.kind == "f" else int  # counts, and the numbers of codes
            cells = [convert(value) if np.isfinite(value) else None for value in array.astype(np.float64)]
            tables.setdefault(metric, {})[name] = dict(zip(labels, cells, strict=True))
        return tables

    def _vectors(self) -> Iterator[tuple[str, str, tuple[str, ...], Array]]:
        by_axis = {"f": self.names, "c": self.code_names}
        for metric, arrays in self.arrays.items():
            for name, array in arrays.items():
                declared = METRICS.get(metric.rpartition(".")[2])
                labels = None if declared is None else by_axis.get(declared.axes.get(name, ""))
                if labels is not None and array.shape == (len(labels),):
                    yield metric, name, labels, array

    def record(self, details: bool = False) -> dict[str, Any]:
        """The contents of `scores.json`; with `details` also values per factor and per code."""
        made = {"protocol": self.protocol, "samples": self.samples, "seed": self.seed, "versions": self.versions}
        record: dict[str, Any] = {"scores": dict(self), **made, "notes": self.notes}
        if self.names:
            record["factors"] = dict(zip(self.names, self.types, strict=True))
            record["codes"] = len(self.code_names)
        if self.absent:
            record["absent"] = self.absent
        if self.without:
            record["without"] = {metric: sorted(factors) for metric, factors in self.without.items()}
        if self.noise:
            record |= {"noise": self.noise, "perfect": self.perfect, "baseline_rows": self.baseline_rows}
        if details:
            record |= {"details": self.details(), "code_names": list(self.code_names)}
        return record
