"""Figures that other processes draw are those that are drawn here."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing

from unbraid.pictures import style
from unbraid.report import Figure, Section, page
from unbraid.report.rendering import rendering


def panel(words: str) -> Drawing:
    drawing, axes = style.panels(1, 1)
    axes[0, 0].plot([0, 1], [1, 0], "o-")
    axes[0, 0].set_title(words)
    return drawing


def process() -> Drawing:
    """A drawing that says which process drew it."""
    return panel(f"process {os.getpid()}")


def fails() -> Drawing:
    raise ValueError("there is nothing to draw")


def dies() -> Drawing:
    """A drawing that no process but the first survives."""
    if os.environ["UNBRAID_TEST_PROCESS"] != str(os.getpid()):
        os._exit(3)
    return panel("drawn all the same")


def no_runs(labels: object, x: object, y: object) -> list[int | None]:
    return []


def test_other_processes_draw_the_same() -> None:
    figures = [Figure(f"f{number}", f"title {number}", partial(panel, f"words {number}")) for number in range(5)]
    figures.append(Figure("drawn", "a drawing", panel("drawn before")))
    figures.append(Figure("local", "a closure, which cannot be sent", lambda: panel("here")))
    with rendering(figures, no_runs, workers=2) as render:
        elsewhere = [render(figure) for figure in figures]
    with rendering(figures, no_runs) as render:
        here = [render(figure) for figure in figures]
    assert elsewhere == here
    assert len({one.svg for one in here}) == len(figures)


def test_they_are_drawn_by_other_processes() -> None:
    figures = [Figure("a", "a", process), Figure("b", "b", process)]
    with rendering(figures, no_runs, workers=2) as render:
        assert all(f"process {os.getpid()}" not in render(figure).svg for figure in figures)
    with rendering(figures, no_runs) as render:
        assert all(f"process {os.getpid()}" in render(figure).svg for figure in figures)


def test_a_fault_of_a_drawing_is_raised_and_a_death_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_TEST_PROCESS", str(os.getpid()))
    drawn = {"good": partial(panel, "good"), "bad": fails, "deadly": dies}
    good, bad, deadly = figures = [Figure(name, name, function) for name, function in drawn.items()]
    with rendering(figures, no_runs, workers=2) as render:
        assert "good" in render(good).svg
        assert "drawn all the same" in render(deadly).svg
        with pytest.raises(ValueError, match="nothing to draw"):
            render(bad)


def test_files_for_papers_are_made_where_asked_for_or_runs_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = pd.DataFrame({"run": [str(tmp_path / "a"), str(tmp_path / "b")], "state": "done"})
    sections = [Section("s", "", [Figure("f", "f", partial(panel, "words"))])]
    for many, pdf, expected in [(3, None, True), (2, None, False), (2, True, True), (3, False, False)]:
        monkeypatch.setattr(page, "MANY_RUNS", many)
        out = tmp_path / "page"  # the same each time: a file of an earlier page would show something else
        text = page.write("t", sections, runs, out, 0, pdf=pdf).read_text()
        assert (out / "figures" / "f.pdf").exists() == expected
        assert ('href="figures/f.pdf"' in text) == expected


def test_processes_that_draw_do_without_torch() -> None:
    """It would cost each of them a second and a fifth of a gigabyte."""
    program = "import sys, unbraid.report.rendering, unbraid.studies.assumptions.analysis; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn"} & set(done.stdout.split())
