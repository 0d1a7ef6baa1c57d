"""The study's jobs, run for real at the smallest scale."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.studies.population.conftest import Smoke
from unbraid.data import load
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.results import read_results
from unbraid.jobs.schedule import run
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.search import lineage, read_history
from unbraid.studies.population.jobs import Evolve, Match, Recursive, first_row, knowledge, lineage_images
from unbraid.studies.population.models import BY_FEW, BY_MIG
from unbraid.studies.population.study import SCALES


def test_outcomes_are_those_of_the_best_model(smoke: Smoke) -> None:
    folder = smoke.folder(Evolve, BY_MIG)
    (found,), history = read_results(folder).models, read_history(folder / "population")
    assert found["fitness"] == pytest.approx(history["score"].max())
    assert found["trained"] == history["images"].sum() == 2 * 2 * 160
    best = Run(folder / found["run"])
    assert best.read_json("scores")["scores"]["mig"] >= 0
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
    first, *finals = read_results(folder).models
    epochs = pd.read_csv(folder / "rpu" / "metaepochs.csv")
    for final in [final for final in finals if "leaf_runs" in final]:
        leaves = final["leaf_runs"]
        last = read_history(folder / "rpu" / f"final{leaves}")["images"].sum()
        assert final["trained"] == epochs.loc[epochs["leaf"] <= leaves, "trained"].sum() + last
    assert first["trained"] == epochs["trained"][0] == 2 * 2 * 2 * 800
    assert "leaf_runs" in finals[-1] or finals[-1]["trained"] == epochs["trained"].sum()
    assert 0 <= first["scores.mig"] <= 1


def test_the_first_metaepochs_model_is_the_one_that_gave_its_labels(smoke: Smoke) -> None:
    (job,) = [job for job in smoke.jobs if isinstance(job, Recursive)]
    folder = smoke.folder(Recursive)
    results = read_results(folder)
    history = read_history(folder / "rpu" / "metaepoch1" / "population")
    last = history[history["generation"] == 1]
    best = last.loc[last["score"].idxmax()]
    lucky = history["score"].where(history["generation"] == 1, 2.0)  # untrained models that UDR likes best, by chance
    first = first_row(history.assign(score=lucky), job.base, folder, job.config)
    assert first["scores.mig"] == results.models[0]["scores.mig"]
    assert first["fitness"] == pytest.approx(results.tables["metaepochs"][0]["udr"])
    assert first["run"] == f"rpu/metaepoch1/population/{best['run']}"
    before = history[(history["generation"] == 0) & (history["member"] == best["parent"])]
    assert first["lineage"] == (best["images"] + before["images"].item()) / 2


def test_what_latents_know_is_measured_on_their_own_images(smoke: Smoke) -> None:
    folder = smoke.folder(Recursive)
    for epoch in read_results(folder).tables["metaepochs"]:
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
    budget = read_results(smoke.folder(Recursive)).models[-1]["trained"]
    (found,) = read_results(smoke.folder(Match)).models
    one = 2 * SCALES["smoke"].images  # two models per setting
    assert found["trained"] == found["size"] * one
    assert 0 <= found["trained"] - budget < one or found["size"] == 2


def test_run_again_it_does_nothing_and_after_a_kill_it_ends_the_same(smoke: Smoke, tmp_path: Path) -> None:
    out = tmp_path / "again"
    shutil.copytree(smoke.out, out)
    study = StudyFolder(out)
    (job,) = [job for job in smoke.jobs if isinstance(job, Evolve) and job.approach == BY_FEW]
    folder = study.folder(job)
    before = (folder / "results.json").read_bytes()
    (folder / "results.json").unlink()  # killed before it was written
    last = max((folder / "population" / "jobs").glob("generation01-*-fitness-*"))
    shutil.rmtree(last)
    Folder(folder).set_state("running")
    changed = {path: path.stat().st_mtime_ns for path in out.glob("jobs/*/results.json")}
    assert run(smoke.jobs, out, executor=InlineExecutor(), workers=1).states == {"done": len(smoke.jobs)}
    assert (folder / "results.json").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in changed} == changed


# Knowledge


def test_a_latent_that_is_a_factor_knows_it_and_nothing_else() -> None:
    factors = np.stack(np.meshgrid(np.arange(6), np.arange(8), [3], indexing="ij"), -1).reshape(-1, 3)
    found = knowledge(np.stack([-2.0 * factors[:, 1], factors[:, 0] + 9.0], 1), factors)
    np.testing.assert_allclose(found, [[0, 1, 0], [1, 0, 0]], atol=0.05)


def test_knowledge_by_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(64, 1))
    codes = factors + rng.normal(0, 0.7, size=(64, 1))
    edges = np.linspace(codes.min(), codes.max(), 17)  # 2√64 bins

    def information(values: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for low, high in itertools.pairwise(edges):
            inside = (values[:, 0] >= low) & ((values[:, 0] < high) | (high == edges[-1]))
            for value in range(4):
                both = np.mean(inside & (factors[:, 0] == value))
                if both > 0:
                    total += both * math.log(both / (inside.mean() * np.mean(factors[:, 0] == value)))
        return total

    whole = -sum(p * math.log(p) for p in np.bincount(factors[:, 0]) / 64)
    chance = float(np.mean([information(rng.permutation(codes)) for _ in range(200)]))
    expected = (information(codes) - chance) / (whole - chance)
    np.testing.assert_allclose(knowledge(codes, factors)[0, 0], expected, atol=0.02)


@pytest.mark.parametrize("rows", [12, 60, 300])
def test_noise_knows_nothing_even_on_few_rows(rows: int) -> None:
    rng = np.random.default_rng(0)
    factors = rng.permutation(np.arange(rows) % 10)[:, None]
    found = [knowledge(rng.normal(size=(rows, 1)), factors, seed=seed)[0, 0] for seed in range(20)]
    assert np.mean(found) < 0.12
    assert max(found) < 0.5


@pytest.mark.parametrize("rows", [30, 174])
def test_what_a_latent_tells_is_seen_on_few_rows(rows: int) -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([np.arange(rows) % 6, rng.integers(10, size=rows)], 1)
    told, other = knowledge(factors[:, :1] + rng.normal(0, 0.1, size=(rows, 1)), factors)[0]
    assert told > 0.7
    assert other < 0.3
