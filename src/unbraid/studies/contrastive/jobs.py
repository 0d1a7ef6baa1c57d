"""What is done with a trained model: linear probes, rotations of its codes.

All of them see the same images of a data set, whatever the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data import FactorData, PairData
from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.jobs.results import write_results
from unbraid.jobs.training import Train
from unbraid.metrics import Scores, dci, med, probes
from unbraid.metrics.encoder_probes import Reading, read
from unbraid.runs.run import Run
from unbraid.studies.contrastive.rotations import ROTATIONS, Array, Groups, by_dependence, by_labels

Record = dict[str, Any]
SEED = 0  # that chooses the images
REGULARIZERS = ("hessian", "info_min", "ortho", "p_ortho")
TRADED = ("plain", "info_min 0.001", "info_min 0.1")  # figure 5
TERMS = ("sub_info_max", "info_min")


def setting_of(settings: Mapping[str, Any]) -> str | None:
    """The name of a model's settings among those of the study, or one made like them; None where they are not known."""
    if not isinstance(settings.get("positives"), str):
        return None
    if settings["positives"] == "disjoint":
        return "supervised"
    weights = {name: settings.get(f"lambda_{name}", 0.0) for name in REGULARIZERS}
    parts = [f"{name} {weight:g}" for name, weight in weights.items() if weight]
    name = " + ".join(parts) or ("plain, one head" if settings.get("head") == "whole" else "plain")
    orthogonal = weights["ortho"] or weights["p_ortho"]
    return f"{name}, all views" if orthogonal and settings.get("ortho_over") == "all" else name


def _identity(model: Train) -> Record:
    """What tells a model from others, in the rows of its tables."""
    variant = model.data_settings.get("variant")
    return {"variant": variant, "setting": setting_of(model.full_settings), "seed": model.seed}


@dataclass(frozen=True)
class Probe(Job):
    """Section 3.3: how well r, z and their parts tell the factors that pairs share, and the one that they do not."""

    model: Train
    rows: int
    """Images to fit on, and to test on."""

    @property
    def seconds(self) -> float:
        return 1 + self.rows / 1000

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Add scores to the model, and the terms of figure 5 over steps to the table `logs`.

        `accuracy` of each input (r, r0, …) and factor, `chance` of each factor; of r and z each the `gap` of each
        shared factor, `diagonal`, `at_chance`, `alike` (see `probes`), `med`; `dci` of z, or of r where that is z.
        """
        run = Run(needed[0])
        data = run.data()
        shared, others = split_factors(data)
        readings = read(run.method(), data, SEED, self.rows)
        scores: Record = {name: {} for name in ("accuracy", "chance", "gap", "diagonal", "at_chance", "alike", "med")}
        for code, reading in readings.items():
            of_shared = probed(reading, shared, data, reading.groups, code)
            for name in ("diagonal", "at_chance", "alike"):
                scores[name][code] = of_shared[name]
            scores["gap"][code] = {name: of_shared[f"gap.{name}"] for name in names_of(data, shared)}
            scores["med"][code] = med(reading.codes, reading.factors[:, shared])["med"]
            of_others = probed(reading, others, data, reading.groups, code)
            for columns, of_columns in ((shared, of_shared), (others, of_others)):
                add_accuracies(scores, of_columns, code, names_of(data, columns))
        last = readings.get("z", readings["r"])
        importance = dci(last.codes, last.factors[:, shared], test=tested(last, shared), rng=SEED)
        scores["dci"] = {name: importance[name] for name in ("disentanglement", "completeness", "informativeness")}
        write_results(folder, {self.model.id: scores}, logs=logged(self.model, run))


@dataclass(frozen=True)
class Rotate(Job):
    """Beyond the paper: the codes of a model rotated without labels, their dimensions put into two groups, probed."""

    model: Train
    rows: int

    @property
    def seconds(self) -> float:
        return 2 + self.rows / 1000

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Add to the table `rotations` one row per code, rotation and way to group, with accuracies and gaps."""
        run = Run(needed[0])
        data = run.data()
        shared, _ = split_factors(data)
        rows = []
        for code, reading in read(run.method(), data, SEED, self.rows).items():
            for rotation, groups, scores in rotated(reading, shared, data, code):
                rows.append({**_identity(self.model), "code": code, "rotation": rotation, "groups": groups, **scores})
        write_results(folder, rotations=rows)


