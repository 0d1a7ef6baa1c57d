"""Where a command writes by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.cli._files import beside
from unbraid.errors import InputError


def test_a_folder_named_by_dots_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pictures" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert beside(Path("pictures"), "-factors") == Path("pictures-factors")
    monkeypatch.chdir(tmp_path / "pictures")
    assert beside(Path(), "-factors") == tmp_path / "pictures-factors"
    monkeypatch.chdir(tmp_path / "pictures" / "inner")
    assert beside(Path(".."), "-factors") == tmp_path / "pictures-factors"


def test_nothing_lies_beside_the_root() -> None:
    with pytest.raises(InputError, match="/ has no folder above it to write to"):
        beside(Path("/"), "-factors")
