from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from tests.examples.command import Here
from unbraid.cli import demo
from unbraid.methods import METHODS
from unbraid.metrics import PROTOCOLS

BAD = [
    (["data", "show", "dsprits"], "there is no data set 'dsprits'; did you mean 'dsprites'?"),
    (["data", "show", "dsprites", "--resolution", "3"], "resolution is 3; expected a whole number from 4 to 256"),
    (["data", "show", "dsprites", "--resolution", "big"], "'big' is not a valid integer"),
    (["data", "show", "dsprites", "--resolutoin", "32"], "No such option"),
    (["data", "show", "dsprites", "--set", "colour=1"], "data set 'dsprites' has no setting 'colour'"),
    (["data", "show", "dsprites", "--set", "colour"], "expected NAME=VALUE"),
    (["data", "show"], "Missing argument 'NAME'"),
    (["data", "get", "dsprites"], "'dsprites' needs no file"),
    (["data", "get", "shapes"], "there is no data set 'shapes'; did you mean 'shapes3d"),
    (["train", "beta_va", "--data", "dsprites"], "there is no command 'beta_va'; did you mean 'beta_vae'?"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--bta", "3"], "No such option"),
    (["train", "beta_vae", "--data", "dsprites"], "Missing option '--steps'"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--beta", "-1"], "beta is -1.0; expected at least 0"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--resolution", "30"], "cannot take images of 30 x"),
    (["train", "beta_vae", "--data", "dsprites", "--steps", "5", "--seed", "-1"], "seed is -1; expected at least 0"),
    (["report", ".", "--draw", "-1"], "draw is -1; expected at least 0"),
    (["report", ".", "--explore", "-1"], "explore is -1; expected at least 0"),
    (["report", ".", "--readme", "a.md"], ". holds no study; only a study's report has verdicts for a README"),
    (["runs", "."], ". holds no runs"),
    (["score", "/dev/zero"], "/dev/zero is a device; expected a run, or a file of .npz"),
    (["show", "nowhere"], "nowhere is not a run: it has no config.json"),
    (["dmeo"], "there is no command 'dmeo'; did you mean 'demo'?"),
    (["data", "lst"], "there is no command 'lst'; did you mean 'list'?"),
]


def unbraid(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unbraid.cli", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120
    )


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, here: Here, tmp_path: Path) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_show_writes_the_same_sheet_in_two_processes(tmp_path: Path, here: Here) -> None:
    command = ("data", "show", "color_dsprites", "--resolution", "32", "--out")
    for done in (here(*command, "a.png"), unbraid(*command, "b.png", cwd=tmp_path)):
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert Image.open(tmp_path / "a.png").width > 12 * 64


def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path, here: Here) -> None:
    (tmp_path / "file").write_text("in the way")
    done = here("data", "show", "dsprites", "--resolution", "32", "--out", "file/x.png")
    assert done.returncode == 2
    assert done.stderr.startswith("unbraid: cannot write file/x.png")


def test_list_says_what_is_a_look_alike(here: Here) -> None:
    done = here("data", "list")
    assert done.stderr == ""
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "737,280" in lines["dsprites"]
    assert "look-alike" in lines["shapes3d"]
    assert "look-alike" in lines["arm3d"]
    assert lines["dsprites"].rstrip().endswith("yes")


