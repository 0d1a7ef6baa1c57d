"""Runs on a folder of pictures, after the folder, the run or the reader has moved."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import unbraid
from tests.examples.command import Here
from unbraid.errors import InputError
from unbraid.runs import samples
from unbraid.runs.moved_data import data_at
from unbraid.runs.run import Run

SETTINGS = {"network": "tiny", "latents": 2, "batch_size": 4, "protocol": None, "steps": 2}


def draw(folder: Path, count: int = 8, seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for number in range(count):
        Image.fromarray(rng.integers(0, 256, (16, 16), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run in `start/runs/mine` on the pictures in `start/synth`, begun with a relative path."""
    draw(tmp_path / "start" / "synth")
    monkeypatch.chdir(tmp_path / "start")
    data = unbraid.data.load("image_folder", 16, path="synth")
    made = unbraid.train("beta_vae", data, out=Path("runs/mine"), **SETTINGS)  # type: ignore[arg-type]
    return Run(made.folder.absolute())


def test_the_run_opens_from_any_folder_and_its_id_knows_no_path(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run.data()) == 8
    data = unbraid.data.load("image_folder", 16, path=str(draw(tmp_path / "copy")))
    again = unbraid.train("beta_vae", data, out=tmp_path / "again", **SETTINGS)  # type: ignore[arg-type]
    assert again.config.id == run.config.id


def test_pictures_are_found_where_they_moved(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = run.representation().codes
    monkeypatch.chdir(tmp_path)
    (tmp_path / "start").rename(tmp_path / "elsewhere")  # the folder with both
    moved = Run(tmp_path / "elsewhere" / "runs" / "mine")
    assert torch.allclose(moved.method().encode(moved.images().images_at(range(8))), codes, atol=1e-5)
    (tmp_path / "elsewhere" / "synth").rename(tmp_path / "synth")  # the pictures alone, to this folder
    assert len(moved.images()) == 8


def test_other_pictures_of_that_name_are_not_taken(run: Run, tmp_path: Path, here: Here) -> None:
    shutil.rmtree(tmp_path / "start" / "synth")
    draw(tmp_path / "start" / "synth", seed=1)
    with pytest.raises(InputError, match=r"synth holds other pictures than .* was trained on; name the folder"):
        run.images()
    same = draw(tmp_path / "same")
    with data_at(same):
        assert len(run.images()) == 8
    done = here("encode", str(run.folder), "--out", "codes.csv", "--path", str(tmp_path / "start" / "synth"))
    assert done.returncode == 2
    assert "holds other pictures" in done.stderr
    assert here("encode", str(run.folder), "--out", "codes.csv", "--path", str(same)).returncode == 0


@pytest.mark.filterwarnings("always:using the")
def test_a_run_whose_pictures_are_gone_is_drawn_with_those_it_kept(run: Run, tmp_path: Path, here: Here) -> None:
    shutil.rmtree(tmp_path / "start" / "synth")
    done = here("show", str(run.folder), "--out", "drawn")
    assert done.returncode == 0
    assert "using the 8 pictures that are kept with the run" in done.stderr
    assert here("retrieve", str(run.folder), "--query", "3.png", "--all", "--out", "near.csv").returncode == 0
    assert here("encode", str(run.folder), "--out", "codes.csv").returncode == 2


def test_the_kept_pictures_are_those_of_the_data(run: Run) -> None:
    kept, data = samples.read(run.folder), run.data()
    assert kept is not None
    assert kept.files == data.files
    assert torch.equal(kept.images_at(range(8)), data.images_at(range(8)))
    samples.path(run.folder).write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"samples.npz cannot be read"):
        samples.read(run.folder)
    np.savez(samples.path(run.folder), images=np.zeros((2, 3)), files=np.array(["a", "b"]))
    with pytest.raises(InputError, match="expected uint8"):
        samples.read(run.folder)


def test_a_path_is_for_runs_on_files(tmp_path: Path) -> None:
    data = unbraid.data.load("dsprites", 16, rows=20)
    made = unbraid.train("beta_vae", data, out=tmp_path / "run", **SETTINGS)  # type: ignore[arg-type]
    with data_at(tmp_path), pytest.raises(InputError, match="dsprites is not read from your own files"):
        made.data()
