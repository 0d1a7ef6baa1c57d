"""Jobs on other models' codes: frozen learners get the codes of every row, and embeddings those of the test rows."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unbraid.jobs.models import Embed, Train, neighbour_agreement
from unbraid.jobs.schedule import Job, Place
from unbraid.jobs.schedule import run as run_study
from unbraid.pictures.traversals import show
from unbraid.runs.run import Run
from unbraid.training.representation import encode_all

SMALL: dict[str, Any] = {"network": "tiny", "batch_size": 8, "latents": 3, "head_width": 4}
ROWS = {"rows": 200, "held_out": 0.25}


def run(jobs: list[Job], out: Path) -> str:
    with ThreadPoolExecutor(1) as executor:
        return str(run_study(jobs, out, executor=executor, workers=1))


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


def test_a_job_is_another_where_a_file_of_the_users_has_other_content(tmp_path: Path) -> None:
    found = {}
    for place in ("a", "b", "same as b"):
        (tmp_path / place).mkdir()
        np.save(tmp_path / place / "targets.npy", np.full((200, 1), place[-1] == "b", np.float32))
        targets = {**ROWS, "targets": str(tmp_path / place / "targets.npy")}
        found[place] = Train("multitask", "dsprites", 2, 0, SMALL, resolution=16, data_settings=targets, protocol={}).id
    assert found["a"] != found["b"] == found["same as b"]


def test_a_frozen_learner_goes_on_with_the_codes_it_began_with(tmp_path: Path) -> None:
    decoder, place = frozen("frozen_decoder", encoder()), Place(tmp_path)
    assert run([encoder()], tmp_path) == "1 done"
    place.folder(decoder).mkdir()
    np.save(place.folder(decoder) / "inputs.npy", np.ones((200, 3), np.float32))
    place.open(decoder)
    assert run([decoder], tmp_path) == "2 done"
    assert (np.load(place.folder(decoder) / "inputs.npy") == 1).all()


def test_frozen_learners_get_the_codes_of_every_row_and_only_test_errors(tmp_path: Path) -> None:
    decoder = frozen("frozen_decoder", encoder())
    heads = frozen("frozen_heads", encoder(), tasks=2, task_width=5)
    truth = frozen("frozen_heads", None, tasks=2, task_width=5, codes="factors")
    assert run([decoder, heads, truth], tmp_path) == "4 done"
    place = Place(tmp_path)
    source = Run(place.folder(encoder()))
    codes = encode_all(source.method(), source.whole_data())
    assert len(codes) == 200
    for job in (decoder, heads):
        assert np.array_equal(np.load(place.folder(job) / "inputs.npy"), codes.numpy())
        kept = Run(place.folder(job)).representation()
        trained_on = Run(place.folder(job)).data()
        assert torch.equal(kept.codes, trained_on.batch_at(kept.rows)["codes"])
        assert torch.equal(source.images().all_factors(), trained_on.all_factors())  # the same rows are held out
    errors = {"test.squared_error", "test.rmse"}
    assert set(Run(place.folder(decoder)).read_json("scores")["scores"]) == errors
    errors |= {"test.error", "test.error_0", "test.error_1"}
    assert set(Run(place.folder(heads)).read_json("scores")["scores"]) == errors
    assert Run(place.folder(truth)).spec.codes == 5
    assert {path.name for path in show(Run(place.folder(decoder)), out=tmp_path)} >= {"unit_traversals.png"}


def test_embeddings_are_of_rows_held_out(tmp_path: Path) -> None:
    pytest.importorskip("umap")
    job = Embed(encoder(), rows=40)
    run([job], tmp_path)
    place = Place(tmp_path)
    folder, source = place.folder(job), Run(place.folder(encoder()))
    with np.load(folder / "embedding.npz") as found:
        places, factors = found["places"], found["factors"]
    assert places.shape == (40, 2)
    held_out = source.images().held_out
    assert held_out is not None
    known = {tuple(row) for row in held_out.all_factors().tolist()}
    assert {tuple(row) for row in factors.tolist()} <= known
    written = json.loads((folder / "embed.json").read_text())
    assert list(written["agreement"]) == list(source.spec.names)
    assert written["retrieved"]["retrieved"] >= 0
    expected = neighbour_agreement(places, factors)
    assert np.allclose(list(written["agreement"].values()), expected)


def test_agreement_of_neighbours_by_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((40, 2))
    values = np.stack([(places[:, 0] * 5).astype(int), rng.integers(0, 4, 40), np.arange(40)], 1)
    near, far = np.zeros(3), np.zeros(3)
    for i in range(40):
        others = [j for j in range(40) if j != i]
        closest = sorted(others, key=lambda j: float(np.hypot(*(places[i] - places[j]))))[:6]
        near += np.mean([np.abs(values[i] - values[j]) for j in closest], 0) / 40
        far += np.mean([np.abs(values[i] - values[j]) for j in others], 0) / 40
    assert np.allclose(neighbour_agreement(places, values, 6), 1 - near / far)


def test_agreement_is_one_where_neighbours_share_a_value_and_none_where_it_never_changes() -> None:
    corners = np.repeat([[0.0, 0.0], [5.0, 5.0]], 12, axis=0) + np.linspace(0, 0.1, 24)[:, None]
    values = np.stack([np.repeat([0, 1], 12), np.zeros(24)], 1)
    found = neighbour_agreement(corners, values, 5)
    assert found[0] == 1.0
    assert np.isnan(found[1])
