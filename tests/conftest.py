"""Where the tests keep drawn data, and where they look for what a developer's machine may hold beside the clone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium that saves downloads into a folder of its own."""
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium with its driver here: apt-get install chromium chromium-driver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    flags = ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking",
             "disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=1280,900",
             f"user-data-dir={tmp_path_factory.mktemp('chromium')}")  # fmt: skip
    for flag in flags:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driving = webdriver.Chrome(options, webdriver.ChromeService(driver))
    driving.set_script_timeout(120)
    driving.downloads = tmp_path_factory.mktemp("downloads")
    driving.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(driving.downloads)})
    yield driving
    driving.quit()
