"""Running a study: each missing job once, by whichever process takes its lease, whatever is killed meanwhile."""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from pathlib import Path

from unbraid.errors import InputError
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.study_folder import Planned, StudyFolder
from unbraid.own import keys_in
from unbraid.progress import progress
from unbraid.runs.folder import Folder, job_folders, now
from unbraid.runs.kept_code import keep, take
from unbraid.runs.lease import holder, is_leased, lease
from unbraid.runs.tracking import Tracking, active, tracked

Say = Callable[[str], None]
FINISHED = ("done", "diverged", "failed")
LEAST = 0.01  # seconds that a job counts for in the progress bar
NOTICED = 5.0  # seconds from which a job that runs moves the bar
ALMOST = 0.95  # of a job, that it can have behind it before it has finished
TALLIED = (*FINISHED, "running", "remaining")
DEATHS = 3  # a job whose process dies this often in a row has failed


def work(job: Job, out: Path, tracking: Tracking | None = None) -> str:
    """Do one job in this process, its runs followed by a tracker, and give its final state.

    Or `taken` where another process works on it, and `waiting` where another has queued again a job that it needs.
    """
    study = StudyFolder(out)
    take(keys_in(job), out)
    with lease(study.lease(job)) as leased:
        if not leased:
            return "taken"
        if (state := study.state(job)) in FINISHED:
            return state  # another process has done it
        needed = {other.id: study.state(other) for other in job.needs}
        if any(state not in FINISHED for state in needed.values()):
            return "waiting"
        lacking = [other for other in job.needs if needed[other.id] != "done"]
        if lacking and not job.tolerant:
            first = lacking[0]
            study.record_failure(job, f"needs {first.label} ({first.id}), which {needed[first.id]}")
            return "failed"
        started, clock = now(), time.monotonic()
        try:
            folder = study.open(job)
            with tracked(tracking):
                job.execute(folder.folder, [study.folder(other) for other in job.needs])
            if study.state(job) not in FINISHED:  # a training run sets its own
                seconds = round(time.monotonic() - clock, 1)
                folder.set_state("done", started=started, seconds=seconds, finished=now())
        except (Exception, SystemExit) as error:
            if study.state(job) != "failed":
                study.record_failure(job, f"{type(error).__name__}: {error}", traceback.format_exc())
        return study.state(job)


@dataclass
class Tally:
    """How many jobs are in which state, and how long the unfinished ones will take."""

    states: Counter[str] = field(default_factory=Counter)
    """By the words of TALLIED."""
    unfinished: float = 0.0
    """Core seconds that unfinished jobs take by their own estimates."""
    estimated: float = 0.0
    measured: float = 0.0
    """Core seconds of the jobs that are done: by their own estimates, and as measured."""

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def seconds_remaining(self) -> float:
        """Core seconds, by the jobs' own estimates corrected by how long the others took."""
        return self.unfinished * (self.measured / self.estimated if self.estimated else 1.0)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.states + other.states,
            self.unfinished + other.unfinished,
            self.estimated + other.estimated,
            self.measured + other.measured,
        )

    def __str__(self) -> str:
        return ", ".join(f"{self.states[name]} {name}" for name in TALLIED if self.states[name])


def tallies(jobs: Sequence[Job | Planned], out: Path) -> dict[str, Tally]:
    """The states of the jobs now, by their labels."""
    study, by_label = StudyFolder(out), dict[str, Tally]()
    for job in jobs:
        result = by_label.setdefault(job.label, Tally())
        status = study.status(job)
        state = status["state"]
        if state not in FINISHED:
            state = "running" if is_leased(study.lease(job)) else "remaining"
            result.unfinished += job.seconds
        elif state == "done" and status.get("seconds"):
            result.estimated += job.seconds
            result.measured += status["seconds"]
        result.states[state] += 1
    return by_label


