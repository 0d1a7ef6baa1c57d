"""What the machine refuses or lacks is said in one line: room on the disk, a reader, an alphabet, locks."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.command import Here
from tests.examples.toy_jobs import tiny
from unbraid.runs.folder import Folder
from unbraid.runs.recording import train

NAME = "β-Ω"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run whose name Latin-1 does not have, and more of its folders than a pipe holds text of."""
    folder = tmp_path_factory.mktemp("runs")
    job = tiny(steps=1, protocol=None)
    train(
        job.method, job.open(), steps=1, samples=job.samples, protocol=None, out=folder / NAME, precision="fp32",
        **job.settings,
    )  # fmt: skip
    for number in range(400):
        (folder / f"{'n' * 200}{number}").mkdir()
        os.link(folder / NAME / "config.json", folder / f"{'n' * 200}{number}" / "config.json")
    return folder


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which `unbraid` is the command."""
    function = f'unbraid() {{ "{sys.executable}" -m unbraid.cli "$@"; }}; set -o pipefail; '
    return subprocess.run(
        ["bash", "-c", function + command], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_a_reader_that_has_read_enough_is_no_fault(runs: Path) -> None:
    done = shell(f"unbraid runs {runs} --csv | head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("run,id,state")
    assert done.stdout.count("\n") == 1


def test_a_closed_or_a_full_output(runs: Path) -> None:
    closed = shell(f"unbraid runs {runs} >&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = shell(f"unbraid runs {runs} > /dev/full")
    assert (full.returncode, full.stderr) == (2, "unbraid: No space left on device\n")


def test_a_terminal_without_the_alphabet_gets_the_codes_of_the_letters(runs: Path) -> None:
    done = shell(f"unbraid runs {runs} --csv --where state=done", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"/\u03b2-\u03a9," in done.stdout


def test_a_report_that_finds_no_room_leaves_the_one_that_was_there(runs: Path, tmp_path: Path, here: Here) -> None:
    command = ("report", str(runs / NAME), "--out", str(tmp_path / "report"), "--draw", "0")
    assert here(*command).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 2000):  # bytes of a file, as on a full disk: for none, and for the beginning of a PDF
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            done = here(*command)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert done.returncode == 2
        assert done.stderr.startswith(f"unbraid: cannot write {tmp_path / 'report'}")
        assert done.stderr.endswith(": File too large\n")
        assert done.stderr.count("\n") == 1
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_file_system_without_locks(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    Folder(tmp_path / "out").write_json("study", {"name": "assumptions", "scale": "smoke"})
    Folder(tmp_path / "out").write_json("plan", {"ids": ["one"], "labels": ["x"], "seconds": [1.0]})
    (tmp_path / "out" / "leases").mkdir()
    (tmp_path / "out" / "leases" / "one").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    status = here("study", "status", str(tmp_path / "out"), "--once")
    assert status.returncode == 2
    assert "is on a file system without file locks" in status.stderr
    assert status.stderr.count("\n") == 1
