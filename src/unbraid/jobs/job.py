"""The contract of a job: a frozen dataclass whose identity follows from its fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache, cached_property
from inspect import get_annotations
from pathlib import Path
from typing import Any, ClassVar

from unbraid.errors import InputError
from unbraid.own import code_digest
from unbraid.runs.identity import identity, plain

RESERVED = ("id", "kind", "label", "needs")


class Job(ABC):
    """Fields, the jobs among them, and a function that turns them into a folder. Subclasses are frozen dataclasses.

    A field that holds a job, or a tuple of jobs, is a need: it is done first. All fields are the job's content and
    decide its id, needs by their ids. A field that changes no number says so where it is declared:

        every: int = field(default=100, metadata={"numbers": False})

    So a new field cannot be forgotten: its jobs get new ids, and no old result is taken for theirs.
    """

    version: ClassVar[int] = 1
    """Raised when the same fields come to give other numbers than before: all jobs of the kind then have other ids."""

    def __init_subclass__(cls) -> None:
        for name in RESERVED:
            if name in get_annotations(cls):
                raise TypeError(f"{cls.__name__} has a field '{name}', a word that job.json uses; choose another")

    @abstractmethod
    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Make the folder's files from those of the jobs it needs. Called again after a kill, it resumes."""

    @property
    def label(self) -> str:
        """A few words for people, part of the folder's name: its kind and what its first need is called."""
        return "-".join([type(self).__name__.lower(), *(job.label for job in self.needs[:1])])

    @property
    def tolerant(self) -> bool:
        """Whether it can do without some of what it needs: a diverged model, a failed one."""
        return False

    @property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        return 1.0

    def written(self, name: str, value: Any) -> Any:
        """How a field stands in the content, where that is not its value: a digest of a file in place of its path."""
        return value

    @cached_property
    def needs(self) -> tuple[Job, ...]:
        """The jobs among its fields, in order."""
        return tuple(job for name in _fields(type(self)) for job in _jobs(getattr(self, name)))

    def content(self) -> dict[str, Any]:
        """All that changes its numbers, as JSON can hold it: no paths, no worker counts."""
        return {name: self._written(name) for name, counts in _fields(type(self)).items() if counts}

    def _written(self, name: str) -> Any:
        value = getattr(self, name)
        if jobs := _jobs(value):
            return value.id if isinstance(value, Job) else [job.id for job in jobs]
        written = self.written(name, value)
        try:
            return plain(written)
        except InputError as error:
            raise InputError(f"{name} of {self.label}: {error}") from error

    @cached_property
    def id(self) -> str:
        """Twelve digits of a hash of its kind, the kind's version and its content.

        For a kind from a study's own files, a digest of its code too.
        """
        own = code_digest(type(self))
        kind = type(self).__name__ if own is None else f"{type(self).__name__}@{own}"
        return identity(kind, self.version, self.content())

    @property
    def record(self) -> dict[str, Any]:
        """What `job.json` says."""
        needs = [job.id for job in self.needs]
        return {**self.content(), "needs": needs, "id": self.id, "kind": type(self).__name__, "label": self.label}


@cache  # a study of thousands of jobs is planned in a second
def _fields(kind: type[Job]) -> dict[str, bool]:
    """The names of a kind's fields, and whether each changes its numbers."""
    return {one.name: one.metadata.get("numbers", True) for one in fields(kind)}  # type: ignore[arg-type]


def _jobs(value: Any) -> tuple[Job, ...]:
    """The jobs that a field holds."""
    if type(value) is tuple:
        return value if value and all(isinstance(one, Job) for one in value) else ()
    return (value,) if isinstance(value, Job) else ()


def ordered(jobs: Iterable[Job]) -> list[Job]:
    """Each job once, behind those it needs, which are added where the list leaves them out."""
    plan: dict[str, Job] = {}

    def add(job: Job) -> None:
        if not isinstance(job, Job):
            raise InputError(f"{job!r} is not a job; a study is a list of jobs, such as unbraid.jobs.Train(…)")
        label = job.label
        if "/" in label or label.startswith("."):
            raise InputError(f"the label '{label}' cannot name a folder; expected no slash, and no dot in front")
        if job.id not in plan:
            for other in job.needs:
                add(other)
            plan[job.id] = job

    for job in jobs:
        add(job)
    return list(plan.values())