def folder_tallies(out: Path) -> dict[str, Tally]:
    """The states of the jobs that have a folder, by their labels: what can be known without the study's own code."""
    by_label: dict[str, Tally] = {}
    for path in job_folders(out / "jobs"):
        name, _, id = path.name.rpartition("-")
        result = by_label.setdefault(name, Tally())
        try:
            state = Folder(path).state["state"]
        except InputError:
            state = "queued"
        waiting = "running" if is_leased(out / "leases" / id) else "remaining"
        result.states[state if state in FINISHED else waiting] += 1
    return by_label


def tally(jobs: Sequence[Job | Planned], out: Path) -> Tally:
    """The states of all jobs now."""
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
    """Run the jobs that are missing and no others, at most `workers` at a time; gives the states of all of them.

    Damaged folders are named and set aside first. `retry` runs failed jobs again, and jobs that did without them. Where
    `jobs` are only some of a study's, `among` is all of them: some of the others may have done without a failed one.
    Several calls may work on one folder at once: each job is done by the process that takes its lease, and if that
    dies, by another. `label` is the caption of the progress bar; `say` gets each message for the user.
    """
    study, plan = StudyFolder(out), ordered(given := list(jobs))
    asked = {job.id for job in given}
    for file in keep(keys_in(plan), study.out):  # for workers elsewhere, and in case the files change meanwhile
        say(f"your {file} changed since this study ran: the jobs that use it run again")
    _inspect(study, plan, thorough, say)
    if retry:
        _queue_again(study, plan, plan if among is None else ordered(among))
    queue = _Queue(study, plan, say)
    counted = [job for job in plan if job.id in asked or job.id not in queue.states]  # not what was done long before
    weights = {job.id: max(job.seconds, LEAST) for job in counted}  # one job may take as long as a hundred others
    with progress(label, sum(weights.values()), unit="seconds", delay=0) as advance:
        shown = 0.0
        while True:
            count = Counter(queue.states[id] for id in weights if id in queue.states)
            others = "".join(f", {count[name]} {name}" for name in FINISHED if name != "done" and count[name])
            behind = sum(weight for id, weight in weights.items() if id in queue.states)
            behind = max(shown, behind + queue.under_way(weights))
            advance(behind - shown, note=f"{count['done']} of {len(weights)} done{others}")
            shown = behind
            if not (queue.ready or queue.running or queue.elsewhere):
                return tally(plan, study.out)
            queue.start(executor, workers)
            finished, _ = wait(queue.running, timeout=1.0, return_when=FIRST_COMPLETED)
            if not queue.running:
                time.sleep(0.2)
            for future in finished:
                queue.settle(queue.running.pop(future), future)
            queue.look_elsewhere()


