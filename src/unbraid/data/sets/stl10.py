"""STL-10 (Coates et al. 2011): photographs of ten classes, and many without a label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Rows, check_resolution
from unbraid.data.files import RemoteFile, checked, needed
from unbraid.data.stored import as_tensor, check_split, planes, tar_blocks
from unbraid.errors import InputError

NAMES = ("class",)
SIZES = (10,)
FILES = (
    RemoteFile(
        "stl10/stl10_binary.tar.gz",
        (
            "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            "https://cs.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
        ),
        sha256="f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
        size=2_640_397_119,
    ),
)
SPLITS = {"train": 5_000, "test": 8_000, "unlabeled": 100_000}
_IMAGE = (3, 96, 96)
_ROWS = 500  # images read at a time


def open_stl10(resolution: int = 64, split: str = "train") -> FactorData:
    """5,000 training, 8,000 test or 100,000 unlabeled photographs; the last have no factor."""
    check_resolution(resolution)
    check_split("stl10", split, SPLITS)
    needed("stl10", FILES)
    count = SPLITS[split]
    shape = (count, 3, resolution, resolution)
    images = drawn_array(f"stl10_{split}_{resolution}", shape, np.uint8, lambda: _images(split, count, resolution))
    if split == "unlabeled":
        none = torch.empty(count, 0, dtype=torch.int64)
        return Rows(as_tensor(images), none, (), (), source="the published file")
    labels = drawn_array(f"stl10_{split}_labels", (count,), np.int64, lambda: _labels(split, count))
    return Rows(as_tensor(images), as_tensor(labels)[:, None], NAMES, SIZES, source="the published file")


def _images(split: str, count: int, resolution: int) -> Iterator[Array]:
    """The file lists a photograph channel by channel and each channel column by column."""
    for block in _member(f"{split}_X.bin", count, int(np.prod(_IMAGE))):
        yield planes(block.reshape(-1, *_IMAGE).transpose(0, 3, 2, 1), resolution)


def _labels(split: str, count: int) -> Iterator[Array]:
    """The file counts from 1."""
    for block in _member(f"{split}_y.bin", count, 1):
        yield block.astype(np.int64) - 1


def _member(name: str, count: int, row: int) -> Iterator[Array]:
    path = checked("stl10", FILES[0])
    size = 0
    for block in tar_blocks(path, f"*{name}", _ROWS * row):
        size += len(block)
        if len(block) % row:
            break
        yield np.frombuffer(block, np.uint8)
    if size != count * row:
        raise InputError(f"{path}: {name} holds {size:,} bytes; expected {count * row:,}")


DECLARED = DataSet("stl10", NAMES, SIZES, "STL-10's file", open_stl10, FILES, count=113_000)
