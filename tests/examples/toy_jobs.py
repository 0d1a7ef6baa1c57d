"""Jobs that do next to nothing, and a study of them: `unbraid study run tests/examples/toy_jobs.py --scale notes`.

What trains models is imported on first use: a process that has only notes to write starts in a moment.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.jobs import schedule
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.schedule import Tally
from unbraid.jobs.study_folder import StudyFolder
from unbraid.runs.folder import Folder

if TYPE_CHECKING:
    from unbraid.jobs.training import Train

SCALES = ("notes", "mixed", "broken", "long")


@dataclass(frozen=True)
class Note(Job):
    """Writes `note.json`, and says in the study's `log.txt` when it begins and ends. A file `wait` there holds it."""

    name: str
    after: tuple[Job, ...] = ()
    patient: bool = field(default=False, metadata={"numbers": False})
    """Whether it can do without what it needs."""
    wait: float = field(default=0.0, metadata={"numbers": False})
    """Seconds."""

    @property
    def label(self) -> str:
        return self.name

    @property
    def tolerant(self) -> bool:
        return self.patient

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        log = folder.parents[1] / "log.txt"
        tell(log, "begin", self.name)
        while (folder.parents[1] / "wait").exists():
            time.sleep(0.01)
        time.sleep(self.wait)
        read = [json.loads(path.read_text()) for place in needed for path in sorted(place.glob("note.json"))]
        Folder(folder).write_json("note", {"name": self.name, "read": read})
        tell(log, "end", self.name)


@dataclass(frozen=True)
class Trouble(Note):
    """A note that comes to grief while the file `trouble` is in the study's folder, or always."""

    by: str = "raise"
    always: bool = field(default=True, metadata={"numbers": False})

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        if self.always or (folder.parents[1] / "trouble").exists():
            tell(folder.parents[1] / "log.txt", "begin", self.name)
            if self.by == "exit":
                sys.exit("enough")
            if self.by == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.by == "memory":
                bytearray(8_000_000_000)
            raise ArithmeticError("two and two\nare five")
        super().execute(folder, needed)


def tell(log: Path, event: str, name: str) -> None:
    """Append a line; short ones appear whole, whoever else appends."""
    with log.open("a") as file:
        file.write(f"{event} {name} {os.getpid()}\n")


def told(out: Path, event: str) -> list[str]:
    """The names in the log's lines of one event, in order."""
    log = out / "log.txt"
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [name for kind, name, _ in lines if kind == event]


def tiny(seed: int = 0, **changes: Any) -> Train:
    """A training run of a fraction of a second."""
    from unbraid.jobs.training import Train

    settings = {"network": "small", "latents": 3, "batch_size": 8, "learning_rate": 1e-3, **changes.pop("settings", {})}
    given = {"steps": 3, "resolution": 16, "samples": 80, "protocol": {"mig": {}}, **changes}
    return Train("beta_vae", "dsprites", seed=seed, settings=settings, **given)


def jobs(scale: str) -> list[Job]:
    if scale == "notes":
        first = [Note(f"first{number}", wait=0.1) for number in range(12)]
        return [*first, *(Note(f"second{number}", (first[number], first[number + 1]), wait=0.1) for number in range(4))]
    if scale == "mixed":
        from unbraid.jobs.agreement import Udr

        models = tuple(tiny(seed, steps=120) for seed in range(3))
        notes = [Note(f"note{number}", wait=0.2) for number in range(4)]
        last = Note("last", (*notes, models[0]))
        return [models[0], *notes[:2], *models[1:], *notes[2:], Udr(models, rows=100), last]
    if scale == "broken":
        bad = Trouble("bad", always=False)
        return [bad, Note("needy", (bad,)), Note("patient", (bad,), patient=True), Note("other")]
    if scale == "long":
        return [tiny(steps=100_000, every=5)]
    raise KeyError(scale)


class Now(Executor):
    """Does a task when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def run(jobs: list[Job], out: Path, **options: Any) -> tuple[Tally, list[str]]:
    said: list[str] = []
    found = schedule.run(jobs, out, **{"executor": Now(), "workers": 1, "say": said.append, **options})
    return found, said


def table(out: Path, jobs: list[Job]) -> dict[str, Any]:
    """All that a study gives: every file of every job but its state, and what that is."""
    study_folder, found = StudyFolder(out), dict[str, Any]()
    for job in ordered(jobs):
        folder = study_folder.folder(job)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "state.json"}
        found[folder.name] = study_folder.state(job), files
    return found
