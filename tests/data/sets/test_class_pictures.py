from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.data.sets.class_pictures import open_class_pictures
from unbraid.errors import InputError

Array = np.ndarray[Any, Any]


def grey(level: int, side: int = 12) -> Array:
    return np.full((side, side, 3), level, np.uint8)


def folder_of(place: Path, classes: dict[str, list[int]]) -> Path:
    """A folder a class, with a picture of each of the levels."""
    for name, levels in classes.items():
        (place / name).mkdir(parents=True)
        for number, level in enumerate(levels):
            Image.fromarray(grey(level)).save(place / name / f"{number:02d}.png")
    return place


def levels(data: Any) -> list[tuple[int, int]]:
    """Class and level of each row."""
    images = data.images_at(range(len(data)))
    return [(int(label), int(image[0, 0, 0])) for label, image in zip(data.all_factors()[:, 0], images, strict=True)]


def test_class_folders_and_every_sixth_for_testing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "photos", {"cat": list(range(0, 70, 10)), "ant": list(range(100, 180, 10))})
    train, test = (open_class_pictures(folder, 8, split) for split in ("train", "test"))
    assert train.sizes == test.sizes == (2,)
    assert levels(test) == [(0, 100), (0, 160), (1, 0), (1, 60)]  # ant comes before cat
    assert sorted(levels(train) + levels(test)) == sorted(
        [(0, level) for level in range(100, 180, 10)] + [(1, level) for level in range(0, 70, 10)]
    )
    assert train.image_shape == (3, 8, 8)


def test_folders_for_training_and_testing(tmp_path: Path) -> None:
    folder_of(tmp_path / "photos" / "train", {"a": [1, 2], "b": [3]})
    folder_of(tmp_path / "photos" / "test", {"a": [4], "b": [5, 6]})
    assert levels(open_class_pictures(tmp_path / "photos", 8, "train")) == [(0, 1), (0, 2), (1, 3)]
    assert levels(open_class_pictures(tmp_path / "photos", 8, "test")) == [(0, 4), (1, 5), (1, 6)]


def test_arrays_with_and_without_a_test_set(tmp_path: Path) -> None:
    images, labels = np.stack([grey(level) for level in range(12)]), np.array(["x", "y"] * 6)
    np.savez(tmp_path / "whole.npz", images=images, labels=labels)
    whole = [levels(open_class_pictures(tmp_path / "whole.npz", 12, split)) for split in ("train", "test")]
    assert whole[1] == [(0, 0), (1, 1)]
    assert sorted(whole[0] + whole[1]) == sorted((level % 2, level) for level in range(12))
    np.savez(
        tmp_path / "parted.npz", train_images=images, train_labels=np.arange(12) % 3 + 5, test_images=images[:2],
        test_labels=np.array([6, 5]),
    )  # fmt: skip
    assert levels(open_class_pictures(tmp_path / "parted.npz", 12, "test")) == [(1, 0), (0, 1)]
    assert open_class_pictures(tmp_path / "parted.npz", 12).sizes == (3,)


def test_grey_pictures_and_channels_first(tmp_path: Path) -> None:
    flat = np.stack([grey(level)[..., 0] for level in (10, 20, 30, 40)])
    np.savez(tmp_path / "flat.npz", images=flat, labels=[0, 0, 1, 1])
    assert open_class_pictures(tmp_path / "flat.npz", 12).images_at([0]).unique().tolist() == [20]
    assert open_class_pictures(tmp_path / "flat.npz", 12).image_shape == (3, 12, 12)
    first = np.stack([grey(level) for level in (10, 20, 30, 40)]).transpose(0, 3, 1, 2)
    np.savez(tmp_path / "first.npz", images=first, labels=[0, 0, 1, 1])
    assert torch.equal(
        open_class_pictures(tmp_path / "first.npz", 12).images_at([0, 1]),
        open_class_pictures(tmp_path / "flat.npz", 12).images_at([0, 1]),
    )


def test_errors(tmp_path: Path) -> None:
    def refused(path: Path, message: str, split: str = "train") -> None:
        with pytest.raises(InputError, match=message) as error:
            open_class_pictures(path, 8, split)
        assert "\n" not in str(error.value)

    images = np.stack([grey(level) for level in range(4)])
    refused(tmp_path / "nothing", "is neither a folder of class folders nor an .npz file")
    folder_of(tmp_path / "one", {"a": [1, 2]})
    refused(tmp_path / "one", "holds 1 class folders; expected at least two")
    stray = folder_of(tmp_path / "stray", {"a": [1, 2], "b": [1, 2]})
    Image.fromarray(grey(3)).save(stray / "c.png")
    refused(stray, "c.png outside any class folder")
    folder_of(tmp_path / "few", {"a": [1, 2], "b": [1]})
    refused(tmp_path / "few", "class 'b' has too few pictures")
    folder_of(tmp_path / "parted" / "train", {"a": [1], "b": [1]})
    folder_of(tmp_path / "parted" / "test", {"a": [1], "c": [1]})
    refused(tmp_path / "parted", "train and test have different class folders")
    np.savez(tmp_path / "a.npz", pictures=images)
    refused(tmp_path / "a.npz", "holds pictures; expected 'images' among them")
    np.savez(tmp_path / "b.npz", images=images, labels=np.zeros((4, 2), int))
    refused(tmp_path / "b.npz", r"labels are int64 \(4, 2\); expected a whole number or a word for each of 4 images")
    np.savez(tmp_path / "c.npz", images=images, labels=np.zeros(4, int))
    refused(tmp_path / "c.npz", "has only the class 0; expected at least two")
    parts = {"train_images": images, "train_labels": [0, 0, 1, 1], "test_images": images, "test_labels": [0, 1, 2, 0]}
    np.savez(tmp_path / "d.npz", **parts)
    refused(tmp_path / "d.npz", "the test set has the class 2, which the training set lacks", "test")
    (tmp_path / "e.npz").write_bytes(b"no archive")
    refused(tmp_path / "e.npz", "is not an .npz file despite its name")
    with (tmp_path / "g.npz").open("wb") as file:
        np.save(file, images)
    refused(tmp_path / "g.npz", "is not an .npz file despite its name")
    np.savez(tmp_path / "f.npz", images=np.array([{}, {}], dtype=object), labels=[0, 1])
    refused(tmp_path / "f.npz", "holds Python objects, which are not read")
