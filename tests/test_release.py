"""What `make release` looks at; the building itself takes minutes and is not a test."""

from __future__ import annotations

import importlib.util
import io
import re
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_release", ROOT / "tools" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_of_the_package_are_found_in_both_archives(release: ModuleType, tmp_path: Path) -> None:
    names = {"unbraid/__init__.py", "unbraid/report/page.css"}
    with zipfile.ZipFile(tmp_path / "unbraid-1.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, "")
    with tarfile.open(tmp_path / "unbraid-1.tar.gz", "w:gz") as source:
        for name in names:
            source.addfile(tarfile.TarInfo(f"unbraid-1/src/{name}"), io.BytesIO())
    for archive in ("unbraid-1.whl", "unbraid-1.tar.gz"):
        assert release.files_in(tmp_path / archive) >= names
        missing = release.package_files() - release.files_in(tmp_path / archive)
        assert "unbraid/explorer/page.js" in missing
        assert not missing & names


def test_a_version_without_a_date_is_not_ready(release: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_output", lambda command: "")
    assert release.unready("0.0.9") == ["CHANGELOG.md has no heading '## 0.0.9 (YYYY-MM-DD)'"]


def test_the_version_is_that_of_the_project(release: ModuleType) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", release.project_version())
    assert f"## {release.project_version()} " in (ROOT / "CHANGELOG.md").read_text()
