from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from unbraid.data.atomic import clear_parts, link_target, replacing


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


def test_what_is_not_a_regular_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "folder", "link", "null"):
        with pytest.raises(OSError, match="not a regular file"), replacing(tmp_path / name) as part:
            part.write_text("theirs")
    assert (tmp_path / "file").read_text() == "mine"
    assert not list(tmp_path.glob(".*"))
    assert link_target(tmp_path / "link") == tmp_path / "file"
    assert link_target(tmp_path / "file") == tmp_path / "file"


def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "file") as part:
            part.write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_an_open_file_is_not_what_a_link_leads_to(tmp_path: Path) -> None:
    """`--out /dev/stdout >> log` would replace what the log holds."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert link_target(tmp_path / "loop") == tmp_path / "loop"
    with (tmp_path / "log").open("w") as log:
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{log.fileno()}")
        for path in (tmp_path / "stdout", Path(f"/dev/fd/{log.fileno()}")):
            assert link_target(path) == path
            with pytest.raises(OSError, match="not a regular file"), replacing(link_target(path)):
                pass
