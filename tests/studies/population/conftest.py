from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.job import Job
from unbraid.jobs.schedule import run
from unbraid.studies.population.study import jobs


class Smoke(NamedTuple):
    """The study, run at its smallest scale."""

    out: Path
    jobs: list[Job]

    def folder(self, kind: type[Job], approach: str = "") -> Path:
        (job,) = [job for job in self.jobs if isinstance(job, kind) and getattr(job, "approach", "") == approach]
        return StudyFolder(self.out).folder(job)


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    out, plan = tmp_path_factory.mktemp("study"), jobs("smoke")
    StudyFolder(out).begin("population", "smoke", plan)
    assert run(plan, out, executor=InlineExecutor(), workers=1).states == {"done": len(plan)}
    return Smoke(out, plan)
