"""The contract of a job, and that every kind of job in the package keeps it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import unbraid
from tests.examples.toy_jobs import Note, Trouble, tiny
from unbraid.errors import InputError
from unbraid.jobs.agreement import Udr
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.training import Train, Trained
from unbraid.search import PopulationConfig, RPUConfig, Score
from unbraid.search.members import Fitness, LabelFile
from unbraid.studies.intervention.jobs import Tuned
from unbraid.studies.population.jobs import Base

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
    assert Train("beta_vae", "dsprites", steps=1).id == "70201a93d7c8"


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

VALUES: dict[Any, Callable[[int], Any]] = {
    bool: bool,
    int: lambda number: 5 + number,
    float: lambda number: 0.5 + number,
    str: lambda number: f"word{number}",
    Mapping: lambda number: {"bins": number},
    Train: tiny,
    Base: lambda number: Base("dsprites", data_settings={"rows": 5 + number}),
    LabelFile: lambda number: LabelFile(Path("labels.npz"), f"digest{number}"),
    PopulationConfig: lambda number: PopulationConfig(seed=number),
    RPUConfig: lambda number: RPUConfig(seed=number),
    Score: lambda number: Score("mig", points=5 + number),
}
"""Two values of each type that fields have."""
PAIRS: dict[tuple[type[Job], str], tuple[Any, Any]] = {
    (Train, "method"): ("beta_vae", "annealed_vae"),
    (Train, "data"): ("dsprites", "shapes3d"),
    (Train, "settings"): ({}, {"latents": 3}),
    (Train, "data_settings"): ({}, {"rows": 5}),
    (Train, "encoder"): (None, tiny()),
    (Train, "start"): (None, tiny()),
    (Tuned, "method"): ("intervention", "autoencoder"),
    (Tuned, "settings"): ({}, {"lambda_1": 0.5}),
    (Trained, "known"): (tiny(0).record, tiny(1).record),
}
"""Two values of the fields for which not any value of their type will do."""


def value(kind: type[Job], name: str, number: int) -> Any:
    """The first or the second value of a field."""
    for one in kind.__mro__:
        if (one, name) in PAIRS:
            return PAIRS[one, name][number]
    return of_type(get_type_hints(kind)[name], number)


def of_type(hint: Any, number: int) -> Any:
    origin = get_origin(hint) or hint
    if origin is tuple:
        return (of_type(get_args(hint)[0], number),)
    if origin in (Union, UnionType):
        return of_type(get_args(hint)[0], number)
    if origin in VALUES:
        return VALUES[origin](number)
    assert origin in KINDS, f"a field has the type {hint}; add two values of it to VALUES"
    return job(origin, number)


def job(kind: type[Job], number: int = 0, **changes: Any) -> Job:
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: value(kind, name, number) for name in names} | changes)


FIELDS = [(kind, one) for kind in KINDS for one in fields(kind)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "one"), FIELDS, ids=[f"{kind.__name__}.{one.name}" for kind, one in FIELDS])
def test_the_id_changes_with_each_field_unless_that_changes_no_number(kind: type[Job], one: Field[Any]) -> None:
    first, second = (job(kind, **{one.name: value(kind, one.name, number)}) for number in (0, 1))
    assert getattr(first, one.name) != getattr(second, one.name)
    assert (first.id != second.id) == one.metadata.get("numbers", True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_jobs_among_the_fields_are_needs(kind: type[Job]) -> None:
    example = job(kind, 1)
    values = [getattr(example, one.name) for one in fields(example)]  # type: ignore[arg-type]
    jobs = [other for one in values for other in (one if isinstance(one, tuple) else (one,)) if isinstance(other, Job)]
    assert example.needs == tuple(jobs)


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
