from __future__ import annotations

import doctest
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import unbraid
from unbraid.data import ArrayData, array_data, load
from unbraid.data.wrappers.labelled import factor_labels
from unbraid.errors import InputError
from unbraid.pictures.contact_sheets import contact_sheet

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 6, 8, 3), dtype=np.uint8)
TABLE = {
    "shape": np.array(["heart", "square", "ellipse"] * 10),
    "angle": RNG.uniform(0, 360, 30),
    "size": np.array([1.0, 3.0, np.nan, 3.0, 1.0] * 6),
}
DATA = ArrayData(IMAGES, TABLE)


def test_factors_are_numbered_and_keep_their_types() -> None:
    assert (DATA.names, DATA.sizes, DATA.image_shape) == (("shape", "angle", "size"), (3, 20, 2), (3, 6, 8))
    assert DATA.labels is not None
    assert DATA.labels.types == ("classes", "continuous", "ordered")
    factors = DATA.factors_at([0, 1, 2, 3])
    assert factors[:, 0].tolist() == [1, 2, 0, 1]  # by the alphabet, which means nothing
    assert factors[:, 2].tolist() == [0, 1, -1, 1]
    expected = np.floor((TABLE["angle"] - TABLE["angle"].min()) / np.ptp(TABLE["angle"]) * 20).clip(0, 19)
    assert DATA.all_factors()[:, 1].tolist() == expected.tolist()
    assert DATA.missing == 6
    assert DATA.labels_at(torch.tensor([3, 0])).values[:, 2].tolist() == [3, 1]


def test_images_by_row_and_by_factors() -> None:
    assert torch.equal(DATA.images_at([4]), torch.from_numpy(IMAGES[[4]]).permute(0, 3, 1, 2))
    whole = ArrayData(IMAGES, {"shape": TABLE["shape"]})
    drawn = whole.images([[0], [1]], 3)
    assert any(torch.equal(drawn[0], whole.images_at([row])[0]) for row in range(2, 30, 3))
    assert int(whole.index_of([[2]])[0]) == 1
    with pytest.raises(InputError, match="no image here has shape=0, angle=0, size=1"):
        DATA.images([[0, 0, 1]])
    many = ArrayData(IMAGES, RNG.integers(2, size=(30, 100)))  # more combinations than numbers
    assert len(many.images(many.factors_at([5, 6]))) == 2


@pytest.mark.parametrize(
    "images",
    [
        IMAGES.transpose(0, 3, 1, 2),
        torch.from_numpy(IMAGES),
        IMAGES / 255,
        np.concatenate([IMAGES, np.full((30, 6, 8, 1), 255, np.uint8)], 3),
    ],
    ids=["channels first", "tensor", "floats", "opaque"],
)
def test_layouts_of_images(images: Any) -> None:
    assert torch.equal(ArrayData(images, TABLE).images_at(range(30)), DATA.images_at(range(30)))


def test_the_digest_is_of_images_and_labels() -> None:
    assert DATA.digest == ArrayData(IMAGES.copy(), dict(TABLE)).digest == DATA.describe()["content"]
    others = [
        ArrayData(255 - IMAGES, TABLE),
        ArrayData(IMAGES, {**TABLE, "shape": TABLE["shape"][::-1]}),
        ArrayData(IMAGES, TABLE, ["kind", "angle", "size"]),
        ArrayData(IMAGES, TABLE, types={"size": "classes"}),
        ArrayData(IMAGES, {**TABLE, "shape": np.char.add(TABLE["shape"], "!")}),
    ]
    assert len({DATA.digest, *(other.digest for other in others)}) == 6


def test_it_trains_and_scores_without_the_rows_that_have_no_label(tmp_path: Path) -> None:
    small = ArrayData(
        RNG.integers(0, 256, (60, 16, 16), dtype=np.uint8), {"v": [0, 1, 2, None, 1, 0] * 10, "w": [0, 1] * 30}
    )
    settings: dict[str, Any] = {"latents": 2, "network": "small", "batch_size": 8}
    run = unbraid.train("beta_vae", small, steps=2, out=tmp_path / "run", protocol={"mig": {}, "irs": {}}, **settings)
    record = run.read_json("scores")
    assert record["samples"]["all"] == 50
    assert record["notes"][0] == "left out 10 of 60 rows without a label for v"


def test_labels_that_are_missing_stay_missing_or_are_refused() -> None:
    given = factor_labels(DATA, 30)
    assert torch.isnan(given[2]).tolist() == [False, False, True]
    for settings in ({"pairs": "shape"}, {"tasks": "2"}, {"codes": "factors"}):
        with pytest.raises(InputError, match="need every label; 1 rows have missing labels"):
            load("image_folder", 8, path=_npz_with_holes(), **settings)


def _npz_with_holes() -> str:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "a.npz"
    np.savez(path, images=IMAGES[:3], factors=[[0, 1.0], [1, math.nan], [2, 0.0]], names=["shape", "b"])
    return str(path)


