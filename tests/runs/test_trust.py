"""A run from elsewhere leads to no file of the reader's: not by a link, not by the settings of its data."""

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
from unbraid.own import trust
from unbraid.report.runs import pictures
from unbraid.runs import weights
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on somebody's private pictures."""
    private = tmp_path_factory.mktemp("private")
    rng = np.random.default_rng(0)
    for number in range(12):
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(private / f"{number}.png")
    data = unbraid.data.load("image_folder", 16, path=str(private))
    out = tmp_path_factory.mktemp("runs") / "run"
    return unbraid.train("beta_vae", data, out=out, steps=2, network="tiny", latents=2, batch_size=4, protocol=None)


@pytest.fixture
def from_elsewhere(own: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, of a run that this user has not made."""
    monkeypatch.setenv("UNBRAID_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(trust, "_here", set())
    shutil.copytree(own.folder, tmp_path / "run")
    return tmp_path / "run"


def test_ones_own_run_opens_ones_own_files(own: Run, here: Here) -> None:
    assert len(own.data()) == 12
    assert here("show", str(own.folder), "--out", "pictures").returncode == 0


def test_the_settings_of_a_run_from_elsewhere_open_no_file_without_trust(from_elsewhere: Path, here: Here) -> None:
    (from_elsewhere / "samples.npz").unlink()
    done = here("show", "run")
    assert done.returncode == 2
    assert "run was not made here, and reads files of this machine: path is '" in done.stderr
    assert not list(from_elsewhere.glob("*.png"))
    assert "was not made here" in pictures(from_elsewhere, from_elsewhere.parent / "report", make=True)[1]
    with pytest.raises(InputError, match=r"trust=True"):
        Run(from_elsewhere).images()
    assert len(Run(from_elsewhere, trust=True).images()) == 12
    assert here("show", "run", "--trust").returncode == 0


@pytest.mark.filterwarnings("always:using the")
def test_a_run_from_elsewhere_is_drawn_with_the_pictures_kept_in_it(from_elsewhere: Path, here: Here) -> None:
    done = here("show", "run")
    assert done.returncode == 0
    assert "using the 12 pictures that are kept with the run: run was not made here" in done.stderr
    assert (from_elsewhere / "traversals.png").exists()
    assert here("explore", "run", "--no-open").returncode == 0
    assert "are those that are kept with the run" in (from_elsewhere / "explorer.html").read_text()


def test_a_path_that_the_reader_names_needs_no_trust(from_elsewhere: Path, own: Run, here: Here) -> None:
    private = own.read_json("config")["opened"]["settings"]["path"]
    done = here("encode", "run", "--out", "codes.npy", "--path", private)
    assert done.returncode == 0, done.stderr
    assert np.load(from_elsewhere.parent / "codes.npy").shape == (12, 2)


def test_a_run_from_elsewhere_does_not_look_for_pictures(from_elsewhere: Path, own: Run) -> None:
    """Not even by the name of a folder of its own that is missing: the reader may have one of that name."""
    run, record = Run(from_elsewhere), Run(from_elsewhere).read_json("config")
    shutil.copytree(record["opened"]["settings"]["path"], from_elsewhere.parent / "diary")
    record["opened"]["settings"]["path"] = str(from_elsewhere / "diary")
    run.write_json("config", record)
    with pytest.raises(InputError, match="does not exist"):
        run.images()
    assert len(Run(from_elsewhere, trust=True).images()) == 12


def test_a_config_that_was_changed_is_not_ones_own(own: Run, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    run = Run(tmp_path / "run")
    assert len(run.data()) == 12, "a copy of one's own run is one's own"
    record = run.read_json("config")
    (tmp_path / "other").mkdir()
    record["opened"]["settings"]["path"] = str(tmp_path / "other")
    run.write_json("config", record)
    with pytest.raises(InputError, match=r"was not made here"):
        run.data()


@pytest.mark.parametrize(
    "name", ["traversals.png", "umap.png", "names.json", "scores.json", "config.json", "model.safetensors"]
)
def test_a_link_in_a_run_is_not_followed(name: str, own: Run, here: Here, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "runs" / "run")
    secret = tmp_path / f"secret{Path(name).suffix}"
    original = tmp_path / "runs" / "run" / name
    secret.write_bytes(original.read_bytes() if original.exists() else b'{"secret": {"z0": "secret"}}')
    if name.endswith(".png"):
        Image.new("RGB", (8, 8), "red").save(secret)
    original.unlink(missing_ok=True)
    original.symlink_to(secret)
    assert pictures(original.parent)[0] == {}
    done = here("report", "runs", "--draw", "0")
    assert done.returncode == 0, done.stderr
    assert b"secret" not in (tmp_path / "runs" / "report" / "report.html").read_bytes()
    if not name.endswith(".png"):
        done = here("explore", "runs/run", "--no-open")
        assert done.returncode == 2
        assert f"{name} is a link; expected files of the folder itself" in done.stderr


@pytest.mark.parametrize("name", ["report", "report/figures", "report/tables", "report/runs", "report/explorers"])
def test_a_report_is_not_written_through_a_link(name: str, own: Run, here: Here, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "runs" / "run")
    (tmp_path / "private").mkdir()
    link = tmp_path / "runs" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "private")
    done = here("report", "runs")
    assert (done.returncode, done.stderr.endswith(f"{name} is a link; expected files of the folder itself\n")) == (
        2,
        True,
    )
    assert not list((tmp_path / "private").iterdir())


def test_a_log_is_not_a_link(own: Run, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    run = Run(tmp_path / "run")
    for name, read in (("train.jsonl", lambda: run.log), ("scores.jsonl", lambda: run.score_log)):
        (run.folder / name).unlink(missing_ok=True)
        (run.folder / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="is a link"):
            read()
        with pytest.raises(InputError, match="is a link"):
            run.append_log(1, {}, name)
    assert not (tmp_path / "elsewhere").exists()


def test_no_output_takes_the_place_of_a_file_of_a_run(own: Run, here: Here, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    Run(tmp_path / "run").write_json("scores", {"scores": {}})
    np.savez(tmp_path / "codes.npz", codes=np.random.default_rng(0).normal(size=(30, 2)), factors=np.arange(30) % 3)
    (tmp_path / "link").symlink_to(tmp_path / "run" / "state.json")
    files = sorted(path for path in (tmp_path / "run").iterdir() if path.is_file() and not path.name.startswith("."))
    assert len(files) >= 7
    for path in [*files, tmp_path / "link"]:
        before = path.read_bytes()
        done = here("score", "codes.npz", "--metrics", "mig", "--out", str(path))
        assert done.returncode == 2, path
        assert f"is a file of the run {tmp_path / 'run'}; expected another name" in done.stderr
        assert path.read_bytes() == before


def test_weights_are_real(own: Run, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    run = Run(tmp_path / "run")
    weights.save(
        {name: value.to(torch.complex64) for name, value in run.method().state_dict().items()}, run.path("model")
    )
    with pytest.raises(InputError, match="has complex numbers; expected real ones"):
        run.method()


@pytest.mark.filterwarnings("always:.*not finite numbers")
def test_weights_that_are_not_numbers_are_told(own: Run, here: Here, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    run = Run(tmp_path / "run")
    tensors = run.method().state_dict()
    name = next(name for name, _ in run.method().named_parameters())
    weights.save({**tensors, name: torch.full_like(tensors[name], torch.nan)}, run.path("model"))
    run.seal()
    with pytest.warns(UserWarning, match=f"'{name}' has values that are not finite numbers"):
        run.method()
    done = here("encode", "run", "--out", "codes.npy")
    assert done.returncode == 0
    assert f"'{name}' has values that are not finite numbers" in done.stderr


def test_the_rows_of_a_config_take_no_memory(own: Run, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "run")
    run = Run(tmp_path / "run")
    record = run.read_json("config")
    record["spec"]["rows"] = 2**62
    run.write_json("config", record)
    assert not run.representation().whole


def test_what_a_folder_says_is_one_short_line(own: Run, here: Here, tmp_path: Path) -> None:
    shutil.copytree(own.folder, tmp_path / "study" / "jobs" / "run-one")
    for name in ("n" * 5000, "a\x1b[31mb"):
        Folder(tmp_path / "study").write_json("study", {"name": name, "scale": ""})
        done = here("report", "study", "--draw", "0")
        assert (done.returncode, done.stderr.count("\n"), "\x1b" in done.stderr) == (0, 1, False)
        assert len(done.stderr) < 1600
