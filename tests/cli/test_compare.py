"""`unbraid compare`, from the forecast to the page."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from tests.examples.command import Here
from tests.examples.toy_jobs import Now
from unbraid.studies import comparison

TINY = (
    "compare", "beta_tc_vae", "--against", "beta_vae", "--data", "dsprites", "--seeds", "1", "--strengths", "2",
    "--sweep-seeds", "1", "--steps", "4", "--metrics", "mig,modularity", "--samples", "200", "--resolution", "16",
    "--set", "latents=3", "--set", "batch_size=8", "--workers", "1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs too, and a short measurement."""
    monkeypatch.setattr(import_module("unbraid.cli._engine"), "LocalExecutor", lambda *_, **__: Now())
    monkeypatch.setattr(comparison, "measure", partial(comparison.measure, seconds=0.1))


def test_one_command_ends_in_a_page_and_again_does_nothing(here: Here, tmp_path: Path) -> None:
    out = str(tmp_path / "comparison")
    forecast = here(*TINY, "--out", out, "--forecast")
    assert forecast.returncode == 0, forecast.stderr
    assert "6 models of 4 steps, 1 at a time" in forecast.stdout
    trials = r"measuring speed first: 2 short trials \(2 methods on dsprites, and scoring\), 1 at a time"
    assert re.search(rf"{trials}, about \d+ seconds\n", forecast.stderr)
    assert "to train them: unbraid compare beta_tc_vae --against beta_vae" in forecast.stderr
    assert "--forecast" not in forecast.stderr
    assert not Path(out).exists(), "a forecast trains nothing"
    done = here(*TINY, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "6 done" in done.stdout
    page = tmp_path / "comparison" / "report" / "report.html"
    assert str(page) in done.stdout
    text = page.read_text()
    assert "β-TCVAE against β-VAE" in text
    assert "Differences from β-VAE" in text
    states = {path: path.stat().st_mtime_ns for path in Path(out).glob("jobs/*/state.json")}
    assert len(states) == 6
    again = here(*TINY, "--out", out, "--baseline", "beta_tc_vae")
    assert f"resuming the comparison in {out}, with 4 steps per model" in again.stderr
    assert "6 models: 6 done\n" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in states} == states
    assert "Differences from β-TCVAE" in page.read_text()
    shutil.rmtree(next(iter(states)).parent)
    rest = here(*TINY, "--out", out, "--forecast")
    assert re.search(r"6 models: 5 done, 1 remaining, about \d+ minutes\n", rest.stdout)
    assert len(list(Path(out).glob("jobs/*/state.json"))) == 5, "a forecast trains nothing"
    assert "all" in here("study", "status", out, "--once").stdout


def test_a_stopped_forecast_says_how_to_train(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "measure", interrupt)
    stopped = here(*TINY, "--out", "new", "--forecast")
    assert stopped.returncode == 130
    assert stopped.stderr.endswith("--workers 1 --out new\n")
    assert "stopped; nothing was trained; to train: unbraid compare beta_tc_vae" in stopped.stderr
    assert "; to resume: unbraid compare beta_tc_vae" in here(*TINY, "--out", "new").stderr


def test_another_comparison_is_refused_by_what_differs(here: Here, tmp_path: Path) -> None:
    out = tmp_path / "other"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    refused = here(*TINY, "--out", str(out))
    assert refused.returncode == 2
    assert "holds something other than a comparison" in refused.stderr
    plan = {"methods": ["beta_tc_vae", "factor_vae"], "data": ["dsprites"], "steps": 4}
    (out / "comparison.json").write_text(json.dumps(plan))
    refused = here(*TINY, "--out", str(out))
    assert refused.returncode == 2
    assert "methods is beta_tc_vae, factor_vae, not beta_tc_vae, beta_vae" in refused.stderr
