"""Pictures of the user's own: what is read, what is skipped, and what is said."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.data import load
from unbraid.data.array_data import ArrayData
from unbraid.data.sets.image_folder import open_image_folder
from unbraid.data.user_files import content_digest
from unbraid.errors import InputError

REAL = Path(__file__).parents[4] / "shared" / "data"
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def save(path: Path, colour: Any, size: tuple[int, int] = (8, 8), mode: str = "RGB", **how: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path, **how)


def test_pictures_are_found_at_any_depth_in_order(tmp_path: Path) -> None:
    save(tmp_path / "b.png", GREEN)
    save(tmp_path / "deep" / "er" / "a.BMP", BLUE, (5, 9))
    save(tmp_path / "a.png", RED)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "._a.png").write_text("what a Mac leaves behind")
    data = open_image_folder(4, tmp_path)
    assert data.files == ("a.png", "b.png", "deep/er/a.BMP")
    assert data.skipped == ()
    assert data.images_at([0, 1, 2])[:, :, 0, 0].tolist() == [list(RED), list(GREEN), list(BLUE)]
    assert data.image_shape == (3, 4, 4)


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff"])
def test_every_format_is_read(tmp_path: Path, suffix: str) -> None:
    save(tmp_path / f"a.{suffix}", (200, 100, 50), (30, 20))
    mean = open_image_folder(8, tmp_path).images_at([0]).float().mean((0, 2, 3))
    assert torch.allclose(mean, torch.tensor([200.0, 100.0, 50.0]), atol=6)


def test_it_is_a_data_set_without_factors(tmp_path: Path) -> None:
    for number in range(3):
        save(tmp_path / f"{number}.png", (number, 0, 0))
    data = open_image_folder(8, tmp_path)
    assert data.names == data.sizes == ()
    assert len(data) == 3
    images, factors = data.sample(20, 0)
    assert images.shape == (20, 3, 8, 8)
    assert factors.shape == (20, 0)
    assert data.all_factors().shape == (3, 0)
    assert set(data.images(torch.empty(50, 0, dtype=torch.int64), rng=1)[:, 0, 0, 0].tolist()) == {0, 1, 2}
    with pytest.raises(InputError, match="row 3 does not exist"):
        data.images_at([3])


def test_the_centre_is_cropped_and_the_shape_kept(tmp_path: Path) -> None:
    picture = Image.new("RGB", (30, 10), RED)
    picture.paste(BLUE, (10, 0, 20, 10))
    picture.save(tmp_path / "wide.png")
    image = open_image_folder(10, tmp_path).images_at([0])[0]
    assert torch.equal(image, torch.tensor(BLUE, dtype=torch.uint8)[:, None, None].expand(3, 10, 10))


def test_exif_orientation_is_applied(tmp_path: Path) -> None:
    picture = Image.new("RGB", (16, 16), RED)
    picture.paste(BLUE, (0, 0, 16, 8))  # blue above red
    exif = Image.Exif()
    exif[0x0112] = 3  # turned by half
    picture.save(tmp_path / "turned.png", exif=exif)
    image = open_image_folder(16, tmp_path).images_at([0])[0]
    assert image[:, 0, 0].tolist() == list(RED)
    assert image[:, 15, 15].tolist() == list(BLUE)


def test_grey_transparent_palette_and_deep_pictures(tmp_path: Path) -> None:
    save(tmp_path / "a.png", (9, 9, 9, 0), mode="RGBA")
    save(tmp_path / "b.png", 77, mode="L")
    Image.fromarray(np.full((8, 8), 40000, np.uint16)).save(tmp_path / "c.png")
    Image.new("RGB", (8, 8), GREEN).convert("P").save(tmp_path / "d.gif")
    colour = open_image_folder(8, tmp_path).images_at(range(4))[:, :, 0, 0].tolist()
    assert colour == [[255, 255, 255], [77, 77, 77], [156, 156, 156], list(GREEN)]
    grey = open_image_folder(8, tmp_path, channels=1)
    assert grey.image_shape == (1, 8, 8)
    assert grey.images_at(range(4))[:, 0, 0, 0].tolist() == [255, 77, 156, 150]


def test_broken_pictures_are_skipped_counted_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "aceg":
        save(tmp_path / f"{name}.png", RED, (64, 64))
    whole = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8)).save(whole, "JPEG")
    (tmp_path / "b.jpg").write_bytes(whole.getvalue()[:-900])
    (tmp_path / "d.png").write_bytes(b"no picture")
    (tmp_path / "f.gif").write_bytes(b"")
    save(tmp_path / "huge.png", 0, (300, 300), mode="1")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20000)  # a decompression bomb, in small
    expected = r"^4 of 8 pictures could not be read and were skipped: b\.jpg, d\.png, f\.gif, huge\.png$"
    with pytest.warns(UserWarning, match=expected) as caught:
        data = open_image_folder(8, tmp_path)
    assert len(caught) == 1
    assert data.skipped == ("b.jpg", "d.png", "f.gif", "huge.png")
    assert data.files == ("a.png", "c.png", "e.png", "g.png")
    assert bool((data.images_at(range(4))[:, 0] == 255).all())


def test_many_broken_pictures_are_not_all_listed(tmp_path: Path) -> None:
    save(tmp_path / "z.png", RED)
    for number in range(9):
        (tmp_path / f"{number}.png").write_bytes(b"?")
    with pytest.warns(UserWarning, match=r"9 of 10 .*: 0\.png, 1\.png, 2\.png, 3\.png, 4\.png, …$"):
        open_image_folder(8, tmp_path)


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist; expected a folder of pictures or an \.npz"):
        open_image_folder(8, tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no pictures; expected \.jpg"):
        open_image_folder(8, tmp_path)
    (tmp_path / "a.png").write_bytes(b"?")
    with pytest.raises(InputError, match=r"1 of 1 pictures could not be read and were skipped: a\.png"):
        open_image_folder(8, tmp_path)
    with pytest.raises(InputError, match="is neither a folder"):
        open_image_folder(8, tmp_path / "a.png")
    with pytest.raises(InputError, match="needs the setting path"):
        open_image_folder(8)
    with pytest.raises(InputError, match="channels is 2; expected 1, 3, or 0"):
        open_image_folder(8, tmp_path, 2)


@pytest.mark.parametrize("shape", [(5, 9, 9), (5, 9, 9, 1), (5, 1, 9, 9)])
@pytest.mark.parametrize("kind", ["uint8", "float32", "bool"])
def test_npz_of_grey_pictures(tmp_path: Path, shape: tuple[int, ...], kind: str) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(5, 9, 9), dtype=np.uint8)
    if kind == "bool":
        pixels = (pixels > 127).astype(np.uint8) * 255
    stored = {"uint8": pixels, "float32": (pixels / 255).astype(np.float32), "bool": pixels > 127}[kind]
    np.savez(tmp_path / "a.npz", stored.reshape(shape))
    data = open_image_folder(9, tmp_path / "a.npz", channels=1)
    assert np.array_equal(data.images_at(range(5))[:, 0].numpy(), pixels)
    assert data.files == ("0", "1", "2", "3", "4")


@pytest.mark.parametrize("last", [True, False])
def test_npz_of_colour_pictures(tmp_path: Path, last: bool) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(5, 9, 9, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=pixels if last else pixels.transpose(0, 3, 1, 2), labels=np.arange(5))
    data = open_image_folder(9, tmp_path / "a.npz")
    assert np.array_equal(data.images_at(range(5)).numpy(), pixels.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a": np.zeros((2, 4, 4)), "b": np.zeros(2)}, "holds a, b; expected an array called 'images'"),
        ({"images": np.zeros((2, 4))}, r"images are float64 \(2, 4\); expected"),
        ({"images": np.zeros((0, 4, 4), np.uint8)}, r"images are uint8 \(0, 4, 4\); expected"),
        ({"images": np.zeros((2, 5, 5, 2), np.uint8)}, r"images are uint8 \(2, 5, 5, 2\); expected"),
        ({"images": np.full((2, 4, 4), 3.0)}, r"floats from 3 to 3; expected"),
        ({"images": np.full((2, 4, 4), np.nan)}, r"floats from nan to nan; expected"),
        ({"images": np.zeros((2, 4, 4), np.int64)}, r"images are int64; expected"),
        ({"images": np.array([{}], dtype=object)}, r"holds Python objects, which are not read"),
    ],
)
def test_other_npz_are_refused(tmp_path: Path, members: dict[str, Any], expected: str) -> None:
    np.savez(tmp_path / "a.npz", **members)
    with pytest.raises(InputError, match=expected):
        open_image_folder(8, tmp_path / "a.npz")


def test_files_that_are_no_npz_are_refused(tmp_path: Path) -> None:
    whole = io.BytesIO()
    np.savez(whole, images=np.random.default_rng(0).integers(256, size=(9, 9, 9), dtype=np.uint8))
    array = io.BytesIO()
    np.save(array, np.zeros((3, 9, 9), np.uint8))
    for contents in (b"", b"foreign", whole.getvalue()[:-100], array.getvalue()):
        (tmp_path / "a.npz").write_bytes(contents)
        with pytest.raises(InputError, match=r"a\.npz cannot be read as an \.npz file of pictures") as caught:
            open_image_folder(8, tmp_path / "a.npz")
        assert "\n" not in str(caught.value)


def test_real_flowers() -> None:
    if not (REAL / "flowers_small.npz").is_file():
        pytest.skip("flowers_small.npz is not on this machine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = open_image_folder(64, REAL / "flowers_small.npz")
    assert len(data) == 1632
    assert data.image_shape == (3, 64, 64)


def save_deep(path: Path, values: np.ndarray) -> None:
    Image.fromarray(values).save(path)


def test_pictures_of_many_bits_are_scaled_by_the_bits_in_use(tmp_path: Path) -> None:
    for name, value in (("a", 4095), ("b", 2048)):
        save_deep(tmp_path / f"{name}.png", np.full((8, 8), value, np.uint16))
    data = load("image_folder", 8, path=str(tmp_path))
    assert data.image_shape == (1, 8, 8)
    assert data.images_at([0, 1]).flatten(1)[:, 0].tolist() == [255, 128]  # not black, and the same scale for both
    assert data.notes == ("2 pictures of more than 8 bits have values up to 4095: 4095 is white",)


@pytest.mark.parametrize(("top", "white"), [(1.0, 1.0), (200.0, 255.0), (3000.0, 3000.0)])
def test_floats_are_scaled_by_what_is_there(tmp_path: Path, top: float, white: float) -> None:
    save_deep(tmp_path / "a.tiff", np.full((8, 8), top, np.float32))
    save_deep(tmp_path / "b.tiff", np.full((8, 8), top / 2, np.float32))
    pixels = load("image_folder", 8, path=str(tmp_path)).images_at([0, 1]).flatten(1)[:, 0].tolist()
    assert pixels == [round(255 * top / white), round(255 * top / 2 / white)]


def test_grey_folders_have_one_channel_unless_asked(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), (90, 90, 90)).save(tmp_path / "a.png")
    assert load("image_folder", 8, path=str(tmp_path)).image_shape == (1, 8, 8)
    assert load("image_folder", 8, path=str(tmp_path), channels=3).image_shape == (3, 8, 8)
    Image.new("RGB", (8, 8), (90, 90, 91)).save(tmp_path / "b.png")
    assert load("image_folder", 8, path=str(tmp_path)).image_shape == (3, 8, 8)


@pytest.mark.filterwarnings("ignore:.*could not be read")
def test_links_to_nothing_and_to_folders_are_named(tmp_path: Path) -> None:
    pictures, elsewhere = tmp_path / "pictures", tmp_path / "elsewhere"
    for folder in (pictures, elsewhere):
        folder.mkdir()
        Image.new("L", (8, 8)).save(folder / "a.png")
    (pictures / "gone.png").symlink_to(tmp_path / "nothing.png")
    (pictures / "more").symlink_to(elsewhere)
    data = load("image_folder", 8, path=str(pictures))
    assert data.files == ("a.png",)
    assert data.reasons == {"gone.png": "is a link to nothing", "more/": "is a link to a folder"}


def test_a_deep_picture_whose_pixels_are_damaged_is_skipped(tmp_path: Path) -> None:
    Image.new("L", (16, 16)).save(tmp_path / "good.png")
    Image.fromarray(np.full((16, 16), 0.5, np.float32)).save(tmp_path / "floats.tif")
    (tmp_path / "floats.tif").write_bytes((tmp_path / "floats.tif").read_bytes()[:-900])
    with pytest.warns(UserWarning, match="1 of 2 pictures could not be read and were skipped: floats.tif"):
        assert load("image_folder", 16, path=str(tmp_path)).files == ("good.png",)


def test_a_name_that_is_not_text_is_skipped(tmp_path: Path) -> None:
    for name in ("a.png", os.fsdecode(b"\xff\xfe.png")):
        Image.new("L", (16, 16)).save(tmp_path / name, format="PNG")
    with pytest.warns(UserWarning, match="1 of 2 pictures could not be read and were skipped: "):
        assert load("image_folder", 16, path=str(tmp_path)).files == ("a.png",)
    assert len(content_digest(tmp_path, "path")) == 16


def test_names_are_as_many_as_factors(tmp_path: Path) -> None:
    factors, names = np.arange(10).reshape(5, 2), np.array(["a"] * 1000)
    np.savez(tmp_path / "a.npz", images=np.zeros((5, 8, 8), np.uint8), factors=factors, names=names)
    with pytest.raises(InputError, match="holds 1,000 names for 2 factors; expected one per factor"):
        load("image_folder", 16, path=str(tmp_path / "a.npz"))


def test_people_are_shown_the_files_at_a_larger_side(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(tmp_path / f"{name}.png")
    data = open_image_folder(4, tmp_path)
    assert not isinstance(data, ArrayData)
    assert torch.equal(data.shown_at([1, 0], 16), open_image_folder(16, tmp_path).images_at([1, 0]))
    assert torch.equal(data.shown_at([0], 4), data.images_at([0]))
    assert data.shown_at([], 16).shape[0] == 0
    (tmp_path / "b.png").unlink()
    assert torch.equal(data.shown_at([0, 1], 16), data.images_at([0, 1]))


def test_deep_pictures_are_shown_as_bright_as_they_were_read(tmp_path: Path) -> None:
    for name, value in (("dark", 1_000), ("bright", 4_000)):
        Image.fromarray(np.full((16, 16), value, np.uint16)).save(tmp_path / f"{name}.png")
    data = open_image_folder(4, tmp_path)
    assert not isinstance(data, ArrayData)
    assert data.shown_at([0, 1], 16)[:, :, 0, 0].tolist() == data.images_at([0, 1])[:, :, 0, 0].tolist()
