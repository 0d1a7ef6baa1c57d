"""The report of a study of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from unbraid import studies
from unbraid.report.run_table import RunTable
from unbraid.studies import open_study, write_report

STUDY = """
from unbraid.report import Section, Table, comparison

TITLE = "Mine"

def jobs(scale):
    return []

def report(runs, folder):
    means = runs.groupby("method")["scores.mig"].mean().reset_index()
    return [Section("My question", str(folder), [Table("mine", "Means", means)])]
"""
FRAME = pd.DataFrame([
    {"run": f"{method}-{seed}", "state": "done", "method": method, "data": "dsprites", "seed": seed, "scores.mig": seed}
    for method in ("beta_vae", "factor_vae") for seed in range(3)
])  # fmt: skip


@pytest.mark.parametrize("own", ["", "+ comparison(runs, baseline='factor_vae')"], ids=["added", "its own"])
def test_its_sections_come_first_and_the_comparison_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(STUDY.replace("means)])]", f"means)])] {own}"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "study.json").write_text('{"name": "mine.py", "scale": "desk"}')
    study = replace(open_study(str(file)), table=lambda folder: RunTable(FRAME, folder=folder))
    monkeypatch.setattr(studies, "study_in", lambda folder, file: (study, ""))
    page = write_report(folder, tmp_path / "out", draw=0, baseline=None).read_text()
    assert "Mine (desk)" in page
    assert page.index("My question</h2>") < page.index("Comparison of methods</h2>")
    assert page.count("Comparison of methods</h2>") == 1
    assert ("Differences from FactorVAE" in page) == bool(own)