def test_demo_draws_trains_and_explores(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert demo.SHARED["protocol"] in PROTOCOLS  # DCI of four models would take ten seconds
    monkeypatch.setattr(demo, "SHARED", demo.SHARED | {"samples": 1000, "protocol": {"mig": {}}})
    monkeypatch.setattr("unbraid.explorer.content.IMPORTANCE_LATENTS", 0)
    done = here("demo", "--steps", "20", "--workers", "1", "--no-open")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "4 models: about 1 minute on one core"
    assert lines[1:3] == ["data: demo/data.png", "every data set that needs no download: demo/all_data.png"]
    for name in (f"{method}-{data}-20" for method in ("beta_vae", "beta_tc_vae") for data in ("shapes3d", "dsprites")):
        assert f"demo/{name}/reconstructions.png, traversals.png, traversals.gif" in lines
        assert (tmp_path / "demo" / name / "traversals.gif").exists()
        assert json.loads((tmp_path / "demo" / name / "config.json").read_text())["precision"] == "fp32"
    assert lines[-2] == "report: demo/report/report.html"
    assert lines[-1] == "explorer, with sliders for each model: demo/explorer.html"
    assert (tmp_path / "demo" / "explorer.html").read_text().count('<script type="application/json" id="run-') == 4
    again = here("demo", "--steps", "20", "--no-open")
    assert again.stdout.count("is done already") == 4


TRAIN = ["--data", "dsprites", "--resolution", "16", "--network", "small", "--steps", "20", "--out", "run"]


def test_train_runs_and_show(here: Here) -> None:
    done = here("train", "beta_vae", *TRAIN, "--beta", "2.5", "--latents", "3", "--protocol", "none")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run  done  loss ")
    rows = json.loads(here("runs", ".", "--json").stdout)
    assert [(row["method"], row["settings.beta"], row["settings.latents"]) for row in rows] == [("beta_vae", 2.5, 3)]
    csv = here("runs", ".", "--csv", "--where", "state=done", "--sort", "-beta").stdout
    assert csv.splitlines()[0].startswith("run,id,state,method,data")
    assert len(csv.splitlines()) == 2
    assert here("runs", ".", "--where", "state=failed", "--csv").stdout.count("\n") == 1
    assert here("runs", ".", "--where", "latents=3.0", "--where", "beta=2.50", "--csv").stdout.count("\n") == 2
    assert "--sort: there is no column 'bta'; did you mean" in here("runs", ".", "--sort", "-bta").stderr
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


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """Codes from elsewhere: principal components of scikit-learn's digits, with the digit as the factor."""
    images, labels = load_digits(return_X_y=True)
    codes = PCA(5, random_state=0).fit_transform(images)
    np.savez(tmp_path / "codes.npz", codes=codes, factors=labels, names=["digit"])
    table = pd.DataFrame(codes, columns=[f"z{i}" for i in range(5)]).assign(digit=labels)
    table.to_csv(tmp_path / "codes.csv", index=False)
    return tmp_path


def test_codes_from_elsewhere_are_scored(digits: Path, here: Here) -> None:
    done = here("score", "codes.npz", "--protocol", "fast", "--importance")
    assert done.returncode == 0, done.stderr
    assert "protocol fast, seed 0, rows: 1,000 train, 500 test, 1,797 all" in done.stdout
    assert done.stdout.splitlines()[0] == "5 codes, 1 factor, 1,797 rows"
    record = json.loads((digits / "codes.npz.scores.json").read_text())
    assert 0.05 < record["scores"]["mig"] < 0.3
    assert record["scores"]["dci.informativeness"] > 0.7
    assert record["noise"]["dci.informativeness"] < 0.2 < record["perfect"]["dci.informativeness"] == 1
    assert list(record["details"]["dci"]["per_factor"]) == ["digit"]
    assert Image.open(digits / "codes.npz.importance.png").width > 800
    again = here("score", "codes.csv", "--factors", "digit", "--protocol", "fast", "--no-baseline", "--details")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[1].split() == ["score", "value"]
    assert "per code" in again.stdout
    assert "\ncodes: z0, z1, z2, z3, z4; factors: digit (ordered)\n" in again.stdout
    assert json.loads((digits / "codes.csv.scores.json").read_text())["scores"] == pytest.approx(record["scores"])


def test_scores_with_intervals_and_of_a_run(tmp_path: Path, here: Here) -> None:
    coarse = ("--set", "coarse=orientation=8,x=8,y=4")  # fewer classes to fit for DCI
    assert here("train", "beta_vae", *TRAIN, *coarse, "--protocol", "fast").returncode == 0
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert here("score", "run", "--metrics", "mig").stdout.splitlines()[-1].endswith("run.scores.json")
    assert (
        here("score", "run/codes.npz", "--metrics", "mig").stdout.splitlines()[-1].endswith("run.codes.npz.scores.json")
    )
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before  # the run is as it was
    done = here("score", "run", "--metrics", "mig,irs", "--confidence", "0.9", "--update")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:4]] == ["score", "mig", "irs"]
    assert done.stdout.splitlines()[1].split() == ["score", "value", "noise", "perfect", "low", "high"]
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())["scores"]
    assert scores["irs.low"] <= scores["irs"] <= scores["irs.high"]
    assert {"elbo", "kl", "total_correlation_sampled"} <= scores.keys()  # what only the training run could measure
    assert "dci.disentanglement" not in scores


