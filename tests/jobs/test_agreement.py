from __future__ import annotations

from pathlib import Path

from tests.examples.toy_jobs import run, tiny
from unbraid import load_runs
from unbraid.jobs.agreement import Udr
from unbraid.jobs.results import read_results
from unbraid.jobs.study_folder import StudyFolder
from unbraid.runs.run import Run


def test_training_runs_are_runs_and_udr_compares_them(tmp_path: Path) -> None:
    models = tuple(tiny(seed, steps=40, samples=300) for seed in range(3))
    found, said = run([Udr(models, rows=200)], tmp_path)
    assert (str(found), said) == ("4 done", [])
    study = StudyFolder(tmp_path)
    scores = read_results(study.folder(Udr(models, rows=200))).scores
    assert sorted(scores) == sorted(model.id for model in models)
    assert all(set(score) == {"udr.lasso", "udr.spearman"} for score in scores.values())
    runs = load_runs(tmp_path / "jobs")
    assert runs["state"].tolist() == ["done"] * 3
    assert sorted(runs["seed"]) == [0, 1, 2]
    assert runs["scores.mig"].notna().all()
    method = Run(study.folder(models[0])).method()
    assert method.config.batch_size == 8
