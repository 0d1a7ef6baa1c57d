"""What holds for the project as a whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.examples.benches import load_bench

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "unbraid"

graph = load_bench("imports")
FILES = graph.modules(PACKAGE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_packages_to_its_left(path: Path) -> None:
    own = graph.part_of(path, PACKAGE)
    assert own in graph.ORDER, f"{own} has no position in the order yet"
    for other in set(graph.imports(path)) - {own}:
        assert graph.ORDER.index(other) < graph.ORDER.index(own), f"{path.name} imports {other}, which is to its right"


def test_every_module_lives_in_a_package() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        "__init__.py", "__main__.py", "py.typed", *(f"{name}.py" for name in graph.BASE)
    }  # fmt: skip


def test_no_test_module_imports_another() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for line in re.findall(r"^\s*(?:from|import) (tests\S*)", path.read_text(), re.M):
            assert not line.rpartition(".")[2].startswith("test_"), f"{path} imports {line}"


def test_nothing_is_unpickled() -> None:
    for path in FILES:
        text = path.read_text()
        assert not re.search(r"allow_pickle=True|import pickle|torch\.load\(|joblib\.load", text), path


def test_versions_agree() -> None:
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert version is not None
    assert f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_file_of_the_package_is_declared() -> None:
    """Else it would be missing from the wheel; `make release` looks into the wheel itself."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["unbraid"]
    declared = {path for pattern in patterns for path in PACKAGE.glob(pattern) if path.is_file()}
    others = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert {str(path.relative_to(PACKAGE)) for path in others - declared} == set()


def test_the_oldest_versions_are_those_of_the_project() -> None:
    oldest = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints-oldest.txt").read_text(), re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, bound in (one.split(">=") for one in project["dependencies"] if not one.startswith("torch")):
        assert f"{oldest[name]}.".startswith(f"{bound}."), f"{name} is tested at {oldest[name]}, not at {bound}"


UNPINNED = {"mlflow", "setuptools", "trackio", "wandb"}  # large trackers, whose own pins differ from ours


def test_every_dependency_is_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    for name in re.findall(r'"([a-z0-9-]+)>=', (ROOT / "pyproject.toml").read_text()):
        assert name in pinned | UNPINNED, f"{name} is not in constraints.txt"