def logged(model: Train, run: Run) -> list[Record]:
    """The terms of figure 5 over steps, of a model of one of its settings."""
    identity, log = _identity(model), run.log
    if identity["setting"] not in TRADED or not len(log):
        return []
    terms = [name for name in TERMS if name in log]
    return [{**identity, **row} for row in log[["step", *terms]].to_dict("records")]


def split_factors(data: FactorData) -> tuple[list[int], list[int]]:
    """The columns of the factors that pairs share, and of the others."""
    if not isinstance(data, PairData):
        raise InputError("this data has no pairs; there are no shared factors to probe")
    return data.columns, [column for column in range(len(data.names)) if column not in data.columns]


def names_of(data: FactorData, columns: Sequence[int]) -> list[str]:
    return [data.names[column] for column in columns]


def tested(reading: Reading, columns: Sequence[int]) -> tuple[Any, Any] | None:
    return None if reading.test is None else (reading.test[0], reading.test[1][:, columns])


def probed(reading: Reading, columns: Sequence[int], data: FactorData, groups: Groups | None, code: str) -> Scores:
    """`probes` of some of the factors."""
    return probes(
        reading.codes, reading.factors[:, columns], test=tested(reading, columns), groups=groups,
        names=names_of(data, columns), code=code, rng=SEED,
    )  # fmt: skip


def add_accuracies(record: Record, scores: Scores, code: str, names: Sequence[str]) -> None:
    """The accuracies of a code and its parts, by input and factor, and the chance of each factor."""
    for index, row in enumerate(scores.arrays["accuracy"].tolist()):
        inputs = code if index == 0 else f"{code}{index - 1}"
        record["accuracy"].setdefault(inputs, {}).update(zip(names, row, strict=True))
    record["chance"].update(zip(names, scores.arrays["chance"].tolist(), strict=True))


def rotated(reading: Reading, shared: Sequence[int], data: FactorData, code: str) -> list[tuple[str, str, Record]]:
    """Rotation, way to group, scores: each rotation found on the codes to fit on, and used on those to test on too."""
    train, factors = reading.codes.numpy().astype(float), reading.factors.numpy()[:, shared]
    test_codes = None if reading.test is None else reading.test[0].numpy().astype(float)
    test_factors = None if reading.test is None else reading.test[1].numpy()[:, shared]
    results = []
    for rotation, fit in ROTATIONS.items():
        turn = fit(train)
        codes = turn(train)
        test = None if test_codes is None else (turn(test_codes), test_factors)
        ways: dict[str, Groups | None] = {"dependence": by_dependence(codes), "labels": by_labels(codes, factors)}
        if rotation == "as trained":
            ways = {"halves": reading.groups, **ways}
        for way, groups in ways.items():
            scores = probes(codes, factors, test=test, groups=groups, names=names_of(data, shared), code=code, rng=SEED)
            results.append((rotation, way, accuracies_of(scores, names_of(data, shared))))
    return results


def accuracies_of(scores: Scores, names: Sequence[str]) -> Record:
    """Of each factor the accuracy of all dimensions (`whole`), of the better group (`part`), and the `gap`."""
    accuracy: Array = scores.arrays["accuracy"]
    record: Record = {"diagonal": scores["diagonal"]}
    for index, name in enumerate(names):
        parts = accuracy[1:, index]
        record |= {f"whole.{name}": accuracy[0, index], f"gap.{name}": scores[f"gap.{name}"]}
        record[f"part.{name}"] = parts.max() if len(parts) else math.nan
    return record