def test_a_contact_sheet_of_data_that_is_not_a_grid() -> None:
    assert contact_sheet("mine", DATA).width > 100


def test_errors() -> None:
    for arguments, message in (
        ((IMAGES, {"a": [1, 2]}), "there are 30 images but 2 rows of factors"),
        ((IMAGES.astype(int), TABLE), "ArrayData: images are int64; expected uint8, or floats"),
        ((IMAGES * 2.0, TABLE), "ArrayData: images are floats from 0 to 510; expected"),
        ((IMAGES[0], TABLE), "there are 6 images but 30"),
        ((IMAGES, {"a": [math.nan] * 30}), "factor 'a' has no labels; leave it out"),
    ):
        with pytest.raises(InputError, match=message):
            ArrayData(*arguments)
    assert doctest.testmod(array_data).failed == 0


# Folders and files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index in range(4):
        (tmp_path / "pictures" / "ab"[index % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(IMAGES[index]).save(tmp_path / "pictures" / "ab"[index % 2] / f"img{index}.png")
    return tmp_path


def opened(folder: Path, table: pd.DataFrame, **settings: Any) -> ArrayData:
    table.to_csv(folder / "labels.csv", index=False)
    data = load("image_folder", 6, path=folder / "pictures", factors=folder / "labels.csv", **settings)
    assert isinstance(data, ArrayData)
    return data


@pytest.mark.parametrize("key", ["{d}/img{i}.png", "./{d}/img{i}.png", "img{i}.png", "{d}/img{i}", "img{i}"])
def test_a_folder_is_joined_with_its_labels_by_name(folder: Path, key: str) -> None:
    order = [2, 0, 3, 1]
    table = pd.DataFrame({"file": [key.format(i=i, d="ab"[i % 2]) for i in order], "shape": list("cadb"), "x": order})
    data = opened(folder, table, types="x=classes")
    assert data.files == ("a/img0.png", "a/img2.png", "b/img1.png", "b/img3.png")
    assert data.labels is not None
    assert data.labels.values.tolist() == [[0, 0], [2, 2], [1, 1], [3, 3]]
    assert data.labels.types == ("classes", "classes")


def test_pictures_and_rows_without_each_other_are_named(folder: Path) -> None:
    table = pd.DataFrame({"file": ["img0.png", "img1.png", "img9.png"], "x": [1, 2, 3]})
    with pytest.warns(UserWarning, match=r"labels.csv: (2 pictures have no row|1 rows have no picture)"):
        data = opened(folder, table)
    assert data.missing == 2
    assert data.all_factors()[:, 0].tolist() == [0, -1, 1, -1]


def test_the_id_follows_the_labels(folder: Path) -> None:
    from unbraid.data.catalogue import content

    table = pd.DataFrame({"file": ["img0.png", "img1.png", "img2.png", "img3.png"], "x": [1, 2, 3, 4]})
    settings = {"path": str(folder / "pictures"), "factors": str(folder / "labels.csv")}
    first = opened(folder, table), content("image_folder", settings)
    second = opened(folder, table.assign(x=[1, 2, 3, 5])), content("image_folder", settings)
    assert first[0].digest != second[0].digest
    assert first[1] != second[1]
    assert str(folder) not in str(first[1])


def test_an_npz_with_factors(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES, factors=TABLE["shape"], names=["shape"])
    data = load("image_folder", 6, path=tmp_path / "a.npz")
    assert (data.names, data.sizes) == (("shape",), (3,))
    with pytest.raises(InputError, match=r"factors is for a folder of pictures; a.npz holds its own"):
        load("image_folder", 6, path=tmp_path / "a.npz", factors=tmp_path / "b.csv")


def test_wrong_tables_are_one_line(folder: Path) -> None:
    files = ["img0.png", "img1.png"]
    for table, message in (
        (
            pd.DataFrame({"file": files}),
            "labels.csv has 1 column; expected the names of pictures and then their labels",
        ),
        (pd.DataFrame({"file": ["img0.png"] * 2, "x": [1, 2]}), "labels.csv names the picture 'img0.png' twice"),
        (pd.DataFrame({"file": ["x.png", "y.png"], "x": [1, 2]}), "no picture is in labels.csv: its first column has"),
    ):
        with pytest.raises(InputError, match=message):
            opened(folder, table)
    (folder / "labels.csv").write_text("file,x,x\nimg0.png,1,2\n")
    for name, message in (
        ("labels.csv", "2 columns called 'x'"),
        ("none.csv", "does not exist"),
        ("a.txt", "expected a .csv"),
    ):
        with pytest.raises(InputError, match=message):
            load("image_folder", 6, path=folder / "pictures", factors=folder / name)
    with pytest.raises(InputError, match="types is for pictures with factors"):
        load("image_folder", 6, path=folder / "pictures", types="x=classes")
