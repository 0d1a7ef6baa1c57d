from __future__ import annotations

import io
import os
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from unbraid.data import reading
from unbraid.data.reading import opened, picture, read_array, read_arrays, read_json
from unbraid.data.schema import COUNT, PLAIN, TERMS, WORD, check, listed, optional
from unbraid.errors import InputError, MissingError, UnreadableError


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name, words in (("pipe", "a named pipe"), ("zero", "a device"), (".", "a folder")):
        with pytest.raises(InputError, match=words), opened(tmp_path / name):
            pass
    with pytest.raises(MissingError, match="nowhere does not exist"), opened(tmp_path / "nowhere"):
        pass
    with pytest.raises(UnreadableError, match="File name too long"), opened(tmp_path / ("n" * 5000)):
        pass
    with opened(tmp_path / "link") as file:
        assert file.read() == b"content"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"a": "\\ud800"}', b"[" * 100_000, b"1" * 5000])
def test_json_that_is_not_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.json is damaged: ") as caught:
        read_json(tmp_path / "a.json")
    assert "\n" not in str(caught.value)


def test_a_json_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1, 2, 3]")
    with pytest.raises(InputError, match="has 9 bytes; expected at most 8"):
        read_json(tmp_path / "a.json", limit=8)
    assert read_json(tmp_path / "a.json", limit=9) == [1, 2, 3]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"n": 1}, "has no 'name'; expected a word"),
        ({"name": 3}, "'name' is 3; expected a word"),
        ({"name": "\x1b[31m"}, "expected a word"),
        ({"name": "a", "n": -1}, "'n' is -1; expected a whole number, at least 0 or null"),
        ({"name": "a", "n": 2**70}, "expected a whole number"),
        ({"name": "a", "n": None, "s": {"mig": float("inf")}}, "'s' is .*; expected an object of finite numbers"),
        ({"name": "a", "n": None, "s": {}, "p": {"a": []}}, "'p' is .*; expected an object of words and numbers"),
        ({"name": "a", "n": None, "s": {}, "p": {}, "l": ["a", 1]}, "'l' is .*; expected a list, each a word"),
        ([], "it is not a JSON object"),
    ],
)
def test_a_schema_names_the_first_value_that_is_wrong(record: Any, message: str) -> None:
    schema = {"name": WORD, "n": optional(COUNT), "s": TERMS, "p": PLAIN, "l": listed(WORD)}
    with pytest.raises(InputError, match=message):
        check("file", record, schema)
    check("file", {"name": "β\n", "n": 0, "s": {"a": float("nan"), "b": None}, "p": {"x": True}, "l": []}, schema)


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    big_endian, words = np.arange(6, dtype=">f4").reshape(2, 3), np.array(["a", "bc"])
    np.savez_compressed(tmp_path / "a.npz", x=big_endian, words=words, empty=np.zeros((0, 3)))
    arrays = read_arrays(tmp_path / "a.npz", "numbers")
    assert arrays["x"].dtype == np.dtype("f4")
    np.testing.assert_array_equal(arrays["x"], big_endian)
    assert arrays["words"].tolist() == ["a", "bc"]
    assert arrays["empty"].shape == (0, 3)
    assert list(read_arrays(tmp_path / "a.npz", "numbers", ["x"])) == ["x"]
    np.save(tmp_path / "a.npy", np.asfortranarray(big_endian))
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy", "numbers"), big_endian)


def test_an_array_that_declares_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, header = tmp_path / "bomb.npz", io.BytesIO()
    for shape, message in (((10**12, 10), "its header says float64"), ((1000, 1000), "holds 0.0 GB of arrays")):
        header = io.BytesIO()
        np.lib.format.write_array_header_2_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("codes.npy", header.getvalue() + bytes(8_000_000))
        assert path.stat().st_size < 20_000
        monkeypatch.setenv("UNBRAID_READ_LIMIT", "7999999")
        with pytest.raises(InputError, match=message):
            read_arrays(path, "codes")
    monkeypatch.setenv("UNBRAID_READ_LIMIT", "8000000")
    assert read_arrays(path, "codes")["codes"].shape == (1000, 1000)


def test_nothing_is_unpickled_and_nothing_else_is_taken_for_numbers(tmp_path: Path) -> None:
    for array in (np.array([{}], dtype=object), np.zeros(3, complex), np.zeros(3, "datetime64[s]"), np.zeros(3, "V4")):
        np.savez(tmp_path / "a.npz", x=array)
        with pytest.raises(InputError, match="expected numbers of mine as numbers"):
            read_arrays(tmp_path / "a.npz", "numbers of mine")
    np.save(tmp_path / "a.npy", np.array(["a"]))
    with pytest.raises(InputError, match="holds text; expected rows as numbers"):
        read_array(tmp_path / "a.npy", "rows")


def test_pictures_come_in_listed_formats_and_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\nshowpage\n")
    with pytest.raises(InputError, match=r"a\.png cannot be read as a picture"), picture(tmp_path / "a.png", "a.png"):
        pass
    Image.new("RGB", (30, 20)).save(tmp_path / "b.png")
    with picture(tmp_path / "b.png", "b.png") as image:
        assert image.size == (30, 20)
    monkeypatch.setattr(reading, "PIXELS_LIMIT", 599)
    with pytest.raises(InputError, match="has 30 x 20 pixels; expected at most 599"), picture(tmp_path / "b.png", "b"):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_another_method_is_refused_before_a_byte_is_unpacked(tmp_path: Path, method: int) -> None:
    """Of bzip2 and LZMA, `zipfile` unpacks 4 KB at once, which may be gigabytes."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive, archive.open("codes.npy", "w") as member:
        np.lib.format.write_array(member, np.zeros((50, 3)))
    with pytest.raises(InputError, match="'codes' is packed in another way than NumPy's"):
        read_arrays(tmp_path / "a.npz", "codes")


@pytest.mark.parametrize(
    ("descr", "shape"), [("<U0", (10**12,)), ("|S0", (3,)), ("<f8", (0, 10**9)), ("|u1", (10**9, 1, 0, 16))]
)
def test_an_array_without_bytes_declares_no_more_than_could_be_listed(
    tmp_path: Path, descr: str, shape: tuple[int, ...]
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
    (tmp_path / "a.npy").write_bytes(header.getvalue())
    with pytest.raises(InputError, match="which takes no bytes; expected rows as numbers"):
        read_array(tmp_path / "a.npy", "rows")


def test_what_decoders_think_of_a_damaged_picture_is_not_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.tif"
    Image.effect_noise((16, 16), 50).save(path, compression="tiff_lzw")
    whole = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place in range(8, len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
            with suppress(InputError), picture(path, "a.tif") as image:
                image.load()
    assert capfd.readouterr() == ("", "")
