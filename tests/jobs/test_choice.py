"""Models trained with the setting that did best on other seeds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.examples.toy_jobs import run, tiny
from unbraid.jobs.best_setting import best_setting
from unbraid.jobs.choice import Chosen
from unbraid.runs.run import Run

NAN = math.nan


def test_the_best_setting_has_the_best_mean_of_those_with_all_models() -> None:
    scores = np.array([[0.1, 0.2], [0.9, NAN], [0.3, 0.2]])
    assert best_setting(scores) == 2
    assert best_setting(scores, higher=False) == 0
    assert best_setting(scores[1:2]) == 0
    assert best_setting(np.full((2, 2), NAN)) is None


def test_the_chosen_model_has_the_setting_with_the_best_mean_score(tmp_path: Path) -> None:
    metrics = {"mig": {}}
    candidates = tuple(
        tiny(seed, settings={**tiny().settings, "beta": beta}, protocol=metrics)
        for beta in (1.0, 8.0)
        for seed in (0, 1)
    )
    chosen = Chosen.of(tiny(2, protocol=metrics), candidates, "beta", "mig")
    tally, said = run([chosen], tmp_path)
    assert tally.states["done"] == 5, said
    trained = {job.id: Run(next((tmp_path / "jobs").glob(f"*-{job.id}"))) for job in (*candidates, chosen)}
    means = {
        beta: np.mean([trained[job.id].read_json("scores")["scores"]["mig"] for job in candidates
                       if job.settings["beta"] == beta])
        for beta in (1.0, 8.0)
    }  # fmt: skip
    best = max(means, key=lambda beta: means[beta])
    assert trained[chosen.id].config.settings["beta"] == best
    choice = json.loads((trained[chosen.id].folder / "choice.json").read_text())
    assert choice["chosen"] == {"beta": best}
    assert {one["beta"]: np.mean(one["mig"]) for one in choice["candidates"]} == pytest.approx(means)


def test_the_id_depends_on_the_candidates_and_not_on_the_default_of_the_chosen_setting() -> None:
    candidates = (tiny(0), tiny(1))
    job = Chosen.of(tiny(2), candidates, "beta", "mig")
    assert job.content()["settings"]["beta"] is None
    assert job.id != Chosen.of(tiny(2), candidates[:1], "beta", "mig").id
    assert job.id != Chosen.of(tiny(2), candidates, "beta", "sap").id
    assert job.tolerant


def test_candidates_without_the_score_are_an_error(tmp_path: Path) -> None:
    job = Chosen.of(tiny(1, protocol=None), (tiny(0, protocol=None),), "beta", "mig")
    tally, said = run([job], tmp_path)
    assert tally.states["failed"] == 1
    assert any("none of the 1 candidates for beta has a score 'mig'" in line for line in said)
