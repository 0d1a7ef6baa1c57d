"""Studies: a list of jobs, what each needs, which are missing; every one run once, whatever is killed meanwhile.

A study's folder holds

    study.json           its name and scale, so that `status` and `report` need only the folder
    jobs/LABEL-ID/       what a job left: for a training run, the run
    leases/ID            a file that the process working on a job holds locked; it means nothing once that is gone
    damaged/             folders whose files were not what they should be, set aside before their jobs ran again
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from unbraid.data.atomic import clear_parts
from unbraid.errors import InputError
from unbraid.jobs.engines.local import WorkerDiedError
from unbraid.progress import progress
from unbraid.runs.folder import PLAN, Folder, now

Say = Callable[[str], None]
FINISHED = ("done", "diverged", "failed")
DEATHS = 3  # a job whose process dies this often in a row has failed


class Job(ABC):
    """A typed config, the jobs it needs, and a function that turns them into a folder. Subclasses are dataclasses."""

    @property
    @abstractmethod
    def label(self) -> str:
        """A few words for people, part of the folder's name."""

    @abstractmethod
    def content(self) -> Mapping[str, Any]:
        """What changes its numbers, and nothing else: no paths, no worker counts."""

    @abstractmethod
    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Make the folder's files from those of the jobs it needs. Called again after a kill, it goes on."""

    @property
    def needs(self) -> tuple[Job, ...]:
        return ()

    @property
    def tolerant(self) -> bool:
        """Whether it can do without some of what it needs: a diverged model, a failed one."""
        return False

    @property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        return 1.0

    @cached_property
    def id(self) -> str:
        """Twelve digits of a hash of its kind, its content and the ids of what it needs."""
        needs = [job.id for job in self.needs]
        try:
            text = json.dumps([type(self).__name__, self.content(), needs], sort_keys=True)
        except TypeError as error:
            raise InputError(f"the content of {self.label} is not plain words and numbers: {error}") from error
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def record(self) -> dict[str, Any]:
        """What `job.json` says."""
        more = {"needs": [job.id for job in self.needs], "id": self.id, "kind": type(self).__name__}
        found: dict[str, Any] = json.loads(json.dumps({**self.content(), **more}))
        return found


def ordered(jobs: Iterable[Job]) -> list[Job]:
    """Each job once, behind those it needs, which are added where the list leaves them out."""
    found: dict[str, Job] = {}

    def add(job: Job) -> None:
        if not isinstance(job, Job):
            raise InputError(f"{job!r} is no job; a study is a list of jobs, such as unbraid.jobs.Train(…)")
        if "/" in job.label or job.label.startswith("."):
            raise InputError(f"the label '{job.label}' cannot name a folder; expected no slash, and no dot in front")
        if job.id not in found:
            for other in job.needs:
                add(other)
            found[job.id] = job

    for job in jobs:
        add(job)
    return list(found.values())


def needs_of(folder: Path) -> list[str]:
    """The ids of the jobs that a job was made from; none where that cannot be read."""
    try:
        found = Folder(folder).read_json("job").get("needs", [])
    except InputError:
        return []
    return [str(name) for name in found] if isinstance(found, list) else []


