"""The folder of a study.

study.json           its name, scale and own code, so that `status` and `report` need only the folder
code/                copies of the user's own code: of the study's file, of methods, …
plan.json            the jobs that the study has now: ids, labels, and about how long each takes
jobs/LABEL-ID/       the results of a job: for a training run, the run
leases/ID            a file that the process working on a job keeps locked
damaged/             folders with damaged files, set aside before their jobs ran again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.data.atomic import clear_parts
from unbraid.data.schema import NUMBER, WORD, Kind, check, listed
from unbraid.errors import InputError
from unbraid.jobs.job import Job, ordered
from unbraid.runs.folder import PLAN, Folder, now, refuse_run
from unbraid.runs.kept_code import keep


@dataclass(frozen=True)
class Planned:
    """What `status` needs to know of a job, so that the study itself need not be imported."""

    id: str
    label: str
    seconds: float


_NAME = Kind("a name", lambda value: WORD.holds(value) and "/" not in value and not value.startswith("."))
_PLAN = {"ids": listed(_NAME), "labels": listed(_NAME), "seconds": listed(NUMBER)}


def plan_of(jobs: Sequence[Job]) -> dict[str, list[Any]]:
    """What `plan.json` says of jobs in order."""
    return {
        "ids": [job.id for job in jobs],
        "labels": [job.label for job in jobs],
        "seconds": [round(job.seconds, 1) for job in jobs],
    }


class StudyFolder:
    """Where the jobs of a study keep their results, and what state each is in."""

    def __init__(self, out: Path | str) -> None:
        self.out = Path(out)
        self._jobs, self._leases = self.out / "jobs", self.out / "leases"

    def folder(self, job: Job | Planned) -> Path:
        return self._jobs / f"{job.label}-{job.id}"

    def lease(self, job: Job | Planned) -> Path:
        return self._leases / job.id

    def status(self, job: Job | Planned) -> dict[str, Any]:
        """What a job's `state.json` says; a damaged one counts as queued here, `faults` names the damage."""
        try:
            return Folder(self.folder(job)).state
        except InputError:
            return {"state": "queued"}

    def state(self, job: Job) -> str:
        return str(self.status(job)["state"])

    def begin(self, name: str, scale: str, jobs: Sequence[Job], code: str | None = None) -> None:
        """Write which study the folder is for, or check that it is for this one; and which jobs it has now.

        `code` is the key of the study's own file, where it has one.
        """
        folder = Folder(self.out)
        refuse_run(self.out)
        clear_parts(self.out)
        if folder.path("study").exists():
            study = folder.read_json("study")
            if (study.get("name"), study.get("scale")) != (name, scale):
                raise InputError(
                    f"{self.out} holds the study {study.get('name')} at scale {study.get('scale')}, "
                    f"not {name} at scale {scale}"
                )
        self.out.mkdir(parents=True, exist_ok=True)
        keep([] if code is None else [code], self.out)
        folder.write_json("study", {"name": name, "scale": scale, **({} if code is None else {"code": code})})
        folder.write_json(PLAN, plan_of(ordered(jobs)))

    def planned(self) -> list[Planned] | None:
        """The jobs that the study had when it was last run; None where the plan does not say more than their ids."""
        try:
            plan = Folder(self.out).read_json(PLAN)
            check(Folder(self.out).path(PLAN), plan, _PLAN)
        except InputError:
            return None
        if not len(plan["ids"]) == len(plan["labels"]) == len(plan["seconds"]):
            return None
        return list(map(Planned, plan["ids"], plan["labels"], plan["seconds"]))

    def faults(self, job: Job, thorough: bool = False) -> list[str]:
        """What is wrong with a job's folder; nothing where it has none yet."""
        folder = Folder(self.folder(job))
        if not folder.folder.is_dir():
            return [f"{folder.folder} is not a folder"] if folder.folder.exists() else []
        if not folder.path("state").exists():
            return [f"{folder.folder} has files but no state.json"] if any(folder.folder.glob("[!.]*")) else []
        try:
            if folder.path("job").exists() and folder.read_json("job") != job.record:
                return [f"{folder.path('job')} is damaged, or another job's"]
        except InputError as error:
            return [str(error)]
        return folder.faults(thorough)

    def set_aside(self, job: Job) -> Path:
        """Move a job's folder out of the way; gives its new path."""
        (self.out / "damaged").mkdir(exist_ok=True)
        source, number = self.folder(job), 1
        while (target := self.out / "damaged" / f"{source.name}-{number}").exists():
            number += 1
        source.rename(target)
        return target

    def open(self, job: Job) -> Folder:
        """The job's folder, ready to be worked in: its state is `running` before anything else is in it."""
        folder = Folder(self.folder(job))
        folder.folder.mkdir(parents=True, exist_ok=True)
        for part in folder.folder.glob(".*.part"):  # files that a killed process left half written
            part.unlink()
        if self.state(job) == "queued":
            folder.set_state("running", started=now())
        folder.write_json("job", job.record)
        return folder

    def record_failure(self, job: Job, reason: str, trace: str | None = None) -> None:
        folder, before = self.open(job), self.status(job)
        kept = {name: before[name] for name in ("started", "seconds") if name in before}
        folder.set_state("failed", reason=reason, traceback=trace, **kept)


def needs_of(folder: Path) -> list[str]:
    """The ids of the jobs that a job was made from; none where `job.json` cannot be read."""
    try:
        needs = Folder(folder).read_json("job").get("needs", [])
    except InputError:
        return []
    return [str(id) for id in needs] if isinstance(needs, list) else []