class _Queue:
    """The jobs of one `run`: which can start, which are running here or elsewhere, and which wait for others."""

    def __init__(self, study: StudyFolder, plan: Sequence[Job], say: Say) -> None:
        self.study, self.say = study, say
        self.states = {job.id: state for job in plan if (state := study.state(job)) in FINISHED}
        """Of finished jobs, by id."""
        self.missing = {job.id: _ids(job) - self.states.keys() for job in plan}
        """The ids of the jobs that a job waits for."""
        self.dependents: dict[str, list[Job]] = {}
        for job in plan:
            for other in job.needs:
                self.dependents.setdefault(other.id, []).append(job)
        self.ready = deque(job for job in plan if job.id not in self.states and not self.missing[job.id])
        self.running: dict[Future[str], Job] = {}
        self.elsewhere: dict[str, Job] = {}
        """Jobs that another process works on."""
        self.named: set[str] = set()
        """Those of them whose process was found to be stopped."""
        self.deaths: Counter[str] = Counter()
        self.begun: dict[str, float] = {}
        """When jobs that run here were first seen to do so."""
        self.spent = self.expected = 0.0
        """Seconds that finished jobs took here, and those that they were expected to take."""

    def start(self, executor: Executor, workers: int) -> None:
        while self.ready and len(self.running) < workers:
            job = self.ready.popleft()
            if (state := self.study.state(job)) in FINISHED:
                self.finish(job, state)
            else:
                self.running[executor.submit(work, job, self.study.out.absolute(), active())] = job

    def under_way(self, weights: Mapping[str, float]) -> float:
        """What running jobs have behind them, of their weights: by their time, at the pace of those that finished."""
        now, total = time.monotonic(), 0.0
        pace = self.spent / self.expected if self.expected else 1.0
        for job in self.running.values():
            if job.id not in self.begun and self.study.state(job) == "running":  # it may have waited for a machine
                self.begun[job.id] = now
            if job.id in weights and (seconds := now - self.begun.get(job.id, now)) > NOTICED:
                total += min(ALMOST * weights[job.id], seconds / pace)
        return total

    def settle(self, job: Job, future: Future[str]) -> None:
        """Act on the result of `work`."""
        try:
            state = future.result()
        except WorkerDiedError as error:
            self.deaths[job.id] += 1
            if self.deaths[job.id] < DEATHS:
                self.say(f"{job.label} ({job.id}): {error}; it resumes in another process")
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
        if (begun := self.begun.pop(job.id, None)) is not None:
            self.spent += time.monotonic() - begun
            self.expected += max(job.seconds, LEAST)
        if state == "failed":
            reason = str(self.study.status(job).get("reason"))
            self.say(f"{job.label} ({job.id}) failed: {' '.join(reason.split())}")
        freed = []
        for other in self.dependents.get(job.id, []):
            if job.id in self.missing[other.id]:
                self.missing[other.id].remove(job.id)
                if not self.missing[other.id] and other.id not in self.states:
                    freed.append(other)
        self.ready.extendleft(reversed(freed))  # first, so that a stopped study has finished what it began

    def wait_again(self, job: Job) -> None:
        """Wait once more for jobs that it needs and that another process has queued again."""
        for other in job.needs:
            if self.study.state(other) not in FINISHED:
                self.missing[job.id].add(other.id)
                if self.states.pop(other.id, None):
                    self.ready.append(other)
        if not self.missing[job.id]:
            self.ready.append(job)

    def look_elsewhere(self) -> None:
        """Note which jobs other processes have finished, and take over those of processes that have ended."""
        for job in list(self.elsewhere.values()):
            if (state := self.study.state(job)) in FINISHED:
                self.finish(self.elsewhere.pop(job.id), state)
            elif not is_leased(self.study.lease(job)):
                self.ready.append(self.elsewhere.pop(job.id))
            elif job.id not in self.named and "stopped" in (process := holder(self.study.lease(job))):
                self.named.add(job.id)
                self.say(f"{job.label} ({job.id}) waits for {process}")

    def give_up(self, job: Job, reason: str, trace: str | None = None) -> str:
        """Record a failure that the job could not record itself, unless another process works on it by now."""
        with lease(self.study.lease(job)) as leased:
            if not leased:
                return "taken"
            if self.study.state(job) not in FINISHED:
                self.study.record_failure(job, reason, trace)
            return self.study.state(job)


def _ids(job: Job) -> set[str]:
    """The ids of the jobs that it needs."""
    return {other.id for other in job.needs}


def _inspect(study: StudyFolder, plan: Sequence[Job], thorough: bool, say: Say) -> None:
    """Set damaged folders aside."""
    for job in plan:
        if study.faults(job, thorough):
            with lease(study.lease(job)) as leased:
                faults = study.faults(job, thorough) if leased else []  # again: another process may have changed it
                if faults:
                    say(f"{faults[0]}; set aside as {study.set_aside(job)}, and its job runs again")


def _queue_again(study: StudyFolder, plan: Sequence[Job], among: Sequence[Job]) -> None:
    """Queue the failed jobs of a plan again, and all jobs that did without them."""
    chosen = {job.id for job in plan}
    again: dict[str, tuple[Job, str]] = {}
    for job in among:
        state = study.state(job)
        if (state == "failed" and job.id in chosen) or (state in FINISHED and _ids(job) & again.keys()):
            again[job.id] = job, state
    for job, state in reversed(again.values()):  # dependents first: if this is killed half-way, no old result stays
        with lease(study.lease(job)) as leased:
            if leased and study.state(job) == state:
                if _ids(job) & again.keys():
                    study.set_aside(job)  # its results may change, such as settings chosen by the jobs it needs
                else:
                    Folder(study.folder(job)).set_state("queued")
