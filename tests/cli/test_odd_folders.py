"""What `unbraid discover` says of odd folders before it trains anything."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.examples.command import Here
from unbraid.search import discovery

RNG = np.random.default_rng(0)


def colour(side: int = 40) -> Image.Image:
    return Image.fromarray(RNG.integers(0, 256, (side, side, 3), dtype=np.uint8))


def many(folder: Path, count: int = 30, ending: str = "png") -> None:
    for number in range(count):
        colour().save(folder / f"{number:03}.{ending}")


def mixed_sizes(folder: Path) -> None:
    for number in range(12):
        Image.new("RGB", (20 + 30 * number, 40), (20 * number, 0, 0)).save(folder / f"{number}.png")


def cmyk(folder: Path) -> None:
    for number in range(12):
        colour().convert("CMYK").save(folder / f"{number}.jpg")


def twelve_of_sixteen_bits(folder: Path) -> None:
    for number in range(12):
        values = RNG.integers(0, 4096, (40, 40)).astype(np.uint16)
        values[0, 0] = 4095
        Image.fromarray(values).save(folder / f"{number}.png")


def float_tiff(folder: Path) -> None:
    for number in range(12):
        Image.fromarray(RNG.uniform(0, 1, (40, 40)).astype(np.float32)).save(folder / f"{number}.tif")


def animated(folder: Path) -> None:
    for number in range(12):
        colour().save(folder / f"{number}.gif", save_all=True, append_images=[colour(), colour()])


def corrupt(folder: Path) -> None:
    many(folder, 12)
    whole = (folder / "000.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "words.jpg").write_text("not a picture")


def huge(folder: Path) -> None:
    """A picture whose header declares 400 million pixels."""
    many(folder, 12)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0))
    content = chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    (folder / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + content)


def unicode_names(folder: Path) -> None:
    for number, name in enumerate(["größe", "猫", "naïve café", "🦊", "a\u0301", "Ω" * 40, *"абвгде"]):
        Image.new("RGB", (40, 40), (20 * number, 90, 0)).save(folder / f"{name}.png")


@pytest.mark.parametrize(
    ("draw", "lines"),
    [
        (many, ["30 colour pictures in odd, each the largest centred square, 32 pixels wide"]),
        (
            mixed_sizes,
            ["their sizes go from 20 x 40 to 350 x 40 pixels", "smaller than 32 pixels, and enlarged: 1 of them"],
        ),
        (cmyk, ["12 colour pictures in odd"]),
        (
            twelve_of_sixteen_bits,
            ["12 grey pictures", "12 pictures of more than 8 bits have values up to 4095: 4095 is"],
        ),
        (float_tiff, ["12 grey pictures", "12 pictures of floats have values up to ", ": 1 is white"]),
        (animated, ["12 colour pictures", "animated, of which the first frame counts: 12 of them"]),
        (corrupt, ["12 colour pictures", "2 files could not be read, such as cut.png: "]),
        (huge, ["12 colour pictures", "1 file could not be read, such as huge.png: has too many pixels"]),
        (unicode_names, ["12 colour pictures"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*could not be read")
def test_it_says_what_the_pictures_are(
    draw: Callable[[Path], None], lines: list[str], tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "seconds_per_step", lambda *_: 0.01)
    (tmp_path / "odd").mkdir()
    draw(tmp_path / "odd")
    done = here("discover", "odd", "--forecast")
    assert done.returncode == 0, done.stderr
    for line in [*lines, "about 30 minutes: 8 models of beta_tc_vae at 4 strengths"]:
        assert line in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "odd-factors").exists()


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "odd holds no pictures; expected .jpg"),
        (1, "odd holds 1 picture that can be read; expected at least 10"),
        (9, "odd holds 9 pictures that can be read; expected at least 10"),
    ],
)
def test_too_few_pictures_are_one_line(count: int, message: str, tmp_path: Path, here: Here) -> None:
    (tmp_path / "odd").mkdir()
    many(tmp_path / "odd", count)
    done = here("discover", "odd")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "odd-factors").exists()


def test_pictures_that_all_look_the_same_have_no_factor(tmp_path: Path, here: Here) -> None:
    (tmp_path / "odd").mkdir()
    for number in range(12):
        Image.new("RGB", (40, 40), "red").save(tmp_path / "odd" / f"{number}.png")
    done = here("discover", "odd")
    assert done.returncode == 2
    assert "all 12 pictures look the same; there is no factor to find" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.filterwarnings("ignore:.*could not be read")
def test_what_may_not_be_read_is_named(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "seconds_per_step", lambda *_: 0.01)
    (tmp_path / "odd" / "inner").mkdir(parents=True)
    many(tmp_path / "odd", 12)
    many(tmp_path / "odd" / "inner", 2)
    (tmp_path / "odd" / "000.png").chmod(0)
    (tmp_path / "odd" / "inner").chmod(0)
    try:
        done = here("discover", "odd", "--forecast")
    finally:
        (tmp_path / "odd" / "inner").chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert "11 colour pictures" in done.stderr
    assert "2 files could not be read" in done.stderr


def test_pictures_that_lose_their_details_are_named(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of 2 pixels is grey at a quarter of the size; noise of 16 is not."""
    monkeypatch.setattr(discovery, "seconds_per_step", lambda *_: 0.01)
    rng = np.random.default_rng(0)
    for name, side in (("fine", 64), ("broad", 8)):
        (tmp_path / name).mkdir()
        for number in range(12):
            pixels = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((128, 128), Image.Resampling.NEAREST).save(tmp_path / name / f"{number}.png")
    (tmp_path / "still").mkdir()
    behind = np.asarray(Image.open(tmp_path / "fine" / "0.png")) // 2
    for number in range(12):  # fine, but the same behind a broad stripe of light that moves
        light = 120 * np.exp(-(((np.arange(128) - 10 * number) / 25) ** 2))
        Image.fromarray(behind + light[:, None].astype(np.uint8)).save(tmp_path / "still" / f"{number}.png")
    words = "of what differs between pictures of 64 pixels is lost at 32; --resolution 64 keeps it"
    assert words in here("discover", "fine", "--forecast").stderr
    assert words not in here("discover", "broad", "--forecast").stderr
    assert words not in here("discover", "still", "--forecast").stderr
