"""What holds for the project as a whole."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "unbraid"

# A package imports only from its left; below all of them stand these two modules.
LOOSE = ["errors", "progress"]
ORDER = [
    *LOOSE, "data", "nets", "methods", "training", "metrics", "runs", "pictures", "jobs", "search", "report",
    "explorer", "studies", "cli",
]  # fmt: skip


def package_of(path: Path) -> str:
    """The top-level part of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The top-level parts of the package that a file imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unbraid":
            parts = node.module.split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("unbraid.")}
    return names


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_packages_to_its_left(path: Path) -> None:
    own = package_of(path)
    assert own in ORDER, f"{own} has no position in the order yet"
    for other in imports(path) - {own}:
        assert ORDER.index(other) < ORDER.index(own), f"{path.name} imports {other}, which is to its right"


def test_the_import_rule_can_fail(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("from unbraid.cli import main\nimport unbraid.data.files\nfrom unbraid import pictures\n")
    assert imports(file) == {"cli", "data", "pictures"}


def test_every_module_lives_in_a_package() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {
        "__init__.py", "py.typed", *(f"{name}.py" for name in LOOSE)
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


def test_every_dependency_is_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    for name in re.findall(r'"([a-z0-9-]+)>=', (ROOT / "pyproject.toml").read_text()):
        assert name in pinned or name == "setuptools", f"{name} is not in constraints.txt"
