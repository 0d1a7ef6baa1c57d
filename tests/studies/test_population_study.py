"""The population study's scales and jobs, run for real at the smallest scale."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from unbraid.data import load
from unbraid.errors import InputError
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.schedule import run
from unbraid.jobs.training import Train
from unbraid.report import Figure, Picture, Table
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.search import lineage, read_history
from unbraid.studies import open_study, write_report
from unbraid.studies.population.jobs import Evolve, Match, Recursive, first_epoch, lineage_images
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    BY_UDR,
    CHOSEN_FEW,
    MATCH,
    METRICS,
    RPU,
    SEARCH_FEW,
    meta_epochs,
    table,
)
from unbraid.studies.population.report import report
from unbraid.studies.population.study import FEW, SCALES, SIX, jobs


class Smoke(NamedTuple):
    out: Path
    jobs: list[Job]

    def folder(self, kind: type[Job], approach: str = "") -> Path:
        (job,) = [job for job in self.jobs if isinstance(job, kind) and getattr(job, "approach", "") == approach]
        return StudyFolder(self.out).folder(job)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    out, plan = tmp_path_factory.mktemp("study"), jobs("smoke")
    StudyFolder(out).begin("population", "smoke", plan)
    assert run(plan, out, executor=InlineExecutor(), workers=1).states == {"done": len(plan)}
    return Smoke(out, plan)


# Scales


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_are_different_from_each_other_and_the_same_every_time(scale: str) -> None:
    plan = jobs(scale)
    assert len(ordered(plan)) == len(plan) == len({job.id for job in plan})
    assert [job.id for job in jobs(scale)] == [job.id for job in plan]


def test_an_unknown_scale_is_named() -> None:
    with pytest.raises(InputError, match=r"there is no scale 'dek'.*desk"):
        jobs("dek")


def test_the_papers_scale_is_the_papers() -> None:
    plan = jobs("paper")
    recursions = [job for job in plan if isinstance(job, Recursive)]
    assert {(job.base.data, job.config.seed) for job in recursions} == {
        (data, seed) for data in ("dsprites", "shapes3d_official") for seed in range(5)
    }
    assert {(job.config.population.size, job.config.final.size, job.config.leaf_runs) for job in recursions} == {
        (56, 56, 3)
    }
    assert sum(isinstance(job, Train) and job.method in SIX for job in plan) == 2 * 6 * 6 * 50
    by_mig = [job for job in plan if isinstance(job, Evolve) and job.approach == BY_MIG]
    assert {job.population.generations for job in by_mig} == {26}
    few = [job.score.labels for job in plan if isinstance(job, Evolve) and job.approach == BY_FEW]
    assert few == [1000] * 5


@pytest.mark.parametrize("scale", ["desk", "smoke"])
def test_what_is_compared_at_the_same_budget_has_it(scale: str) -> None:
    chosen = SCALES[scale]
    populations = [job for job in jobs(scale) if isinstance(job, Evolve)]
    spent = {job.approach: job.population.size * job.population.generations * (job.population.images or 0)
             for job in populations}  # fmt: skip
    assert set(spent) == {BY_MIG, BY_DCI, BY_FEW, CHOSEN_FEW, SEARCH_FEW}
    assert len(set(spent.values())) == 1
    for job in jobs(scale):
        if isinstance(job, Train):  # the unequal comparison: as many images as one member
            assert job.steps * job.full_settings["batch_size"] == pytest.approx(chosen.images, rel=0.01)


def test_populations_of_one_seed_begin_alike() -> None:
    by_seed: dict[int, set[str]] = {}
    for job in jobs("desk"):
        if isinstance(job, Evolve) and job.approach != SEARCH_FEW:
            told = (job.population.size, job.population.seed, sorted(job.population.space or {}))
            by_seed.setdefault(job.population.seed, set()).add(str(told))
    assert {len(kinds) for kinds in by_seed.values()} == {1}


def test_settings_of_the_desk_are_ones_the_methods_take() -> None:
    from unbraid.search.spaces import check_space

    for job in jobs("desk"):
        if isinstance(job, Evolve):
            check_space(job.base.method, job.population.space or {}, job.base.settings)
        elif isinstance(job, Recursive):
            for config in (job.config.population, job.config.final):
                check_space(job.base.method, config.space or {}, job.base.settings)
        elif isinstance(job, Train):
            assert job.full_settings["latents"] == 6


def test_where_a_population_lives_is_no_part_of_what_it_is() -> None:
    first = next(job for job in jobs("smoke") if isinstance(job, Evolve))
    other = dataclasses.replace(first, population=dataclasses.replace(first.population, seed=7))
    assert first.id != other.id
    assert "/" not in json.dumps(first.content()["data_settings"])


# Jobs


def test_outcomes_are_those_of_the_best_model(smoke: Smoke) -> None:
    folder = smoke.folder(Evolve, BY_MIG)
    found, history = Folder(folder).read_json("outcome"), read_history(folder / "population")
    assert found["fitness"] == pytest.approx(history["score"].max())
    assert found["trained"] == history["images"].sum() == 2 * 2 * 160
    best = Run(folder / found["run"])
    assert found["scores"] == best.read_json("scores")["scores"]
    steps = best.config.steps * int(best.config.settings["batch_size"])
    assert found["lineage"] == steps  # batches are of one size here


def test_lineage_counts_the_ancestors_images_once() -> None:
    history = pd.DataFrame({
        "generation": [0, 0, 1, 1], "member": [0, 1, 0, 1], "parent": [None, None, 1, 1],
        "score": [0.1, 0.4, 0.9, 0.5], "images": [50, 100, 200, 400], "steps": 1,
    })  # fmt: skip
    assert lineage(history) == [(0, 1), (1, 0)]
    assert lineage_images(history, models=5) == (100 + 200) / 5


def test_an_rpu_counts_what_each_number_of_leaf_runs_took(smoke: Smoke) -> None:
    folder = smoke.folder(Recursive)
    found = Folder(folder).read_json("outcome")
    epochs = pd.read_csv(folder / "rpu" / "metaepochs.csv")
    for final in found["finals"]:
        leaves = final["leaf_runs"]
        last = read_history(folder / "rpu" / f"final{leaves}")["images"].sum()
        assert final["trained"] == epochs.loc[epochs["leaf"] <= leaves, "trained"].sum() + last
    assert found["first"]["trained"] == epochs["trained"][0] == 2 * 2 * 2 * 800
    assert found["trained"] == (found["finals"][-1]["trained"] if found["finals"] else epochs["trained"].sum())
    assert 0 <= found["first"]["scores"]["mig"] <= 1


def test_the_first_metaepochs_model_is_the_one_that_gave_its_labels(smoke: Smoke, tmp_path: Path) -> None:
    (job,) = [job for job in smoke.jobs if isinstance(job, Recursive)]
    folder = tmp_path / "rpu"
    shutil.copytree(smoke.folder(Recursive), folder)
    found = Folder(folder).read_json("outcome")
    population = folder / "rpu" / "metaepoch1" / "population"
    history = read_history(population)
    last = history[history["generation"] == 1]
    best = last.loc[last["score"].idxmax()]
    lucky = history["score"].where(history["generation"] == 1, 2.0)  # untrained models that UDR likes best, by chance
    history.assign(score=lucky).to_csv(population / "population.csv", index=False)
    first = first_epoch(job.base, folder / "rpu", folder, job.config)
    assert first["scores"] == found["first"]["scores"]
    assert first["fitness"] == pytest.approx(found["metaepochs"][0]["udr"])
    assert first["run"] == f"rpu/metaepoch1/population/{best['run']}"
    before = history[(history["generation"] == 0) & (history["member"] == best["parent"])]
    assert first["lineage"] == (best["images"] + before["images"].item()) / 2


def test_what_latents_know_is_measured_on_their_own_images(smoke: Smoke) -> None:
    folder = smoke.folder(Recursive)
    for epoch in Folder(folder).read_json("outcome")["metaepochs"]:
        if not epoch["generations"]:
            assert epoch["latents"] == epoch["knows"] == []
            continue
        with np.load(folder / "rpu" / epoch["name"] / "labels.npz") as file:
            rows, latents = file["rows"], file["latents"]
        data = load("shapes3d", 16, **SCALES["smoke"].data["shapes3d"])
        factors = np.array([data.factors_at([int(row)])[0].tolist() for row in rows])
        assert epoch["values"] == {
            name: len(set(column)) for name, column in zip(data.names, factors.T.tolist(), strict=True)
        }
        assert epoch["latents"] == latents.tolist()
        assert len(epoch["knows"]) == len(latents)
        assert all(0 <= share <= 1 for told in epoch["knows"] for share in told.values())


def test_a_match_spends_its_rivals_budget_and_no_more_than_a_setting_beyond(smoke: Smoke) -> None:
    budget = Folder(smoke.folder(Recursive)).read_json("outcome")["trained"]
    found = Folder(smoke.folder(Match)).read_json("outcome")
    one = 2 * SCALES["smoke"].images  # two models a setting
    assert found["trained"] == found["size"] * one
    assert 0 <= found["trained"] - budget < one or found["size"] == 2


def test_run_again_it_does_nothing_and_after_a_kill_it_ends_the_same(smoke: Smoke, tmp_path: Path) -> None:
    out = tmp_path / "again"
    shutil.copytree(smoke.out, out)
    study = StudyFolder(out)
    (job,) = [job for job in smoke.jobs if isinstance(job, Evolve) and job.approach == BY_FEW]
    folder = study.folder(job)
    before = (folder / "outcome.json").read_bytes()
    (folder / "outcome.json").unlink()  # killed before it was written
    last = max((folder / "population" / "jobs").glob("generation01-*-fitness-*"))
    shutil.rmtree(last)
    Folder(folder).set_state("running")
    changed = {path: path.stat().st_mtime_ns for path in out.glob("jobs/*/outcome.json")}
    assert run(smoke.jobs, out, executor=InlineExecutor(), workers=1).states == {"done": len(smoke.jobs)}
    assert (folder / "outcome.json").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in changed} == changed


# The report of what was run


def test_the_table_has_a_row_for_every_model_that_counts(smoke: Smoke) -> None:
    found = table(smoke.out)
    finals = len(Folder(smoke.folder(Recursive)).read_json("outcome")["finals"])
    assert set(found.loc[found["state"] != "done", "approach"]) == (set() if finals else {RPU})
    found = found[found["state"] == "done"]
    single = [*SIX, FEW, BY_MIG, BY_DCI, BY_FEW, CHOSEN_FEW, SEARCH_FEW, BY_UDR, MATCH]
    counts = found["approach"].value_counts().to_dict()
    assert counts.pop(RPU, 0) == finals
    assert counts == dict.fromkeys(single, 1)
    assert found[list(METRICS)].notna().all().all()
    assert found["trained"].gt(0).all()
    assert all(Run(path).config for path in found["run"])


def test_the_page_of_the_smoke_study(smoke: Smoke, tmp_path: Path) -> None:
    page = write_report(smoke.out, tmp_path / "report", draw=0)
    text = page.read_text()
    assert "Figure 1a" in text
    assert "Figure 4" in text
    sections = report(table(smoke.out), smoke.out)
    names = {item.name for section in sections for item in section.items if isinstance(item, Figure | Picture | Table)}
    assert {"figure_1a", "figure_1b", "figure_2", "figure_4", "table_4", "history_mig_shapes3d"} <= names


def test_unfinished_and_failed_jobs_are_rows_too(smoke: Smoke, tmp_path: Path) -> None:
    out = tmp_path / "broken"
    shutil.copytree(smoke.out, out)
    population = out / "jobs" / smoke.folder(Evolve, BY_MIG).name
    recursion = out / "jobs" / smoke.folder(Recursive).name
    Folder(population).set_state("failed", reason="InputError: every member diverged")
    (recursion / "outcome.json").write_text("{")
    found = table(out).set_index("approach")
    assert found.loc[BY_MIG, "state"] == "failed"
    assert "diverged" in found.loc[BY_MIG, "reason"]
    assert BY_UDR not in found.index
    assert found.loc[RPU, "state"] == "damaged"
    assert "outcome.json" in found.loc[RPU, "reason"]
    assert meta_epochs(out).empty
    assert len(report(table(out), out)) == len(report(table(smoke.out), smoke.out))


def test_it_is_a_study_of_the_command_line() -> None:
    study = open_study("population")
    assert set(study.scales) == {"smoke", "desk", "paper"}
    assert "rPU-VAE" in study.title
