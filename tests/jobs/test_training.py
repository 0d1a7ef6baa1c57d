"""Training as a job: alone, on another model's codes, from another model's state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import unbraid
from tests.examples.toy_jobs import run, tiny
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train, Trained
from unbraid.metrics import Protocol
from unbraid.pictures.traversals import show
from unbraid.runs.run import Run
from unbraid.training.representation import encode_all

SMALL: dict[str, Any] = {"network": "tiny", "batch_size": 8, "latents": 3, "head_width": 4}
ROWS = {"rows": 200, "held_out": 0.25}
SETTINGS: dict[str, Any] = {
    "samples": 80, "protocol": {"mig": {}}, "precision": "fp32", "network": "small", "latents": 3, "batch_size": 8,
    "learning_rate": 1e-3,
}  # fmt: skip
"""Of `tiny`."""


def encoder(seed: int = 0) -> Train:
    tasks = {"tasks": 2, "task_width": 5, **ROWS}
    return Train("multitask", "dsprites", 2, seed, SMALL, resolution=16, data_settings=tasks, protocol={"mig": {}})


def frozen(method: str, on: Train | None, **more: Any) -> Train:
    settings = {"batch_size": 8, **({"network": "tiny"} if method == "frozen_decoder" else {"head_width": 4})}
    data = {**ROWS, **more}
    return Train(method, "dsprites", 3, 0, settings, resolution=16, data_settings=data, protocol={}, encoder=on)


def test_a_frozen_learner_needs_its_encoder_and_is_another_with_another() -> None:
    decoder = frozen("frozen_decoder", encoder())
    assert decoder.needs == (encoder(),)
    assert decoder.label == "frozen_decoder-multitask-dsprites"
    assert decoder.id != frozen("frozen_decoder", encoder(1)).id
    assert encoder().needs == ()


def test_a_frozen_learner_resumes_with_the_codes_it_began_with(tmp_path: Path) -> None:
    decoder, study = frozen("frozen_decoder", encoder()), StudyFolder(tmp_path)
    assert str(run([encoder()], tmp_path)[0]) == "1 done"
    study.folder(decoder).mkdir()
    np.save(study.folder(decoder) / "inputs.npy", np.ones((200, 3), np.float32))
    study.open(decoder)
    assert str(run([decoder], tmp_path)[0]) == "2 done"
    assert (np.load(study.folder(decoder) / "inputs.npy") == 1).all()


def test_frozen_learners_get_the_codes_of_every_row_and_only_test_errors(tmp_path: Path) -> None:
    decoder = frozen("frozen_decoder", encoder())
    heads = frozen("frozen_heads", encoder(), tasks=2, task_width=5)
    truth = frozen("frozen_heads", None, tasks=2, task_width=5, codes="factors")
    assert str(run([decoder, heads, truth], tmp_path)[0]) == "4 done"
    study = StudyFolder(tmp_path)
    source = Run(study.folder(encoder()))
    codes = encode_all(source.method(), source.whole_data())
    assert len(codes) == 200
    for job in (decoder, heads):
        assert np.array_equal(np.load(study.folder(job) / "inputs.npy"), codes.numpy())
        kept = Run(study.folder(job)).representation()
        trained_on = Run(study.folder(job)).data()
        assert torch.equal(kept.codes, trained_on.batch_at(kept.rows)["codes"])
        assert torch.equal(source.images().all_factors(), trained_on.all_factors())  # the same rows are held out
        assert Run(study.folder(job)).config.id == job.id
    errors = {"test.squared_error", "test.rmse"}
    assert set(Run(study.folder(decoder)).read_json("scores")["scores"]) == errors
    errors |= {"test.error", "test.error_0", "test.error_1", "test.r2", "test.r2_0", "test.r2_1"}
    assert set(Run(study.folder(heads)).read_json("scores")["scores"]) == errors
    assert Run(study.folder(truth)).spec.codes == 5
    assert {path.name for path in show(Run(study.folder(decoder)), out=tmp_path)} >= {"unit_traversals.png"}


def test_a_study_gives_what_the_runs_give_by_themselves(tmp_path: Path) -> None:
    run([tiny()], tmp_path)
    alone = unbraid.train("beta_vae", "dsprites", out=tmp_path / "alone", steps=3, resolution=16, **SETTINGS)
    assert alone.config.id == tiny().id
    for name in ("config", "train", "model", "codes", "scores"):
        assert Run(StudyFolder(tmp_path).folder(tiny())).path(name).read_bytes() == alone.path(name).read_bytes()


def test_a_job_starts_with_the_state_of_another(tmp_path: Path) -> None:
    first = tiny(keep_state=True)
    second = tiny(steps=5, start=first)
    for start in (first, Trained.of(first)):
        assert replace(second, start=start).id == second.id
        assert str(run([replace(second, start=start)], tmp_path)[0]) == "2 done"
    assert (second.new_steps, second.images) == (2, 16)
    whole = unbraid.train("beta_vae", "dsprites", out=tmp_path / "whole", steps=5, resolution=16, **SETTINGS)
    parts = Run(StudyFolder(tmp_path).folder(second))
    assert parts.path("model").read_bytes() == whole.path("model").read_bytes()
    assert (parts.config.id, parts.config.start) == (second.id, first.id)
    assert not parts.path("checkpoint").exists()
    unbraid.train(
        "beta_vae", "dsprites", out=tmp_path / "alone", steps=5, resolution=16,
        start=StudyFolder(tmp_path).folder(first), **SETTINGS,
    )  # fmt: skip
    assert Run(tmp_path / "alone").config == parts.config


def test_a_job_is_another_if_its_protocol_gives_other_scores() -> None:
    plain = replace(encoder(), protocol=Protocol("mine", {"mig": {}}, train=500, test=200))
    renamed = replace(encoder(), protocol=Protocol("yours", {"mig": {}}, train=500, test=200, seconds=90.0))
    assert plain.id == renamed.id
    assert renamed.seconds == plain.seconds + 88.0
    for other in ({"mig": {"bins": 5}}, Protocol("mine", {"mig": {}}, train=400, test=200), "dlib"):
        assert replace(encoder(), protocol=other).id != plain.id
