"""Where scores lie: what is compared, what is not, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unbraid
from tests.examples.command import Here
from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.jobs.training import Train
from unbraid.metrics import METRICS, ScoreTable, score
from unbraid.report.run_table import RunTable
from unbraid.studies import bands, open_study
from unbraid.studies.published import IMAGES, LOOK_ALIKES, SOURCES, published, published_for

FACTORS = np.random.default_rng(0).integers(0, (3, 6, 40, 32, 32), (60, 5))
NAMES = ("shape", "scale", "orientation", "x", "y")
CODES = FACTORS + np.random.default_rng(1).normal(size=FACTORS.shape)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Results of 72 models on dSprites at 32x32, whose MIG is 0.00, 0.01, … 0.71; those of β-VAEs are the first 12."""
    study = open_study("assumptions")
    jobs = study.jobs("desk")
    models = [job for job in jobs if isinstance(job, Train) and job.data == "dsprites" and job.seed < 4]
    rows = [
        {"run": f"jobs/{job.id}", "id": job.id, "state": "done", "method": job.method, "data": job.data,
         "seed": job.seed, "steps": job.steps, "scores.mig": index / 100, "scores.dci.disentanglement": 0.5,
         "scores.dlib.dci.disentanglement": index / 1000}
        for index, job in enumerate(models)
    ]  # fmt: skip
    rows.append({**rows[0], "id": "f00000000000", "scores.mig": -1.0})  # of a job that the study no longer has
    RunTable(pd.DataFrame(rows)).save(tmp_path / "results" / "desk")
    own = replace(study, results=tmp_path / "results")
    monkeypatch.setattr(bands, "STUDIES", ("assumptions",))
    monkeypatch.setattr(bands, "open_study", lambda name: own)
    _forget()
    yield
    _forget()


def _forget() -> None:
    bands._models.cache_clear()
    bands._studies_on.cache_clear()


def table(**options: Any) -> ScoreTable:
    return score(CODES, FACTORS, names=NAMES, **{"metrics": ["mig"], **options})


def valued(value: float, **options: Any) -> ScoreTable:
    scores = table(**options)
    for name in scores:
        scores[name] = value
    return scores


def test_a_score_is_counted_among_the_models_of_the_same_data() -> None:
    found = valued(0.36).bands("dsprites", 32)
    assert found["mig"].models == tuple(index / 100 for index in range(72))
    assert str(found["mig"]).startswith("mig 0.36: above 50 % of 72 models (middle half 0.177 to 0.532); published: ")


def test_models_of_the_same_method_are_counted_apart() -> None:
    found = valued(0.05).bands("dsprites", 32, "beta_vae")
    assert found["mig"].alike == tuple(index / 100 for index in range(12))
    assert "above 5 of 12 β-VAEs, 7 % of all 72 models" in str(found["mig"])
    assert "published: β-VAE 0.12" in str(found["mig"])


def test_a_model_of_the_study_does_not_lie_above_itself() -> None:
    assert "above 50 % of 72 models" in str(valued(0.36 + 1e-8).bands("dsprites", 32))
    assert "above 51 % of 72 models" in str(valued(0.36 + 1e-5).bands("dsprites", 32))


def test_the_same_metric_with_other_settings_is_another_score() -> None:
    """DCI by boosted trees is beside the study's own DCI, by an SVM: only the former is compared."""
    found = valued(0.036, metrics=["dci"]).bands("dsprites", 32)
    assert found["dci.disentanglement"].models == tuple(index / 1000 for index in range(72))
    other = score(CODES, FACTORS, names=NAMES, protocol={"mig": {"bins": 7}}).bands("dsprites", 32)
    assert not other
    assert str(other) == ""


def test_the_official_sprites_are_the_ones_drawn_here() -> None:
    assert len(valued(0.3).bands("dsprites_official", 32)["mig"].models) == 72


@pytest.mark.parametrize("data", ["color_dsprites", "noisy_dsprites"])
def test_other_data_is_not_compared(data: str) -> None:
    assert not table().bands(data, 32)


@pytest.mark.parametrize("settings", [{"held_out": 0.1}, {"rows": 1000}, {"coarse": "x=4"}])
def test_other_rows_of_the_data_are_not_compared(settings: dict[str, Any]) -> None:
    scores = table()
    scores.data = {"name": "dsprites", "resolution": 32, "settings": settings}
    assert not scores.bands()


def test_tasks_and_labels_leave_images_and_factors_as_they_are() -> None:
    scores = table()
    scores.data = {"name": "dsprites", "resolution": 32, "settings": {"tasks": 3, "labels": 100}}
    assert len(scores.bands()["mig"].models) == 72


def test_other_sizes_and_rows_are_named() -> None:
    alike = table()
    alike.samples = {"train": 5_000, "test": 2_500, "all": 20_000}
    assert "differs" not in alike.bands("dsprites", 32).notes[0]
    assert alike.bands("dsprites", 64).notes[0].endswith("; differs: 32x32, not 64x64")
    fewer = table().bands("dsprites", 32)
    assert fewer.notes[0].endswith("3,000 steps; differs: 5,000 training rows, not 40")
    assert "published: at 64x64, not 32x32, with other networks and training (multitask tables 5, 6)" in fewer.notes
    assert "not 64" not in alike.bands("dsprites", 64).notes[1]