class Place:
    """The folder of a study."""

    def __init__(self, out: Path | str) -> None:
        self.out = Path(out)
        self._jobs, self._leases = self.out / "jobs", self.out / "leases"

    def folder(self, job: Job) -> Path:
        return self._jobs / f"{job.label}-{job.id}"

    def lease(self, job: Job) -> Path:
        return self._leases / job.id

    def standing(self, job: Job) -> dict[str, Any]:
        """The job's state; a damaged one counts as queued here, `set_aside_damage` deals with it."""
        try:
            return Folder(self.folder(job)).state
        except InputError:
            return {"state": "queued"}

    def state(self, job: Job) -> str:
        return str(self.standing(job)["state"])

    def begin(self, name: str, scale: str, jobs: Sequence[Job]) -> None:
        """Say what the folder is for, or see that it is for the same, and which jobs the study has now."""
        held = Folder(self.out)
        clear_parts(self.out)
        if held.path("study").exists():
            found = held.read_json("study")
            if (found.get("name"), found.get("scale")) != (name, scale):
                raise InputError(
                    f"{self.out} holds the study {found.get('name')} at scale {found.get('scale')}, "
                    f"not {name} at scale {scale}"
                )
        else:
            self.out.mkdir(parents=True, exist_ok=True)
            held.write_json("study", {"name": name, "scale": scale})
        held.write_json(PLAN, {"ids": [job.id for job in ordered(jobs)]})

    def faults(self, job: Job, thorough: bool = False) -> list[str]:
        """What is wrong with a job's folder: none where there is nothing yet."""
        folder = Folder(self.folder(job))
        if not folder.folder.is_dir():
            return [f"{folder.folder} is no folder"] if folder.folder.exists() else []
        if not folder.path("state").exists():
            return [f"{folder.folder} has files but no state.json"] if any(folder.folder.glob("[!.]*")) else []
        try:
            if folder.path("job").exists() and folder.read_json("job") != job.record:
                return [f"{folder.path('job')} is damaged, or another job's"]
        except InputError as error:
            return [str(error)]
        return folder.faults(thorough)

    def set_aside(self, job: Job) -> Path:
        """Move a job's folder out of the way, and say where to."""
        (self.out / "damaged").mkdir(exist_ok=True)
        source, number = self.folder(job), 1
        while (target := self.out / "damaged" / f"{source.name}-{number}").exists():
            number += 1
        source.rename(target)
        return target

    def open(self, job: Job) -> Folder:
        """The job's folder, ready to be worked in: first of all it says that it is running."""
        folder = Folder(self.folder(job))
        folder.folder.mkdir(parents=True, exist_ok=True)
        for part in folder.folder.glob(".*.part"):  # what a killed process left half written
            part.unlink()
        if self.state(job) == "queued":
            folder.set_state("running", started=now())
        folder.write_json("job", job.record)
        return folder

    def record_failure(self, job: Job, reason: str, trace: str | None = None) -> None:
        folder, before = self.open(job), self.standing(job)
        kept = {name: before[name] for name in ("started", "seconds") if name in before}
        folder.set_state("failed", reason=reason, traceback=trace, **kept)


@contextmanager
def leased(path: Path) -> Iterator[bool]:
    """Whether this process now holds the lease, until the end of the block or of the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield any(_lock(file) for _ in range(3))


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(0.01)  # perhaps for the moment that `held` takes
        return False
    return True


def held(path: Path) -> bool:
    """Whether a living process holds the lease."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def work(job: Job, out: Path) -> str:
    """Do one job, in whatever process this is, and give its final state.

    Or `taken` where another process is at it, and `waiting` where one has queued again what it needs.
    """
    place = Place(out)
    with leased(place.lease(job)) as mine:
        if not mine:
            return "taken"
        if (state := place.state(job)) in FINISHED:
            return state  # another process was quicker
        needed = {other.id: place.state(other) for other in job.needs}
        if any(state not in FINISHED for state in needed.values()):
            return "waiting"
        lost = [other for other in job.needs if needed[other.id] != "done"]
        if lost and not job.tolerant:
            place.record_failure(job, f"needs {lost[0].label} ({lost[0].id}), which {needed[lost[0].id]}")
            return "failed"
        started, clock = now(), time.monotonic()
        try:
            folder = place.open(job)
            job.execute(folder.folder, [place.folder(other) for other in job.needs])
            if place.state(job) not in FINISHED:  # a training run has said so itself
                seconds = round(time.monotonic() - clock, 1)
                folder.set_state("done", started=started, seconds=seconds, finished=now())
        except (Exception, SystemExit) as error:
            if place.state(job) != "failed":
                place.record_failure(job, f"{type(error).__name__}: {error}", traceback.format_exc())
        return place.state(job)


