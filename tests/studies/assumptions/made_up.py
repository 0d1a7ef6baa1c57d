"""Made-up tables of models whose scores are functions of what a model is."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.models import METRICS, Models
from unbraid.studies.assumptions.strengths import SIX, STRENGTHS


def chance(*key: object) -> float:
    """A number in [0, 1) that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big") / 2**48


@dataclass(frozen=True)
class Model:
    """A made-up model; `place` counts its strengths from the weakest regularisation."""

    data: str
    method: str
    place: int
    seed: int

    @property
    def setting(self) -> tuple[str, int]:
        return self.method, self.place

    def noise(self, name: str = "") -> float:
        return chance(name, self.data, self.method, self.place, self.seed)


Score = Callable[[Model], float]


def frame(
    scores: Mapping[str, Score],
    data: tuple[str, ...] = ("dsprites", "shapes3d"),
    methods: tuple[str, ...] = SIX,
    strengths: int = 3,
    seeds: int = 3,
) -> pd.DataFrame:
    rows = []
    for model in itertools.starmap(Model, itertools.product(data, methods, range(strengths), range(seeds))):
        _, values = STRENGTHS[model.method]
        strength = values[-1 - model.place] if model.method == "annealed_vae" else values[model.place]
        name = "-".join(map(str, (model.method, model.data, model.place, model.seed)))
        row = {"run": f"jobs/{name}", "state": "done", "reason": None, "strength": strength}
        row |= {"data": model.data, "method": model.method, "seed": model.seed}
        rows.append({**row, **{f"scores.{column}": score(model) for column, score in scores.items()}})
    return pd.DataFrame(rows)


def of(runs: pd.DataFrame) -> Models:
    return Models(RunTable(runs, identity=("strength",)))


def made(scores: Mapping[str, Score], data: tuple[str, ...] = ("dsprites", "shapes3d"), **shape: int) -> Models:
    return of(frame(scores, data, **shape))  # type: ignore[arg-type]


def everywhere(columns: Iterable[str], score: Callable[[Model, str], float]) -> dict[str, Score]:
    return {column: (lambda model, column=column: score(model, column)) for column in columns}  # type: ignore[misc]


def by_model(model: Model, column: str = "") -> float:
    """A quality that a model has by every column, with a little noise of the column."""
    return model.noise("quality") + 0.02 * model.noise(column)


def against(model: Model, column: str = "") -> float:
    return -by_model(model, column)


def noise(model: Model, column: str) -> float:
    return model.noise(column)


def by_setting_and_column(model: Model, column: str) -> float:
    return chance(model.setting, model.data, column) + 0.02 * model.noise(column)


def by_setting(model: Model, column: str) -> float:
    return chance(model.setting) + 0.02 * model.noise(column)


def rising(model: Model) -> float:
    return 1 + model.place + 0.1 * model.noise()


def falling(model: Model) -> float:
    return 5 - model.place + 0.1 * model.noise()


def plain(model: Model) -> bool:
    return model.method in ("beta_vae", "beta_tc_vae") and model.place == 0


ACCURACIES = ("downstream.logistic.100", "downstream.gbt.1000")
EFFICIENCIES = ("downstream.logistic.efficiency", "downstream.gbt.efficiency")
ENTANGLED = {kind: [f"theorem_1.{kind}.{metric}" for metric in METRICS] for kind in ("codes", "entangled")}
