"""The report of rPU-VAE shows metaEpochs, labels, coverage and UDR, and none of the runs inside."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unbraid.errors import InputError
from unbraid.report.parts import Figure, Table
from unbraid.report.searches import results, search_sections
from unbraid.search import read_history
from unbraid.studies import write_report


def history(folder: Path, scores: list[list[float]]) -> None:
    """A population's folder with these scores, one row per generation."""
    folder.mkdir(parents=True)
    rows = [
        {
            "generation": generation, "member": member, "parent": member if generation else None, "score": score,
            "beta": 2.0 + member, "steps": 10, "images": 640, "tries": 0, "model": 0, "run": "jobs/x",
        }
        for generation, row in enumerate(scores)
        for member, score in enumerate(row)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "population.csv", index=False)
    (folder / "population.json").write_text("{}")


@pytest.fixture
def rpu_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "found"
    history(folder / "metaepoch1" / "population", [[0.1, 0.3], [0.2, 0.5]])
    history(folder / "leaf1" / "metaepoch2" / "population", [[0.2, 0.1]])
    history(folder / "final1", [[0.1, 0.4], [0.1, np.nan]])
    (folder / "rpu.json").write_text("{}")
    pd.DataFrame({"leaf": [0, 1], "metaepoch": [1, 2], "images": [60, 20], "udr": [0.5, 0.2]}).to_csv(
        folder / "metaepochs.csv", index=False
    )
    labels = pd.DataFrame({"row": range(60), "metaepoch1_latent3": 0.5, "leaf1_metaepoch2_latent0": np.nan})
    labels.loc[:14, "leaf1_metaepoch2_latent0"] = 1.0
    labels.to_csv(folder / "labels.csv", index=False)
    return folder


def test_metaepochs_labels_coverage_and_udr_are_shown(rpu_folder: Path) -> None:
    sections = search_sections(rpu_folder)
    assert sections is not None
    assert [section.title for section in sections] == [
        "MetaEpochs", "Labels and coverage", "UDR", "The last population, of 1 leaf-run",
    ]  # fmt: skip
    coverage = sections[1].items[0]
    assert isinstance(coverage, Table)
    assert coverage.frame["images"].tolist() == [60, 15]
    assert coverage.frame["share of all"].tolist() == [1.0, 0.25]
    udr = sections[2].items[0]
    assert isinstance(udr, Figure)
    panels = udr.drawn().axes
    assert [panel.get_title() for panel in panels] == ["leaf1, metaepoch2", "metaepoch1"]
    assert list(panels[1].lines[0].get_ydata()) == [0.3, 0.5]
    last = sections[3].items[1]
    assert isinstance(last, Table)
    assert last.frame["diverged"].tolist() == [0, 1]


def test_the_page_of_a_population_is_its_history(rpu_folder: Path, tmp_path: Path) -> None:
    sections = search_sections(rpu_folder / "final1")
    assert sections is not None
    assert sections[0].title == "History"
    assert "2 generations of 2 members; the best score is 0.400" in sections[0].text
    assert search_sections(tmp_path) is None
    page = write_report(rpu_folder, tmp_path / "report").read_text()
    assert "Labels and coverage" in page


def test_only_the_best_of_populations_count_as_runs() -> None:
    runs = pd.DataFrame({"run": ["a/jobs/best-1234", "a/jobs/generation00-member01-model2-77", "a/jobs/best-9"]})
    assert results(runs)["run"].tolist() == ["a/jobs/best-1234", "a/jobs/best-9"]
    assert results(pd.DataFrame()).empty


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("score", "points", "has no column 'score'; it is not the history of a population"),
        ("0.3,", "good,", "'score' is not a column of finite numbers"),
        ("0.3,", "inf,", "'score' is not a column of finite numbers"),
        ("1,1,1.0,", "1,1,7.0,", "generation 0 lacks the parent of member 1 of the next"),
        ("1,1,1.0,", "1,1,,", "generation 0 lacks the parent of member 1 of the next"),
        ("1,1,1.0,", "1,0,0.0,", "has two rows of one member, or rows of none"),
        ("1,1,1.0,", "1.5,1,1.0,", "'generation' is not a column of whole numbers"),
        (",3.0,", ",1e300,", "'beta' is not a column of finite numbers"),
    ],
)
def test_a_history_that_cannot_be_drawn_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    history(tmp_path / "found", [[0.1, 0.3], [0.2, 0.5]])
    path = tmp_path / "found" / "population.csv"
    read_history(path.parent)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message):
        search_sections(path.parent)


def test_a_history_that_is_a_pipe_is_named(rpu_folder: Path) -> None:
    path = rpu_folder / "final1" / "population.csv"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="it is a named pipe, not a regular file"):
        search_sections(rpu_folder)


def test_a_link_to_another_population_is_not_followed(rpu_folder: Path, tmp_path: Path) -> None:
    history(tmp_path / "private", [[0.1, 0.3]])
    (rpu_folder / "final2").symlink_to(tmp_path / "private")
    with pytest.raises(InputError, match="final2 is a link; expected files of the folder itself"):
        search_sections(rpu_folder)