@dataclass
class Tally:
    """How many jobs stand where, and how long the rest will take."""

    states: Counter[str] = field(default_factory=Counter)
    """done, diverged, failed, running, left"""
    left: float = 0.0
    """Core seconds that the rest takes by the jobs' own estimates."""
    estimated: float = 0.0
    measured: float = 0.0
    """What finished jobs were thought to take, and took."""

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def seconds_left(self) -> float:
        """Core seconds, by the jobs' own estimates corrected by what finished ones took."""
        return self.left * (self.measured / self.estimated if self.estimated else 1.0)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.states + other.states,
            self.left + other.left,
            self.estimated + other.estimated,
            self.measured + other.measured,
        )

    def __str__(self) -> str:
        return ", ".join(f"{self.states[name]} {name}" for name in (*FINISHED, "running", "left") if self.states[name])


def tallies(jobs: Sequence[Job], out: Path) -> dict[str, Tally]:
    """Where the jobs stand now, by their labels."""
    place, found = Place(out), dict[str, Tally]()
    for job in jobs:
        result = found.setdefault(job.label, Tally())
        standing = place.standing(job)
        state = standing["state"]
        if state not in FINISHED:
            state = "running" if held(place.lease(job)) else "left"
            result.left += job.seconds
        elif state == "done" and standing.get("seconds"):
            result.estimated += job.seconds
            result.measured += standing["seconds"]
        result.states[state] += 1
    return found


def tally(jobs: Sequence[Job], out: Path) -> Tally:
    """Where all jobs stand now."""
    return sum(tallies(jobs, out).values(), Tally())


def run(
    jobs: Iterable[Job],
    out: Path | str,
    *,
    executor: Executor,
    workers: int,
    retry: bool = False,
    among: Sequence[Job] | None = None,
    thorough: bool = False,
    label: str = "jobs",
    say: Say = lambda line: None,
) -> Tally:
    """Run what is missing and nothing else, at most `workers` jobs at a time, and say where all of them stand.

    Damaged folders are named and set aside first. `retry` runs failed jobs again, and what was made without them; where
    `jobs` are only some of a study's, `among` is all of them, since others may have been. Several of these may work on
    one folder at once: each job is done by whoever takes its lease, and a dead one's job by the next that looks.
    `label` is what the bar says.
    """
    place, plan = Place(out), ordered(jobs)
    _inspect(place, plan, thorough, say)
    if retry:
        _queue_again(place, plan, plan if among is None else ordered(among))
    going = _Round(place, plan, say)
    with progress(label, len(plan), delay=0) as advance:
        shown = 0
        while True:
            count = Counter(going.states.values())
            note = ", ".join(f"{count[name]} {name}" for name in FINISHED if count[name])
            advance(len(going.states) - shown, note=note)
            shown = len(going.states)
            if not (going.ready or going.running or going.elsewhere):
                return tally(plan, place.out)
            going.start(executor, workers)
            finished, _ = wait(going.running, timeout=1.0, return_when=FIRST_COMPLETED)
            if not going.running:
                time.sleep(0.2)
            for future in finished:
                going.settle(going.running.pop(future), future)
            going.look_elsewhere()


