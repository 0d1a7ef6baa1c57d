"""The contract of a job, and that every kind of job in the package keeps it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import unbraid
from tests.examples.toy_jobs import Note, Trouble, tiny
from unbraid.errors import InputError
from unbraid.jobs.agreement import Udr
from unbraid.jobs.embedding import Embed
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.training import Train, Trained
from unbraid.search import PopulationConfig, RPUConfig, Score
from unbraid.search.members import Fitness, LabelFile
from unbraid.studies.assumptions.jobs import Entangle, Reconstruct
from unbraid.studies.contrastive.jobs import Probe, Rotate
from unbraid.studies.intervention.jobs import Examine, Tuned
from unbraid.studies.population.jobs import Base, Evolve, Match, Recursive

# Order


def test_needs_come_first_and_are_added() -> None:
    a, b = Note("a"), Note("b")
    c = Note("c", (a, b))
    assert [job.label for job in ordered([c, a])] == ["a", "b", "c"]
    assert [job.label for job in ordered([b, c, b, Note("d", (c,))])] == ["b", "a", "c", "d"]


def test_what_is_not_a_job_is_named() -> None:
    with pytest.raises(InputError, match=r"'beta_vae' is not a job; a study is a list of jobs"):
        ordered(["beta_vae"])  # type: ignore[list-item]
    for label in ("a/b", ".a"):
        with pytest.raises(InputError, match=rf"the label '{label}' cannot name a folder"):
            ordered([Note(label)])


# Identity


def test_ids_follow_what_changes_the_numbers() -> None:
    assert tiny(settings={"beta": 4}).id == tiny(settings={"beta": 4.0}).id == tiny().id, "4.0 is beta's default"
    assert Note("a").id != Note("a", (Note("b"),)).id
    assert Note("a").id != Trouble("a").id
    assert tiny(encoder=tiny(1)).id != tiny(start=tiny(1)).id, "the same need in another role"


def test_an_id_is_the_same_tomorrow() -> None:
    assert Note("a", (Note("b"),)).id == "688fe95300f4"
    assert Train("beta_vae", "dsprites", steps=1).id == "3d527017b937"


def test_a_new_version_of_a_kind_has_new_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Note("a").id
    monkeypatch.setattr(Note, "version", 2)
    assert Note("a").id != before


def test_content_that_cannot_be_written_down_is_named() -> None:
    with pytest.raises(InputError, match=r"protocol of beta_vae-dsprites: <object .*> cannot be part of an id"):
        ordered([tiny(protocol={"mig": {"bins": object()}})])


def test_a_field_cannot_take_a_name_of_the_record() -> None:
    with pytest.raises(TypeError, match=r"Odd has a field 'kind', a word that job.json uses"):

        class Odd(Job):
            kind: str


def test_a_label_is_the_kind_and_the_first_need() -> None:
    assert Udr((tiny(0), tiny(1))).label == "udr-beta_vae-dsprites"

    @dataclass(frozen=True)
    class Alone(Note):
        label = Job.label

    assert Alone("a").label == "alone"


def test_the_record_has_the_content_and_what_it_was_made_from() -> None:
    record = Udr((tiny(0), tiny(1)), rows=50).record
    ids = [tiny(0).id, tiny(1).id]
    assert record.pop("id") == Udr((tiny(0), tiny(1)), rows=50).id
    assert record == {
        "models": ids, "rows": 50, "code": "r", "needs": ids, "kind": "Udr", "label": "udr-beta_vae-dsprites",
    }  # fmt: skip


# Every kind of job


def kinds(of: type[Job] = Job) -> Iterator[type[Job]]:
    for kind in of.__subclasses__():
        yield from (kind, *kinds(kind))


for module in pkgutil.walk_packages(unbraid.__path__, "unbraid."):
    if module.name.startswith(("unbraid.jobs", "unbraid.search", "unbraid.studies")) and "ray" not in module.name:
        importlib.import_module(module.name)
KINDS = sorted({kind for kind in kinds() if kind.__module__.startswith("unbraid.")}, key=lambda kind: kind.__name__)

TRAIN: dict[str, Any] = {
    "method": "annealed_vae", "data": "shapes3d", "steps": 9, "seed": 9, "settings": {"beta": 9.0}, "resolution": 32,
    "data_settings": {"rows": 9}, "precision": "bf16", "samples": 9, "protocol": "fast", "encoder": tiny(8),
    "start": tiny(8), "keep_state": True, "every": 9, "name": "nine",
}  # fmt: skip
SIZES = {"rows": 9, "samples": 9, "values": 9, "images": 9, "two_sample_images": 9, "two_sample_steps": 9}
RECURSIVE = Recursive(Base("dsprites"), RPUConfig())
OTHER: list[tuple[Job, dict[str, Any]]] = [
    (tiny(), TRAIN),
    (
        Tuned.of(replace(tiny(), method="intervention", settings={}), (Examine(tiny(1)),)),
        {**TRAIN, "method": "autoencoder", "settings": {"lambda_1": 0.5}, "candidates": (Examine(tiny(2)),)},
    ),
    (Trained.of(tiny()), {"name": "nine", "known": tiny(9).record}),
    (Udr((tiny(0), tiny(1))), {"models": (tiny(0), tiny(2)), "rows": 9, "code": "z"}),
    (Embed(tiny()), {"model": tiny(9), "rows": 9}),
    (
        Fitness((tiny(),), Score("mig"), 0, LabelFile(Path("a"), "1")),
        {"models": (tiny(9),), "score": Score("mig", points=9), "seed": 9, "labels": LabelFile(Path("a"), "2"),
         "name": "nine"},
    ),
    (Reconstruct(tiny()), {"model": tiny(9), "images": 9}),
    (Entangle(tiny()), {"model": tiny(9), "protocol": "dlib"}),
    (Probe(tiny(), 5), {"model": tiny(9), "rows": 9}),
    (Rotate(tiny(), 5), {"model": tiny(9), "rows": 9}),
    (Examine(tiny()), {"model": tiny(9), "metrics": {"mig": {"bins": 9}}, **SIZES}),
    (
        Evolve(Base("dsprites"), PopulationConfig(), Score("mig")),
        {"base": Base("dsprites", settings={"beta": 9.0}), "population": PopulationConfig(size=9), "score": Score()},
    ),
    (RECURSIVE, {"base": Base("dsprites", data_settings={"rows": 9}), "config": RPUConfig(leaf_runs=9)}),
    (
        Match(RECURSIVE, PopulationConfig()),
        {"rival": replace(RECURSIVE, config=RPUConfig(seed=9)), "population": PopulationConfig(size=9)},
    ),
]  # fmt: skip
"""Of each kind a job, and for each of its fields another value."""
FIELDS = [(job, one.name) for job, _ in OTHER for one in fields(job)]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_every_kind_of_job_is_tried_below(kind: type[Job]) -> None:
    assert is_dataclass(kind)
    others = [set(values) for job, values in OTHER if type(job) is kind]
    assert others, f"{kind.__name__} has no job among OTHER; add one, with another value for each of its fields"
    assert {one.name for one in fields(kind)} <= others[0], "add another value for each new field to OTHER"


@pytest.mark.parametrize(
    ("job", "name"), FIELDS, ids=[f"{type(job).__name__}.{name}" for job, name in FIELDS]
)
def test_the_id_changes_with_each_field_unless_that_changes_no_number(job: Job, name: str) -> None:
    (values,) = [values for other, values in OTHER if other is job]
    (one,) = [one for one in fields(job) if one.name == name]  # type: ignore[arg-type]
    changed = replace(job, **{name: values[name]})  # type: ignore[type-var]
    assert getattr(changed, name) != getattr(job, name)
    assert (changed.id != job.id) == one.metadata.get("numbers", True)


def test_a_label_file_is_what_is_in_it() -> None:
    first, moved = (Fitness((tiny(),), Score("mig"), 0, LabelFile(Path(name), "1")) for name in ("a", "b"))
    assert first.id == moved.id


def test_a_field_that_was_forgotten_still_counts() -> None:
    @dataclass(frozen=True)
    class Longer(Note):
        more: int = 0
        less: int = field(default=0, metadata={"numbers": False})

    assert Longer("a").id != Longer("a", more=1).id
    assert Longer("a").id == Longer("a", less=1).id