def test_an_encoder_in_a_file_is_scored_on_data(tmp_path: Path, here: Here) -> None:
    (tmp_path / "mine.py").write_text("def encode(images):\n    return images[:, :, ::8, ::8].flatten(1)\n")
    command = ["score", "mine.py:encode", "--data", "dsprites", "--resolution", "32", "--samples", "600"]
    done = here(*command, "--metrics", "mig,irs", "--ignore", "shape", "--types", "x=continuous", "--details")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "16 codes, 4 factors, 600 rows"
    assert "note: mig: without the continuous factor 'x'" in done.stdout
    assert "factors: scale, orientation (ordered), x (continuous), y (ordered)\n" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("mig") and "continuous" in line)
    assert row.split()[3] == "continuous", "the cell says why it has no value"
    assert (
        "\ncontinuous: the metric cannot use such a factor; if it has few values: --types NAME=ordered\n" in done.stdout
    )
    record = json.loads((tmp_path / "mine.encode.dsprites.scores.json").read_text())
    assert record["factors"] == {"scale": "ordered", "orientation": "ordered", "x": "continuous", "y": "ordered"}


SCORE_BAD = [
    (["mine.py:encode"], "mine.py:encode is an encoder; say which data to score it on with --data"),
    (["mine.py:encode", "--data", "dsprites"], "there is no file mine.py"),
    (["codes.npz", "--data", "dsprites"], "--data is for encoders (FILE.py:NAME, TorchScript, ONNX)"),
    (["codes.npz", "--update"], "--update replaces the scores of a run in a local folder"),
    (["codes.npz", "--types", "digit=word"], "the type of factor 'digit' is 'word'; expected classes, ordered"),
    (["codes.npz", "--ignore", "digt"], "codes.npz has no column 'digt'; did you mean 'digit'?"),
    (["nothing.npz"], "nothing.npz does not exist"),
    (["codes.npz", "--protocol", "dlb"], "there is no protocol 'dlb'; did you mean 'dlib'?"),
    (["codes.npz", "--metrics", "mg"], "there is no metric 'mg'; did you mean 'mig'?"),
    (["codes.npz", "--confidence", "95"], "confidence is 95.0; expected a number between 0 and 1"),
    (["codes.csv"], "say which columns of codes.csv are factors with --factors"),
    (["codes.csv", "--factors", "digt"], "has no column 'digt'; did you mean 'digit'?"),
    (["nan.npz"], "codes column 2 is nan at row 7; expected finite numbers"),
    (["short.npz"], "there are 1797 rows of codes but 10 of factors"),
    (["codes.npz", "--metrics", "active_units", "--importance"], "none of the metrics has a matrix to draw"),
]


@pytest.mark.parametrize(("arguments", "message"), SCORE_BAD, ids=[" ".join(arguments) for arguments, _ in SCORE_BAD])
def test_bad_codes_are_one_line(arguments: list[str], message: str, digits: Path, here: Here) -> None:
    codes = np.load(digits / "codes.npz")["codes"]
    np.savez(digits / "short.npz", codes=codes, factors=np.zeros(10, int))
    codes[7, 2] = np.nan
    np.savez(digits / "nan.npz", codes=codes, factors=np.zeros(len(codes), int))
    done = here("score", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