class _Round:
    """One `run`: which jobs can start, which are under way, and what becomes of them."""

    def __init__(self, place: Place, plan: Sequence[Job], say: Say) -> None:
        self.place, self.say = place, say
        self.states = {job.id: state for job in plan if (state := place.state(job)) in FINISHED}
        """Of finished jobs."""
        self.missing = {job.id: _ids(job) - self.states.keys() for job in plan}
        """What a job waits for."""
        self.dependents: dict[str, list[Job]] = {}
        for job in plan:
            for other in job.needs:
                self.dependents.setdefault(other.id, []).append(job)
        self.ready = deque(job for job in plan if job.id not in self.states and not self.missing[job.id])
        self.running: dict[Future[str], Job] = {}
        self.elsewhere: dict[str, Job] = {}
        """Jobs that another process is at."""
        self.deaths: Counter[str] = Counter()

    def start(self, executor: Executor, workers: int) -> None:
        while self.ready and len(self.running) < workers:
            job = self.ready.popleft()
            if (state := self.place.state(job)) in FINISHED:
                self.finish(job, state)
            else:
                self.running[executor.submit(work, job, self.place.out.absolute())] = job

    def settle(self, job: Job, future: Future[str]) -> None:
        """See what `work` has to say."""
        try:
            state = future.result()
        except WorkerDiedError as error:
            self.deaths[job.id] += 1
            if self.deaths[job.id] < DEATHS:
                self.say(f"{job.label} ({job.id}): {error}; it goes on in another")
                self.ready.appendleft(job)
                return
            state = self.give_up(job, f"{error}, {DEATHS} times; perhaps it ran out of memory")
        except (BrokenExecutor, CancelledError):
            raise
        except Exception as error:  # such as a job that cannot be sent to another process
            state = self.give_up(job, f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))
        if state == "taken":
            self.elsewhere[job.id] = job
        elif state == "waiting":
            self.wait_again(job)
        else:
            self.finish(job, state)

    def finish(self, job: Job, state: str) -> None:
        self.states[job.id] = state
        if state == "failed":
            reason = str(self.place.standing(job).get("reason"))
            self.say(f"{job.label} ({job.id}) failed: {' '.join(reason.split())}")
        freed = []
        for other in self.dependents.get(job.id, []):
            if job.id in self.missing[other.id]:
                self.missing[other.id].remove(job.id)
                if not self.missing[other.id] and other.id not in self.states:
                    freed.append(other)
        self.ready.extendleft(reversed(freed))  # next, so that a study that is stopped has finished what it began

    def wait_again(self, job: Job) -> None:
        """Somebody has queued again what the job needs: that is missing once more."""
        for other in job.needs:
            if self.place.state(other) not in FINISHED:
                self.missing[job.id].add(other.id)
                if self.states.pop(other.id, None):
                    self.ready.append(other)
        if not self.missing[job.id]:
            self.ready.append(job)

    def look_elsewhere(self) -> None:
        """Take note of what other processes have finished, and take over from those that are gone."""
        for job in list(self.elsewhere.values()):
            if (state := self.place.state(job)) in FINISHED:
                self.finish(self.elsewhere.pop(job.id), state)
            elif not held(self.place.lease(job)):
                self.ready.append(self.elsewhere.pop(job.id))

    def give_up(self, job: Job, reason: str, trace: str | None = None) -> str:
        """Record a failure that the job could not record itself, unless another process is at it by now."""
        with leased(self.place.lease(job)) as mine:
            if not mine:
                return "taken"
            if self.place.state(job) not in FINISHED:
                self.place.record_failure(job, reason, trace)
            return self.place.state(job)


def _ids(job: Job) -> set[str]:
    """Of the jobs it needs."""
    return {other.id for other in job.needs}


def _inspect(place: Place, plan: Sequence[Job], thorough: bool, say: Say) -> None:
    """Set damaged folders aside."""
    for job in plan:
        if place.faults(job, thorough):
            with leased(place.lease(job)) as mine:
                faults = place.faults(job, thorough) if mine else []  # once more: somebody may have been at it
                if faults:
                    say(f"{faults[0]}; set aside as {place.set_aside(job)}, and its job runs again")


def _queue_again(place: Place, plan: Sequence[Job], among: Sequence[Job]) -> None:
    """Queue the failed jobs of a plan again, and whatever was made without them."""
    chosen = {job.id for job in plan}
    again: dict[str, tuple[Job, str]] = {}
    for job in among:
        state = place.state(job)
        if (state == "failed" and job.id in chosen) or (state in FINISHED and _ids(job) & again.keys()):
            again[job.id] = job, state
    for job, state in reversed(again.values()):  # what needs others goes first: killed in between, no old result stays
        with leased(place.lease(job)) as mine:
            if mine and place.state(job) == state:
                if _ids(job) & again.keys():
                    place.set_aside(job)  # it may be another job now, such as one with the settings that did best
                else:
                    Folder(place.folder(job)).set_state("queued")
