"""Where the tests keep drawn data, and where they look for what a developer's machine may hold beside the clone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.command import Done, Here

ROOT = Path(__file__).parents[1]
os.environ["UNBRAID_CACHE"] = str(ROOT / ".cache")
os.environ["UNBRAID_STATE"] = str(ROOT / ".cache" / "state")
os.fsync = lambda file: None  # type: ignore[assignment]  # waiting for the disk is most of what tiny runs do
os.environ["OMP_NUM_THREADS"] = "1"  # tests run side by side; torch reads it when it is imported


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """`shared("data/x.npz")`: a file of the folder beside the clone; skips the test, saying so, where it is absent."""

    def find(name: str) -> Path:
        path = ROOT.parent / "shared" / name
        if not path.exists():
            pytest.skip(f"../shared/{name} is not on this machine")
        return path

    return find


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with nothing in it."""
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """`here("data", "list")`: the command in this process, in an empty folder."""
    from unbraid import cli

    def run(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["unbraid", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return Done(int(stop.value.code or 0), *capsys.readouterr())

    return run
