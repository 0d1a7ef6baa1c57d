from __future__ import annotations

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from tests.examples import toy_jobs
from tests.examples.toy_jobs import Now, told
from unbraid import cli
from unbraid.own import Source

TOYS = Path(toy_jobs.__file__)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Here(Protocol):
    def __call__(self, *arguments: str) -> Done: ...


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command in this process, in an empty folder, its jobs too."""
    monkeypatch.setattr(import_module("unbraid.cli._engine"), "LocalExecutor", lambda *_, **__: Now())
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> Done:
        monkeypatch.setattr("sys.argv", ["unbraid", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return Done(int(stop.value.code or 0), *capsys.readouterr())

    return command


def test_run_and_status_of_a_file(here: Here, tmp_path: Path) -> None:
    done = here("study", "run", str(TOYS), "--scale", "broken", "--out", "mine")
    assert (done.returncode, done.stdout) == (0, "mine  4 done\n")
    shown = here("study", "status", "mine")
    assert shown.returncode == 0
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["needy", "1"] in lines
    assert ["all", "4"] in lines
    about = json.loads((tmp_path / "mine" / "study.json").read_text())
    assert about == {"name": "toy_jobs.py", "scale": "broken", "code": Source.read(TOYS).key}


def test_failures_are_told_and_tried_again(here: Here, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "trouble").touch()
    command = ("study", "run", str(TOYS), "--scale", "broken", "--out", "mine")
    done = here(*command)
    assert (done.returncode, done.stdout) == (1, "mine  2 done, 2 failed\n")
    assert "failed: ArithmeticError: two and two are five" in done.stderr
    assert "--retry failed" in done.stderr
    (tmp_path / "mine" / "trouble").unlink()
    assert here(*command).returncode == 1
    done = here(*command, "--retry", "failed")
    assert (done.returncode, done.stdout) == (0, "mine  4 done\n")


def test_jobs_by_number_and_what_they_need(here: Here, tmp_path: Path) -> None:
    assert here("study", "run", str(TOYS), "--scale", "broken", "--jobs", "1").stdout.endswith("2 done\n")
    assert told(tmp_path / "runs" / "toy_jobs-broken", "end") == ["bad", "needy"]
    done = here("study", "run", str(TOYS), "--scale", "broken", "--jobs", "0-2")
    assert done.stdout == "runs/toy_jobs-broken  3 done\n"


def test_verify_reads_every_file(here: Here, tmp_path: Path) -> None:
    command = ("study", "run", str(TOYS), "--scale", "broken", "--out", "mine")
    here(*command)
    path = next((tmp_path / "mine" / "jobs").glob("other-*")) / "note.json"
    stat = path.stat()
    path.write_text(path.read_text().replace("other", "ohter"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "damaged" not in here(*command).stderr
    done = here(*command, "--verify")
    assert "note.json is damaged: its checksum differs; set aside as mine/damaged/other-" in done.stderr
    assert done.returncode == 0


def test_the_example_of_the_page_runs(here: Here, tmp_path: Path) -> None:
    page = (TOYS.parents[2] / "docs" / "studies.md").read_text()
    example, report, _ = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "mine.py").write_text(f"{example}\n\n{report}")
    done = here("study", "run", "mine.py", "--scale", "smoke", "--workers", "2")
    assert (done.returncode, done.stdout) == (0, "runs/mine-smoke  6 done\n"), done.stderr
    spread = next(tmp_path.glob("runs/mine-smoke/jobs/spread-*/spread.json"))
    assert set(json.loads(spread.read_text())) == {"low", "high"}
    shown = here("study", "status", "runs/mine-smoke").stdout
    assert ["all", "6"] in [line.split() for line in shown.splitlines()]
    assert here("report", "runs/mine-smoke", "--draw", "0").returncode == 0
    assert "MIG by β</h2>" in (tmp_path / "runs/mine-smoke/report/report.html").read_text()


def test_the_known_studies_are_listed(here: Here) -> None:
    done = here("study", "list")
    assert done.returncode == 0
    rows = [line.split()[:3] for line in done.stdout.splitlines()[1:]]
    assert ["assumptions", "paper", "13,020"] in rows
    assert {row[1] for row in rows if row[0] == "assumptions"} == {"smoke", "desk", "paper", "dlib"}


FILES_OF_STUDIES = {
    "syntax.py": "def jobs(scale:\n",
    "nojobs.py": "X = 1\n",
    "strings.py": "def jobs(scale):\n    return ['beta_vae']\n",
    "setting.py": "from unbraid.jobs import Train\ndef jobs(scale):\n"
    "    return [Train('beta_vae', 'dsprites', steps=3, settings={'bta': 2.0})]\n",
    "notes.txt": "hello\n",
}
BAD = [
    (["study", "rn"], "there is no command 'rn'; did you mean 'run'?"),
    (["study", "run"], "Missing argument 'NAME|PATH'"),
    (["study", "run", "assumption"], "there is no study 'assumption'; did you mean 'assumptions'?"),
    (["study", "run", "nowhere.py"], "there is no file nowhere.py"),
    (["study", "run", "syntax.py"], "syntax.py cannot be imported: SyntaxError: "),
    (["study", "run", "nojobs.py"], "nojobs.py has no function jobs(scale)"),
    (["study", "run", "notes.txt"], "notes.txt is not a Python file"),
    (["study", "run", "strings.py"], "jobs('smoke') gives a str; expected jobs, such as Train"),
    (["study", "run", "setting.py"], "there is no setting 'bta'; did you mean 'beta'?"),
    (["study", "run", "assumptions", "--scale", "smok"], "there is no scale 'smok'; did you mean 'smoke'?"),
    (["study", "run", str(TOYS), "--scale", "not"], "there is no scale 'not'; did you mean 'notes'?"),
    (["study", "run", "assumptions", "--workers", "0"], "workers is 0; expected at least 1"),
    (["study", "run", "assumptions", "--workers", "two"], "'two' is not a valid integer"),
    (["study", "run", "assumptions", "--engine", "rya"], "'rya' is not one of 'local', 'ray', 'slurm'"),
    (["study", "run", "assumptions", "--partition", "gpu"], "--partition is gpu, and the engine is local; expected"),
    (["study", "run", "assumptions", "--engine", "ray", "--sbatch", "account=lab"], "--sbatch is account=lab, and the"),
    (["study", "run", "assumptions", "--track", "tensorbord"], "there is no tracker 'tensorbord'; did you mean 'tens"),
    (["study", "run", "assumptions", "--jobs", "0-999"], "--jobs got '0-999'; expected numbers from 0 to "),
    (["study", "run", "assumptions", "--jobs", "-1"], "--jobs got '-1'; expected a number or a range"),
    (["study", "run", "assumptions", "--jobs", "5-2"], "--jobs got '5-2'; expected"),
    (["study", "run", "assumptions", "--jobs", "5-"], "--jobs got '5-'; expected a number or a range"),
    (["study", "run", "assumptions", "--address", "auto"], "--address is auto, and the engine is local; expected --en"),
    (["study", "run", "assumptions", "--gpus-per-job", "1"], "--gpus-per-job is 1.0, and the engine is local"),
    (["study", "run", "assumptions", "--memory-limit", "nan"], "--memory-limit is nan; expected a number of gigabytes"),
    (["study", "run", "assumptions", "--jobs", "a"], "--jobs got 'a'; expected a number or a range, such as 17"),
    (["study", "run", "assumptions", "--retry", "all"], "'all' is not 'failed'"),
    (["study", "run", "assumptions", "--out", "notes.txt"], "cannot write to notes.txt: "),
    (["study", "run", "assumptions", "--out", "notes.txt/x"], "cannot write to notes.txt/x: Not a directory"),
    (["study", "run", "assumptions", "--out", "other"], "other holds the study population at scale desk, not a"),
    (["study", "run", "assumptions", "--engine", "ray", "--memory-limit", "1"], "--memory-limit is for local workers"),
    (["study", "status", "nowhere"], "nowhere is not a folder of results: it has no study.json"),
    (["study", "status", "torn"], "study.json is damaged"),
    (["study", "status", "foreign"], "study.json is damaged: it has no name of a study"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments[1:]) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, here: Here, tmp_path: Path) -> None:
    for name, text in FILES_OF_STUDIES.items():
        (tmp_path / name).write_text(text)
    for name, text in {"other": '{"name": "population", "scale": "desk"}', "torn": "{", "foreign": "{}"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.json").write_text(text)
    done = here(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not list(tmp_path.rglob("jobs/*"))


def test_an_unwritable_folder_is_named(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = here("study", "run", str(TOYS), "--scale", "broken", "--out", "mine")
    assert (done.returncode, done.stderr) == (2, "unbraid: cannot write to mine: No space left on device\n")
