from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.toy_jobs import run, tiny
from unbraid import load_runs
from unbraid.errors import InputError
from unbraid.jobs.study_folder import StudyFolder
from unbraid.runs.folder import job_folders, left_over


def test_what_a_study_had_before_is_not_read(tmp_path: Path) -> None:
    old, new = [tiny(0), tiny(1)], [tiny(1), tiny(2)]
    for jobs in (old, new):
        StudyFolder(tmp_path).begin("toys", "smoke", jobs)
        run(jobs, tmp_path)
    assert len(list((tmp_path / "jobs").iterdir())) == 3
    for folder in (tmp_path, tmp_path / "jobs"):
        assert sorted(load_runs(folder)["seed"]) == [1, 2]
    assert left_over(tmp_path / "jobs") == {StudyFolder(tmp_path).folder(tiny(0)).name}
    assert len(job_folders(tmp_path / "jobs", "beta_vae-*")) == 2
    StudyFolder(tmp_path).begin("toys", "smoke", old)
    assert sorted(load_runs(tmp_path)["seed"]) == [0, 1]
    (tmp_path / "plan.json").write_text("{")
    assert len(load_runs(tmp_path)) == 3


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    StudyFolder(tmp_path).begin("assumptions", "smoke", [])
    StudyFolder(tmp_path).begin("assumptions", "smoke", [])
    with pytest.raises(InputError, match=r"holds the study assumptions at scale smoke, not assumptions at scale desk"):
        StudyFolder(tmp_path).begin("assumptions", "desk", [])
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match=r"study.json is damaged"):
        StudyFolder(tmp_path).begin("assumptions", "smoke", [])
