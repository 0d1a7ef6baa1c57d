"""The page of a study from kept results, without its runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.examples.command import Here
from unbraid import studies
from unbraid.report.rendering import MANY_RUNS
from unbraid.report.run_table import RunTable
from unbraid.studies import STUDIES, _to_draw, open_study


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_reports_an_empty_folder(name: str, tmp_path: Path) -> None:
    study = open_study(name)
    sections = study.report(study.table(tmp_path))
    assert sections
    assert all(section.text for section in sections)


def test_a_page_is_made_from_kept_results(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame([
        {"run": f"jobs/{seed}", "state": "done", "method": "beta_vae", "data": "dsprites", "seed": seed,
         "strength": 1.0, "scores.mig": seed / 10}
        for seed in range(3)
    ])  # fmt: skip
    kept = tmp_path / "results"
    RunTable(frame, identity=("strength",)).save(kept / "desk")
    study = open_study("assumptions")
    monkeypatch.setattr(studies, "open_study", lambda name: study.__class__(**{**vars(study), "results": kept}))
    done = here("report", "assumptions", "--results", "desk")
    assert (done.returncode, done.stdout.strip()) == (0, "assumptions-desk-report/report.html")
    assert "3 finished models" in (tmp_path / "assumptions-desk-report" / "report.html").read_text()
    wrong = here("report", "assumptions", "--results", "dusk")
    assert wrong.returncode == 2
    assert "has no results at scale 'dusk'; it has desk" in wrong.stderr


def test_a_study_without_results_says_so(here: Here) -> None:
    done = here("report", "nonsense", "--results", "desk")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no study 'nonsense'" in done.stderr


def test_kept_results_are_added_to_a_study_alone(here: Here, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    done = here("report", "runs", "--add", "desk")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "holds no study; kept results can be added only to a study's runs" in done.stderr
    done = here("report", "assumptions", "--results", "desk", "--add", "desk")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "expected only one of them" in done.stderr
    (tmp_path / "runs" / "study.json").write_text('{"name": "assumptions", "scale": "desk"}')
    done = here("report", "runs", "--add", "dusk")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no results at scale 'dusk'; it has desk" in done.stderr


def test_pictures_of_runs_are_drawn_where_these_are_few_or_it_is_asked_for() -> None:
    few, many = (RunTable(pd.DataFrame({"run": ["a"] * count})) for count in (MANY_RUNS - 1, MANY_RUNS))
    assert [_to_draw(None, few), _to_draw(None, many)] == [12, 0]
    assert [_to_draw(3, few), _to_draw(3, many), _to_draw(0, few)] == [3, 3, 0]