def test_look_alikes_are_not_the_published_images() -> None:
    names = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    scores = score(np.eye(6)[np.arange(60) % 6], np.tile(np.arange(60)[:, None] % 4, 6), names=names, metrics=["mig"])
    assert "on Shapes3D itself" in str(scores.bands("shapes3d", 64))
    assert "itself" not in str(scores.bands("shapes3d_official", 64))
    assert not any(band.models for band in scores.bands("shapes3d_official", 64).bands)


def test_metrics_that_tell_classes_from_numbers_are_compared_only_between_alike() -> None:
    """In studies all factors are ordered values."""
    options: dict[str, Any] = {"names": NAMES, "protocol": "intervention_dsprites", "metrics": ["dci"]}
    numbered, typed = (score(CODES, FACTORS, types=types, **options) for types in ({}, {"shape": "classes"}))
    assert numbered.bands("dsprites", 64)["dci.disentanglement"].published
    assert not typed.bands("dsprites", 64)
    assert table(types={"shape": "classes"}).bands("dsprites", 64)


def test_what_is_missing_or_wrong_is_named() -> None:
    assert not table().bands()  # of codes whose data nobody named
    with pytest.raises(InputError, match="resolution is not known"):
        table().bands("dsprites")
    with pytest.raises(InputError, match="did you mean 'dsprites'"):
        table().bands("dsprite", 32)
    with pytest.raises(InputError, match="factors shape, scale, orientation, x, y; those of cars3d are elevation"):
        table().bands("cars3d", 64)


def test_scores_of_some_factors_or_of_other_types_are_not_compared() -> None:
    class Rows:
        def transform(self, images: Any) -> Any:
            return np.asarray(images).reshape(len(images), -1)[:, ::97].astype(float)

        def fit(self) -> None: ...

    data = unbraid.data.load("dsprites", 16)
    scores = score(Rows(), data, metrics=["mig"], samples=100)
    assert len(scores.bands()["mig"].models) == 72
    assert "32x32, not 16x16" in scores.bands().notes[0]
    assert not score(Rows(), data, metrics=["mig"], samples=100, types={"x": "classes"}).bands()
    scores.names = NAMES[:3]
    assert not scores.bands()


def test_a_run_and_many_runs(tmp_path: Path, here: Here) -> None:
    run = tiny(tmp_path / "runs" / "one", steps=1, protocol={"mig": {}, "irs": {}})
    found = unbraid.bands_of(run)
    assert (found["mig"].method, len(found["mig"].models), len(found["mig"].alike)) == ("beta_vae", 72, 12)
    lines = bands.bands_of_runs([run, run], ("mig",))
    value = run.scores["mig"]
    percent = 100 * sum(index / 100 < value for index in range(72)) / 72
    assert lines[0].startswith(
        f"dsprites at 16x16: mig {value:.3g} to {value:.3g} in 2 runs, above {percent:.0f} % to {percent:.0f} % of 72"
    )
    shown, none = here("runs", "runs"), here("runs", "runs", "--bands", "none")
    assert "of 12 β-VAEs" not in shown.stdout
    assert "mig" in shown.stdout
    assert "published" not in none.stdout
    scored = here("score", "runs/one", "--metrics", "mig", "--no-baseline")
    assert "of 12 β-VAEs" in scored.stdout
    assert "published" not in here("score", "runs/one", "--metrics", "mig", "--no-baseline", "--bands", "none").stdout


@pytest.mark.parametrize(
    "change",
    [
        {"opened": None},
        {"opened": {"name": "image_folder", "resolution": 16, "settings": {"path": "/etc"}}},
        {"opened": {"name": "stolen.py:Data", "resolution": 16, "settings": {}}},
        {"opened": {"name": "dsprites", "resolution": "16", "settings": {}}},
        {"protocol": {"stolen.py:metric": {}}},
        {"protocol": {"metrics": 3, "train": 5, "test": 5}},
    ],
)
def test_a_stranger_s_run_is_not_compared_and_opens_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    run = tiny(tmp_path / "run", steps=1, protocol={"mig": {}})
    path = run.path("config")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert not unbraid.bands_of(run)


def test_papers_that_had_other_settings_of_a_metric_are_not_named() -> None:
    """SAP on dSprites is 0.07 at most in one paper and 0.46 at least in another: those are two metrics."""
    by_svm = valued(0.1, metrics=["sap"]).bands("dsprites", 32)["sap"]
    assert {one.source for one in by_svm.published} == {"multitask"}
    by_correlation = score(CODES, FACTORS, names=NAMES, protocol="intervention_dsprites", metrics=["sap"])
    assert {one.source for one in by_correlation.bands("dsprites", 32)["sap"].published} == {"intervention"}
    trees = ScoreTable(names=("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"))
    trees["dci.disentanglement"] = 0.5
    trees.samples = {"train": 10, "test": 5, "all": 15}
    trees.settings = {"dci": {**METRICS["dci"].settings, "estimator": "forest"}}
    assert {one.source for one in trees.bands("shapes3d_official", 64)["dci.disentanglement"].published} == {"EncDiff"}
    assert "by another protocol too (EncDiff table 1)" in str(trees.bands("shapes3d_official", 64))


def test_published_scores_have_a_source_and_lie_in_their_range() -> None:
    for one in published():
        assert one.source in SOURCES
        assert 0 <= one.mean <= 1
        assert one.data in {*IMAGES.values(), *LOOK_ALIKES.values()}
    settings = METRICS["factor_vae_score"].settings
    (only,) = published_for("shapes3d_official", "factor_vae_score", settings, "beta_tc_vae")
    assert (only.mean, only.deviation, only.source, only.table) == (0.873, 0.074, "EncDiff", 1)
