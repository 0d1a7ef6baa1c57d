from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from unbraid.data.atomic import clear_parts, replacing


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    with replacing(path) as part:
        part.write_text("first")
    with pytest.raises(AttributeError), replacing(path) as part:
        part.write_text("half").oops()  # type: ignore[attr-defined]
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_killed_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with replacing(tmp_path / "population.csv") as part:
            part.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = tmp_path.glob(".population.csv.*.part")
    ours = tmp_path / f".population.csv.{os.getpid()}.part"
    kept = [ours, tmp_path / ".part", tmp_path / ".mine.part", tmp_path / "population.csv"]
    for path in kept:
        path.touch()
    clear_parts(tmp_path)
    assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted(kept)
