from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.examples.toy_jobs import run
from unbraid.jobs.embedding import Embed
from unbraid.jobs.results import read_results
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train
from unbraid.pictures.embeddings import neighbour_agreement
from unbraid.runs.run import Run


def encoder() -> Train:
    settings = {"network": "tiny", "batch_size": 8, "latents": 3, "head_width": 4}
    tasks = {"tasks": 2, "task_width": 5, "rows": 200, "held_out": 0.25}
    return Train("multitask", "dsprites", 2, 0, settings, resolution=16, data_settings=tasks, protocol={"mig": {}})


def test_embeddings_are_of_rows_held_out(tmp_path: Path) -> None:
    pytest.importorskip("umap")
    job = Embed(encoder(), rows=40)
    run([job], tmp_path)
    study = StudyFolder(tmp_path)
    folder, source = study.folder(job), Run(study.folder(encoder()))
    with np.load(folder / "embedding.npz") as found:
        places, factors = found["places"], found["factors"]
    assert places.shape == (40, 2)
    held_out = source.images().held_out
    assert held_out is not None
    known = {tuple(row) for row in held_out.all_factors().tolist()}
    assert {tuple(row) for row in factors.tolist()} <= known
    scores = read_results(folder).scores[encoder().id]
    expected = neighbour_agreement(places, factors)
    assert np.allclose([scores[f"embed.agreement.{name}"] for name in source.spec.names], expected)
    assert scores["embed.agreement"] == pytest.approx(expected.mean())
    assert (scores["embed.retrieved"] or 0) >= 0
