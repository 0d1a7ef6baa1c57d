from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

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
    (["dmeo"], "there is no command 'dmeo'; did you mean 'demo'?"),
    (["data", "lst"], "there is no command 'lst'; did you mean 'list'?"),
]


def unbraid(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unbraid.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120
    )


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = unbraid(*arguments, cwd=tmp_path)
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


def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = unbraid("data", "show", "dsprites", "--resolution", "32", "--out", "file/x.png", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("unbraid: cannot write file/x.png")


def test_list_says_what_is_a_look_alike() -> None:
    done = unbraid("data", "list")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "737,280" in lines["dsprites"]
    assert "look-alike" in lines["shapes3d"]
    assert "look-alike" in lines["arm3d"]
    assert lines["dsprites"].rstrip().endswith("yes")


def test_demo_draws_every_embedded_data_set(tmp_path: Path) -> None:
    done = unbraid("demo", "--resolution", "16", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 data sets, 4,465,920 images: demo/data.png" in done.stdout.replace("\\", "/").replace("\n", "")
    assert (tmp_path / "demo" / "data.png").exists()
