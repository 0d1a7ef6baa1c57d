"""Labelled pictures of your own: a folder of class folders, or an .npz of images and labels."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unbraid.data.array_data import as_bytes
from unbraid.data.cache import Array
from unbraid.data.factors import Rows, check_resolution
from unbraid.data.reading import read_arrays
from unbraid.data.sets.digits import SPLITS, TEST_EVERY
from unbraid.data.sets.image_folder import open_image_folder
from unbraid.data.stored import check_split, planes
from unbraid.errors import InputError

NAMES = ("class",)


def open_class_pictures(path: str | Path, resolution: int = 64, split: str = "train") -> Rows:
    """One split of labelled pictures: RGB, each the largest centred square; classes in the order of their names.

    A folder holds one folder per class, or `train` and `test` with one folder per class each. An .npz holds `images`
    and `labels`, or `train_images`, `train_labels`, `test_images` and `test_labels`. Where there is no test set, every
    sixth picture of a class is one.
    """
    check_resolution(resolution)
    check_split("class_pictures", split, SPLITS)
    source = Path(path).expanduser()
    if source.is_dir():
        labelled = _from_folder(source, resolution, split)
    elif source.suffix.lower() == ".npz" and source.exists():
        labelled = _from_npz(source, resolution, split)
    else:
        raise InputError(f"{source} is neither a folder of class folders nor an .npz file of images and labels")
    images, labels, classes = labelled
    return Rows(images, labels[:, None], NAMES, (len(classes),), source=f"pictures in {source.name}")


Labelled = tuple[Tensor, Tensor, list[str]]  # images (n, 3, H, W), labels (n,), names of the classes


def _from_folder(folder: Path, resolution: int, split: str) -> Labelled:
    parted = all((folder / name).is_dir() for name in SPLITS)
    classes = _class_folders(folder / "train" if parted else folder)
    if parted and _class_folders(folder / "test") != classes:
        raise InputError(f"{folder}: train and test have different class folders; expected the same in both")
    pictures = open_image_folder(resolution, folder / split if parted else folder, channels=3)
    names = [name.split("/")[0] for name in pictures.files]
    stray = [file for file, name in zip(pictures.files, names, strict=True) if name not in classes]
    if stray:
        raise InputError(f"{folder} holds {stray[0]} outside any class folder; expected one folder per class")
    labels = torch.tensor([classes.index(name) for name in names])
    return _part(pictures.images_at(range(len(pictures))), labels, classes, "" if parted else split)


def _class_folders(folder: Path) -> list[str]:
    classes = sorted(child.name for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    if len(classes) < 2:
        raise InputError(f"{folder} holds {len(classes)} class folders; expected at least two")
    return classes


def _from_npz(path: Path, resolution: int, split: str) -> Labelled:
    if path.is_file() and not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz file despite its name; numpy.savez writes them")

    def check(members: Collection[str]) -> None:
        start, labelled = ("train_", ["train_labels"]) if "train_images" in members else ("", [])
        start = f"{split}_" if start else ""
        for member in (f"{start}images", f"{start}labels", *labelled):
            if member not in members:
                raise InputError(f"{path} holds {', '.join(members)}; expected '{member}' among them")

    arrays = read_arrays(path, "labelled pictures", check=check)
    parted = "train_images" in arrays
    start = f"{split}_" if parted else ""
    images, labels = arrays[f"{start}images"], arrays[f"{start}labels"]
    known = arrays["train_labels"] if parted else labels
    if labels.shape != (len(images),) or labels.dtype.kind not in "iuUS":
        expected = f"a whole number or a word for each of {len(images)} images"
        raise InputError(f"{path}: labels are {labels.dtype} {labels.shape}; expected {expected}")
    classes = np.unique(known)
    if len(classes) < 2:
        raise InputError(f"{path} has only the class {classes[0]}; expected at least two")
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise InputError(f"{path}: the test set has the class {unknown[0]}, which the training set lacks")
    pixels = torch.from_numpy(planes(_in_colour(as_bytes(str(path), images)), resolution))
    indices = torch.from_numpy(np.searchsorted(classes, labels).astype(np.int64))
    return _part(pixels, indices, [str(name) for name in classes], "" if parted else split)


def _in_colour(images: Array) -> Array:
    """uint8 (n, H, W), or (n, H, W, 3 or 4), as (n, H, W, 3)."""
    return np.repeat(images[..., None], 3, 3) if images.ndim == 3 else images[..., :3]


def _part(images: Tensor, labels: Tensor, classes: list[str], split: str) -> Labelled:
    """The rows of one split, where the files have none; with `split` empty, all rows."""
    if not split:
        return images, labels, classes
    number = torch.empty_like(labels)  # of a picture within its class
    for label in range(len(classes)):
        own = labels == label
        number[own] = torch.arange(int(own.sum()))
    rows = ((number % TEST_EVERY == 0) == (split == "test")).nonzero().flatten()
    missing = [name for label, name in enumerate(classes) if not bool((labels[rows] == label).any())]
    if missing:
        raise InputError(f"class '{missing[0]}' has too few pictures to train and test on; expected at least 2")
    return images[rows], labels[rows], classes
