from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from PIL import Image

from unbraid import cli
from unbraid.methods import METHODS

BAD = [
    (["data", "show", "dsprits"], "there is no data set 'dsprits'; did you mean 'dsprites'?"),
    (["data", "show", "dsprites", "--resolution", "3"], "resolution is 3; expected a whole number from 4 to 256"),
    (["data", "show", "dsprites", "--resolution", "big"], "'big' is not a valid integer"),
    (["data", "show", "dsprites", "--resolutoin", "32"], "No such option '--resolutoin'. Did you mean '--resolution'"),
    (["data", "show", "dsprites", "--set", "colour=1"], "data set 'dsprites' has no setting 'colour'"),
    (["data", "show", "dsprites", "--set", "colour"], "expected NAME=VALUE"),
    (["data", "show"], "Missing argument 'NAME'"),
    (["data", "get", "dsprites"], "'dsprites' needs no file"),
    (["data", "get", "shapes"], "there is no data set 'shapes'; did you mean 'shapes3d"),
    (["train", "beta_va", "--data", "dsprites"], "there is no command 'beta_va'; did you mean 'beta_vae'?"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--bta", "3"], "No such option '--bta'"),
    (["train", "beta_vae", "--data", "dsprites"], "Missing option '--steps'"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--beta", "-1"], "beta is -1.0; expected at least 0"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--resolution", "30"], "cannot take images of 30 x"),
    (["runs", "."], ". holds no runs"),
    (["show", "nowhere"], "nowhere is no run: it has no config.json"),
    (["dmeo"], "there is no command 'dmeo'; did you mean 'demo'?"),
    (["data", "lst"], "there is no command 'lst'; did you mean 'list'?"),
]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Here(Protocol):
    def __call__(self, *arguments: str) -> Done: ...


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command in this process, in an empty folder: a process of its own takes seconds to start."""

    def run(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["unbraid", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return Done(int(stop.value.code or 0), *capsys.readouterr())

    return run


def unbraid(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unbraid.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120
    )


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, here: Here, tmp_path: Path
) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_show_writes_the_same_sheet_in_two_processes(tmp_path: Path) -> None:
    for name in ["a.png", "b.png"]:
        done = unbraid("data", "show", "color_dsprites", "--resolution", "32", "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert Image.open(tmp_path / "a.png").width > 12 * 64


def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path, here: Here) -> None:
    (tmp_path / "file").write_text("in the way")
    done = here("data", "show", "dsprites", "--resolution", "32", "--out", "file/x.png")
    assert done.returncode == 2
    assert done.stderr.startswith("unbraid: cannot write file/x.png")


def test_list_says_what_is_a_look_alike() -> None:
    done = unbraid("data", "list")
    assert done.stderr == ""
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "737,280" in lines["dsprites"]
    assert "look-alike" in lines["shapes3d"]
    assert "look-alike" in lines["arm3d"]
    assert lines["dsprites"].rstrip().endswith("yes")


def test_demo_draws_trains_and_shows(tmp_path: Path, here: Here) -> None:
    done = here("demo", "--steps", "20")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "data.png").exists()
    for method in ("beta_vae", "beta_tc_vae", "factor_vae"):
        folder = tmp_path / "demo" / f"{method}-20"
        assert {"traversals.gif", "traversals.png", "reconstructions.png"} <= {path.name for path in folder.iterdir()}
        assert f"demo/{method}-20" in done.stdout
    again = here("demo", "--steps", "20")
    assert "is done already" in again.stdout


TRAIN = ["--data", "dsprites", "--resolution", "16", "--network", "small", "--steps", "20", "--out", "run"]


def test_train_runs_and_show(here: Here) -> None:
    done = here("train", "beta_vae", *TRAIN, "--beta", "2.5", "--latents", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run  done  loss ")
    rows = json.loads(here("runs", ".", "--json").stdout)
    assert [(row["method"], row["settings.beta"], row["settings.latents"]) for row in rows] == [("beta_vae", 2.5, 3)]
    csv = here("runs", ".", "--csv", "--where", "state=done", "--sort", "-beta").stdout
    assert csv.splitlines()[0].startswith("run,id,state,method,data")
    assert len(csv.splitlines()) == 2
    assert here("runs", ".", "--where", "state=failed", "--csv").stdout.count("\n") == 1
    assert here("show", "run", "--out", "pictures").stdout.count("\n") == 3


def test_train_says_when_it_diverges(tmp_path: Path) -> None:
    done = unbraid("train", "beta_vae", *TRAIN, "--learning-rate", "1e20", cwd=tmp_path)
    assert done.returncode == 1
    assert "unbraid: diverged: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_setting_is_a_flag_with_help(here: Here) -> None:
    for name, method in METHODS.items():
        text = " ".join(here("train", name, "--help").stdout.split())
        for field in dataclasses.fields(method.config_class):
            assert f"--{field.name.replace('_', '-')} " in text
