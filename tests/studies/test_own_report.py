"""The report of a study of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from unbraid import studies
from unbraid.errors import InputError
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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [number(scale)]", "mine.py, line 6: jobs('smoke') raised ValueError: invalid literal for int()"),
        ("raise SystemExit(3)", "mine.py, line 2: jobs('smoke') raised SystemExit: 3"),
        ("return None", "mine.py: jobs('smoke') raised TypeError: 'NoneType' object is not iterable"),
        ("return ['x']", "mine.py: jobs('smoke') gives a str; expected jobs, such as Train"),
    ],
)
def test_what_its_jobs_raise_is_named_by_its_line(tmp_path: Path, body: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"def jobs(scale):\n    {body}\n\n\ndef number(text):\n    return int(text)\n")
    with pytest.raises(InputError) as caught:
        open_study(str(file)).jobs("smoke")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_what_its_report_raises_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def jobs(scale):\n    return []\n\n\ndef report(runs, folder):\n    return runs['x']\n")
    with pytest.raises(InputError, match=r"mine.py, line 6: report\(runs, folder\) raised KeyError: 'x'"):
        open_study(str(file)).report(RunTable(FRAME))
