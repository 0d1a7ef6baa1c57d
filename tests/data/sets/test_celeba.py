"""CelebA from a made-up copy: a zip and a folder, with and without attributes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import load
from unbraid.data.sets.celeba import open_celeba
from unbraid.errors import InputError

COLOURS = [(200, 20, 20), (20, 200, 20), (20, 20, 200)]
ATTRIBUTES = """3
Smiling Young
000001.jpg -1  1
000002.jpg  1 -1
000003.jpg  1  1
"""


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three pictures whose middle differs from their border, and a zip of it."""
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "img_align_celeba"
    folder.mkdir()
    for number, colour in enumerate(COLOURS, 1):
        pixels = np.full((218, 178, 3), 255, np.uint8)
        pixels[35:183, 15:163] = colour
        Image.fromarray(pixels).save(folder / f"{number:06d}.jpg", quality=95)
    with zipfile.ZipFile(tmp_path / "img_align_celeba.zip", "w") as archive:
        for path in sorted(folder.iterdir(), reverse=True):
            archive.write(path, f"img_align_celeba/{path.name}")
    (tmp_path / "list_attr_celeba.txt").write_text(ATTRIBUTES)
    return tmp_path


@pytest.mark.parametrize("name", ["img_align_celeba", "img_align_celeba.zip"])
def test_faces_are_the_centre_of_the_pictures_in_the_order_of_their_names(copy: Path, name: str) -> None:
    data = load("celeba", 8, path=str(copy / name))
    assert (len(data), data.names, data.image_shape) == (3, (), (3, 8, 8))
    images = data.images_at(range(3)).float()
    np.testing.assert_allclose(images.mean((2, 3)).numpy(), COLOURS, atol=4)
    assert images.std((2, 3)).max() < 12, "the border is cut off"
    assert open_celeba(8, copy / name, crop=178).images_at([0]).float().std() > 20
    assert data.files == ("000001.jpg", "000002.jpg", "000003.jpg")  # type: ignore[attr-defined]


def test_attributes_are_factors(copy: Path) -> None:
    data = open_celeba(8, copy / "img_align_celeba.zip", copy / "list_attr_celeba.txt")
    assert (data.names, data.sizes) == (("Smiling", "Young"), (2, 2))
    assert data.factors_at(range(3)).tolist() == [[0, 1], [1, 0], [1, 1]]
    assert data.index_of([[1, 0]]).tolist() == [1]


def test_a_wrong_copy_is_named(copy: Path) -> None:
    with pytest.raises(InputError, match=r"celeba needs the setting path: expected img_align_celeba\.zip"):
        open_celeba(8)
    with pytest.raises(InputError, match="nowhere does not exist"):
        open_celeba(8, copy / "nowhere")
    with pytest.raises(InputError, match="cannot be read: File is not a zip file"):
        open_celeba(8, copy / "list_attr_celeba.txt")
    (copy / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no \.jpg"):
        open_celeba(8, copy / "empty")
    with pytest.raises(InputError, match=r"000001\.jpg is 178 x 218; expected at least 300 x 300"):
        open_celeba(8, copy / "img_align_celeba.zip", crop=300)
    wrong = copy / "wrong.txt"
    wrong.write_text(ATTRIBUTES.replace("000002.jpg  1 -1", "000002.jpg  1"))
    with pytest.raises(InputError, match=r"the line of 000002\.jpg is not 2 times -1 or 1"):
        open_celeba(8, copy / "img_align_celeba", wrong)
    wrong.write_text(ATTRIBUTES.replace("000003.jpg", "000009.jpg"))
    with pytest.raises(InputError, match=r"has no line for 000003\.jpg"):
        open_celeba(8, copy / "img_align_celeba", wrong)
    (copy / "img_align_celeba" / "000002.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"000002\.jpg cannot be read as a picture"):
        open_celeba(8, copy / "img_align_celeba")
