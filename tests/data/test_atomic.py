from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from unbraid.data.atomic import clear_parts, replacing

KILLED = """
    import os, signal, sys
    from pathlib import Path
    from unbraid.data.atomic import replacing
    with replacing(Path(sys.argv[1]) / "population.csv") as part:
        part.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    with replacing(path) as part:
        part.write_text("first")
    with pytest.raises(AttributeError), replacing(path) as part:
        part.write_text("half").oops()  # type: ignore[attr-defined]
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_killed_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)], check=False)
    (left,) = tmp_path.glob(".population.csv.*.part")
    ours = tmp_path / f".population.csv.{os.getpid()}.part"
    kept = [ours, tmp_path / ".part", tmp_path / ".mine.part", tmp_path / "population.csv"]
    for path in kept:
        path.touch()
    clear_parts(tmp_path)
    assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted(kept)
