"""Progress on a terminal and in a log, with the time remaining."""

from __future__ import annotations

import re

import pytest

from unbraid import progress as module
from unbraid.progress import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds on the clock, as the only item of a list."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_every_half_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("training", 100) as advance:
        for _ in range(10):
            clock[0] += 10
            advance(5, note="loss 3")
    assert capsys.readouterr().err.splitlines() == [
        "training: 15% after 30 s, about 0:02:50 remaining  loss 3",  # 10 s for 5, counted from the first 5
        "training: 30% after 60 s, about 0:02:20 remaining  loss 3",
        "training: 45% after 90 s, about 0:01:50 remaining  loss 3",
    ]


def test_what_an_earlier_run_did_does_not_count_for_the_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("training", 1000) as advance:
        advance(900)
        clock[0] += 30
        advance(30)
    assert capsys.readouterr().err == "training: 93% after 30 s, about 0:01:10 remaining\n"


def test_the_time_remaining_of_an_unknown_total_is_not_guessed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("reading", None) as advance:
        advance(1)
        clock[0] += 40
        advance(1500)
    assert capsys.readouterr().err == "reading: 1,501 after 40 s\n"


def test_a_terminal_has_a_bar_with_the_time_remaining(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even where a single job takes ten minutes."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr("rich.console.monotonic", lambda: clock[0])
    with progress("jobs", 10, delay=0) as advance:
        for _ in range(3):
            clock[0] += 600
            advance()
    text = capsys.readouterr().err
    assert "1:10:00" in text
    assert "remaining" in text


def test_a_narrow_terminal_keeps_the_time_remaining(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("rich.console.monotonic", lambda: clock[0])
    note = "loss 123.4  reconstruction 100.2  kl 20.1  total_correlation 3.1  more 1.0"
    with progress("stage 12: 8 models to 120,000 steps, and more words than fit", 10, delay=0) as advance:
        for _ in range(3):
            clock[0] += 600
            advance(note=note)
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "1:10:00 remaining loss 123.4" in line
    assert "stage 12" in line


def test_short_work_and_silenced_processes_show_nothing(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("quick", 2) as advance:
        advance()
    monkeypatch.setattr(module, "_silent", True)
    with progress("long", 2) as advance:
        clock[0] += 100
        advance()
    assert capsys.readouterr().err == ""
