"""What is done with a trained model: linear probes, rotations of its codes.

All of them see the same images of a data set, whatever the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data import FactorData, PairData
from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import Scores, dci, med, probes
from unbraid.metrics.encoder_probes import Reading, read
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.studies.contrastive.rotations import ROTATIONS, Array, Groups, by_dependence, by_labels

Found = dict[str, Any]
SEED = 0  # that chooses the images


@dataclass(frozen=True)
class Probe(Job):
    """Section 3.3: how well r, z and their parts tell the factors that pairs share, and the one that they do not."""

    model: Train
    rows: int
    """Images to fit on, and to test on."""

    @property
    def seconds(self) -> float:
        return 2 + self.rows / 500

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `probes.json`.

        `accuracy` of each input (r, r0, …) and factor, `chance` of each factor; of r and z each the `gap` of each
        shared factor, `diagonal`, `at_chance`, `alike` (see `probes`), `med`; `dci` of z, or of r where that is z.
        """
        run = Run(needed[0])
        data = run.data()
        shared, others = split_factors(data)
        readings = read(run.method(), data, SEED, self.rows)
        found: Found = {name: {} for name in ("accuracy", "chance", "gap", "diagonal", "at_chance", "alike", "med")}
        for code, reading in readings.items():
            told = probed(reading, shared, data, reading.groups, code)
            for name in ("diagonal", "at_chance", "alike"):
                found[name][code] = told[name]
            found["gap"][code] = {name: told[f"gap.{name}"] for name in names_of(data, shared)}
            found["med"][code] = med(reading.codes, reading.factors[:, shared])["med"]
            for columns, scores in ((shared, told), (others, probed(reading, others, data, reading.groups, code))):
                add_accuracies(found, scores, code, names_of(data, columns))
        last = readings.get("z", readings["r"])
        scores = dci(last.codes, last.factors[:, shared], test=tested(last, shared), rng=SEED)
        found["dci"] = {name: scores[name] for name in ("disentanglement", "completeness", "informativeness")}
        Folder(folder).write_json("probes", found)


@dataclass(frozen=True)
class Rotate(Job):
    """Beyond the paper: the codes of a model rotated without labels, their dimensions put into two groups, probed."""

    model: Train
    rows: int

    @property
    def seconds(self) -> float:
        return 3 + self.rows / 800

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `rotations.json`: a row for each code, rotation and way to group, with accuracies and gaps."""
        run = Run(needed[0])
        data = run.data()
        shared, _ = split_factors(data)
        rows = []
        for code, reading in read(run.method(), data, SEED, self.rows).items():
            for rotation, groups, scores in rotated(reading, shared, data, code):
                rows.append({"code": code, "rotation": rotation, "groups": groups, **scores})
        Folder(folder).write_json("rotations", {"rows": rows})


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


def add_accuracies(found: Found, scores: Scores, code: str, names: Sequence[str]) -> None:
    """The accuracies of a code and its parts, by input and factor, and the chance of each factor."""
    for place, row in enumerate(scores.arrays["accuracy"].tolist()):
        inputs = code if place == 0 else f"{code}{place - 1}"
        found["accuracy"].setdefault(inputs, {}).update(zip(names, row, strict=True))
    found["chance"].update(zip(names, scores.arrays["chance"].tolist(), strict=True))


def rotated(reading: Reading, shared: Sequence[int], data: FactorData, code: str) -> list[tuple[str, str, Found]]:
    """Rotation, way to group, scores: each rotation found on the codes to fit on, and used on those to test on too."""
    train, factors = reading.codes.numpy().astype(float), reading.factors.numpy()[:, shared]
    held = None if reading.test is None else reading.test[0].numpy().astype(float)
    test_factors = None if reading.test is None else reading.test[1].numpy()[:, shared]
    found = []
    for rotation, fit in ROTATIONS.items():
        turn = fit(train)
        codes = turn(train)
        test = None if held is None else (turn(held), test_factors)
        ways: dict[str, Groups | None] = {"dependence": by_dependence(codes), "labels": by_labels(codes, factors)}
        if rotation == "as trained":
            ways = {"halves": reading.groups, **ways}
        for way, groups in ways.items():
            scores = probes(codes, factors, test=test, groups=groups, names=names_of(data, shared), code=code, rng=SEED)
            found.append((rotation, way, told(scores, groups, names_of(data, shared))))
    return found


def told(scores: Scores, groups: Groups | None, names: Sequence[str]) -> Found:
    """Accuracies of all dimensions and of each group, and gaps, by factor."""
    accuracy: Array = scores.arrays["accuracy"]
    return {
        "sizes": [len(group) for group in groups or ()],
        "whole": dict(zip(names, accuracy[0].tolist(), strict=True)),
        "parts": [dict(zip(names, row, strict=True)) for row in accuracy[1:].tolist()],
        "gap": {name: scores[f"gap.{name}"] for name in names},
        "diagonal": scores["diagonal"],
    }
