from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.runs.lease import lease
from unbraid.runs.run import Run
from unbraid.runs.stopping import deferred


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(times: int, events: list[str]) -> None:
    with deferred(lambda line: events.append("said")) as stopped:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            events.append(f"stopped: {stopped()}")


def test_a_signal_takes_effect_at_the_end_of_the_block() -> None:
    events: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(1, events)
    assert events == ["said", "stopped: True"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_takes_effect_at_once() -> None:
    events: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(3, events)
    assert events == ["said", "stopped: True"]


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred(lambda line: None) as stopped:
        os.kill(os.getpid(), signal.SIGINT)
        assert not stopped()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_has_saved_its_state_and_says_how_to_resume(tmp_path: Path, number: int, code: int) -> None:
    flags = ["--data", "dsprites", "--resolution", "16", "--network", "small", "--latents", "4", "--protocol", "none"]
    words = ["train", "beta_vae", *flags, "--steps", "100000", "--every", "5", "--out", "a run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unbraid.cli", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    log = tmp_path / "a run" / "train.jsonl"
    while process.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert said.endswith("; to resume: unbraid " + " ".join(words[:-1]) + " 'a run'\n")
    step = len(log.read_text().splitlines()) * 5
    assert f"stopped at step {step} of 100000" in said
    run = Run(tmp_path / "a run")
    assert run.state["step"] == step
    assert run.path("checkpoint").exists()
    assert not (run.folder / ".lease").exists()


def test_training_continues_after_a_signal_whose_handler_returns(tmp_path: Path) -> None:
    heard: list[bool] = []
    before = signal.signal(signal.SIGUSR2, lambda *_: heard.append(Run(tmp_path / "run").path("checkpoint").exists()))

    def send(run: Run, step: int, terms: dict[str, float]) -> None:
        if step == 20:
            os.kill(os.getpid(), signal.SIGUSR2)

    try:
        run = tiny(tmp_path / "run", on_report=send, checkpoint_seconds=3600.0)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert heard == [True], "its state was saved first"
    assert run.log["step"].tolist() == [10, 20, 30, 40, 50, 60]
    assert run.state["state"] == "done"


def test_one_run_is_trained_by_one_process(tmp_path: Path) -> None:
    with lease(tmp_path / "run" / ".lease", keep=False) as leased:
        assert leased
        with pytest.raises(InputError, match=f"run is being trained by process {os.getpid()}; wait for it"):
            tiny(tmp_path / "run", steps=2)
    assert not (tmp_path / "run" / ".lease").exists()
    assert tiny(tmp_path / "run", steps=2).state["state"] == "done"
    assert not (tmp_path / "run" / ".lease").exists()
