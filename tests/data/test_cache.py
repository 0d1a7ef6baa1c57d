from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unbraid.data import cache
from unbraid.errors import InputError

WANTED = np.arange(60, dtype=np.uint8).reshape(20, 3)


class Drawing:
    """Draws WANTED in two pieces and counts how often."""

    count = 0

    def __call__(self) -> Iterator[cache.Array]:
        self.count += 1
        yield WANTED[:7]
        yield WANTED[7:]


def open_anew(draw: Drawing) -> cache.Array:
    cache._opened.clear()
    return cache.drawn_array("numbers-v1", WANTED.shape, WANTED.dtype, draw)


@pytest.fixture
def file(empty_cache: Path) -> Path:
    return empty_cache / "drawn" / "numbers-v1.npy"


def test_is_drawn_once_and_read_after_that(file: Path) -> None:
    draw = Drawing()
    for _ in range(3):
        assert np.array_equal(open_anew(draw), WANTED)
    assert draw.count == 1
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "header", "digest", "foreign"])
def test_damage_is_noticed_and_drawn_again(file: Path, damage: str) -> None:
    draw = Drawing()
    open_anew(draw)
    good = file.read_bytes()
    bad = bytearray(good)
    if damage == "flip":
        bad[-50] ^= 1
    elif damage == "header":
        bad[20] ^= 1
    elif damage == "digest":
        bad[-1] ^= 1
    replacement = {"cut": good[:-40], "empty": b"", "foreign": b"PK\x03\x04 not ours"}.get(damage, bytes(bad))
    file.write_bytes(replacement)
    assert np.array_equal(open_anew(draw), WANTED)
    assert draw.count == 2
    assert file.read_bytes() == good


def test_a_failed_drawing_leaves_nothing(file: Path) -> None:
    def broken() -> Iterator[cache.Array]:
        yield WANTED[:7]
        raise OSError(28, "No space left on device")

    cache._opened.clear()
    with pytest.raises(InputError, match=r"cannot keep numbers-v1 .* No space left on device; make room"):
        cache.drawn_array("numbers-v1", WANTED.shape, WANTED.dtype, broken)
    assert list(file.parent.iterdir()) == []


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="point UNBRAID_CACHE at another folder"):
        open_anew(Drawing())
