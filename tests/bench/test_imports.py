"""The import graph finds what breaks the rule."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.examples.benches import load_bench


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_bench("imports")


def package(folder: Path, **files: str) -> Path:
    """A package `unbraid` of these modules, with `__` for a folder."""
    for name, text in files.items():
        path = folder / "unbraid" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "unbraid"


def test_imports_of_all_forms_are_found(bench: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("from unbraid.cli import main\nimport unbraid.data.files\ndef f():\n    from unbraid import runs\n")
    assert sorted(bench.imports(file)) == ["cli", "data", "runs"]


def test_an_edge_to_the_right_is_named(bench: ModuleType, tmp_path: Path) -> None:
    tree = package(tmp_path, errors="", data__a="from unbraid.runs.b import x", runs__b="import unbraid.errors")
    graph = bench.read(tree)
    assert graph.order == ["errors", "data", "runs"]
    assert graph.to_the_right == [("data", "runs")]
    assert not graph.loose


def test_a_loose_module_is_named_and_ordered_by_its_imports(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = package(tmp_path, errors="", train="from unbraid.data import x", data__a="from unbraid.errors import E")
    bench.main([str(old), "--out", str(tmp_path / "imports.png")])
    text = capsys.readouterr().out
    assert text.startswith("1 packages, 1 loose modules, 2 edges, 0 to the right\n")
    assert "loose: train\n" in text
    assert (tmp_path / "imports.png").stat().st_size > 1000


def test_a_cycle_has_an_edge_to_the_right_in_any_order(bench: ModuleType, tmp_path: Path) -> None:
    graph = bench.read(package(tmp_path, a="import unbraid.b", b="import unbraid.a"))
    assert len(graph.to_the_right) == 1
