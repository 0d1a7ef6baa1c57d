"""The notebooks, each executed by a kernel in a folder of its own, with smaller numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient and ipykernel run the notebooks")
nbclient = pytest.importorskip("nbclient", reason="nbclient and ipykernel run the notebooks")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
SMALLER = {
    "encoder": {"SAMPLES = 10_000": "SAMPLES = 1_000"},
    "method": {"STEPS, SEEDS = 1_000, 3": "STEPS, SEEDS = 2, 3"},
    "pictures": {"COUNT, STEPS = 2_000, 1_500": "COUNT, STEPS = 30, 2"},
}


def test_there_is_one_for_each_of_three_people() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(SMALLER)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    text = "".join(cell.source for cell in notebook.cells)
    for large, small in SMALLER[path.stem].items():
        assert large in text, f"{path.name} no longer has {large!r}"
        for cell in notebook.cells:
            cell.source = cell.source.replace(large, small)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("text/html" in output.data or "image/png" in output.data for output in shown)
    errors = [
        output.text for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"
    ]
    assert not [error for error in errors if re.search("Traceback|Warning", error)], errors
