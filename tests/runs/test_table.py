from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import unbraid
from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.runs.run import Run
from unbraid.runs.table import find_runs, load_runs
from unbraid.runs.weights import FORMAT, digest


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny(tmp_path_factory.mktemp("record") / "run", steps=5)


@pytest.fixture
def run(trained: Run, tmp_path: Path) -> Run:
    """A copy that a test may spoil."""
    return Run(shutil.copytree(trained.folder, tmp_path / "runs" / "one"))


def test_a_table_of_runs(run: Run) -> None:
    tiny(run.folder.parent / "two", steps=5, beta=8.0, seed=3)
    table = load_runs(run.folder.parent)
    assert table["state"].tolist() == ["done", "done"]
    assert table["settings.beta"].tolist() == [4.0, 8.0]
    assert table["seed"].tolist() == [0, 3]
    assert table["data"].tolist() == ["dsprites", "dsprites"]
    assert table["terms.kl"].notna().all()
    assert [found.folder.name for found in find_runs(run.folder.parent)] == ["one", "two"]


def test_scores_become_columns(run: Run) -> None:
    run.path("scores").write_text(json.dumps({"scores": {"mig": 0.5, "dci.disentanglement": 0.25}}))
    assert load_runs(run.folder)[["scores.mig", "scores.dci.disentanglement"]].iloc[0].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("name", ["config", "state", "scores"])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', "\x00\xff"])
def test_damaged_files_never_stop_the_table(run: Run, name: str, content: str) -> None:
    run.path(name).write_text(content)
    table = load_runs(run.folder.parent)
    assert len(table) == 1
    if not (name == "scores" and content == '{"a": 1}'):
        assert table["state"][0] == "damaged"
        assert table["reason"][0]


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a run: it has no config\.json"):
        unbraid.load(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        load_runs(tmp_path / "nowhere")
    assert load_runs(tmp_path).empty


def rewrite(run: Run, tensors: dict[str, torch.Tensor], version: str = FORMAT) -> None:
    save_file(tensors, run.path("model"), metadata={"format": f"{version} {digest(tensors)}"})


def test_model_files_that_do_not_fit_are_named(run: Run) -> None:
    good = load_file(run.path("model"))
    first = "encoder.0.weight"
    spoilt = {
        "has no tensor 'encoder.0.weight'": lambda: rewrite(run, {k: v for k, v in good.items() if k != first}),
        "has a tensor 'more' that BetaVAE does not know": lambda: rewrite(run, {**good, "more": torch.zeros(1)}),
        r"'encoder.0.weight' has shape \(1,\); expected \(16, 1, 4, 4\)": lambda: rewrite(
            run, {**good, first: torch.zeros(1)}
        ),
        "has format 'unbraid 0'; this version reads 'unbraid 1'": lambda: rewrite(run, good, version="unbraid 0"),
        "has format ''": lambda: save_file(good, run.path("model")),
        "is damaged: its checksum differs": lambda: save_file(
            good, run.path("model"), metadata={"format": f"{FORMAT} 0"}
        ),
        "model.safetensors is damaged": lambda: run.path("model").write_bytes(b"not safetensors at all"),
        "has no trained model": lambda: run.path("model").unlink(),
    }
    for message, spoil in spoilt.items():
        spoil()
        with pytest.raises(InputError, match=message):
            unbraid.load(run.folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"nothing"])
def test_codes_that_cannot_be_read_are_named(run: Run, content: bytes) -> None:
    run.path("codes").write_bytes(content)
    with pytest.raises(InputError, match=r"codes.npz cannot be read as an .npz file of codes"):
        run.representation()


def test_weights_alone_are_kept(run: Run) -> None:
    assert not [name for name in load_file(run.path("model")) if name.startswith("training.")]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("scores", '{"scores": {"mig": Infinity}}', "expected an object of finite numbers"),
        ("scores", '{"scores": {"mig": "high"}}', "expected an object of finite numbers"),
        ("config", '{"id": "a", "method": "\\u001b[31m"}', "'method' is .*; expected a word"),
        ("config", "[" * 100_000, "is damaged: "),
    ],
)
def test_what_is_wrong_with_one_run_is_said_of_that_run(run: Run, name: str, content: str, reason: str) -> None:
    shutil.copytree(run.folder, run.folder.parent / "sound")
    run.path(name).write_text(content)
    if name == "scores":
        run.seal()
    table = load_runs(run.folder.parent)
    assert table["state"].tolist() == ["damaged", "done"]
    assert re.search(reason, table["reason"][0])
    if name == "scores":
        assert table["method"].tolist() == ["beta_vae", "beta_vae"], "what is known of it is still said"


def test_names_that_cannot_be_printed_are_damage(run: Run) -> None:
    run.folder.rename(run.folder.parent / os.fsdecode(b"\xff\x1b[31m"))
    table = load_runs(run.folder.parent)
    assert table["state"].tolist() == ["damaged"]
    assert table["run"][0].isprintable()
    assert "rename it" in table["reason"][0]


def test_folders_that_cannot_be_listed_are_named(run: Run) -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as above:  # pytest's own folders are for the owner alone
        Path(above).chmod(0o755)
        shutil.copytree(run.folder, Path(above) / "sound")
        (Path(above) / "closed").mkdir(mode=0)
        if user == 0:
            os.seteuid(65534)  # root could list it
        try:
            table = load_runs(above)
        finally:
            os.seteuid(user)
    assert table["state"].tolist() == ["damaged", "done"]
    assert table["run"][0].endswith("closed")
    assert "cannot be read: Permission denied" in table["reason"][0]
