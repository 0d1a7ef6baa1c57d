"""Handwritten digits that come with scikit-learn, enlarged smoothly: MNIST's stand-in where its files are absent."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from unbraid.data.cache import Array, drawn_array
from unbraid.data.factors import Rows, check_resolution
from unbraid.data.stored import as_tensor, check_split

NAMES = ("digit",)
SIZES = (10,)
SPLITS = ("train", "test")
COUNT = 1797
TEST_EVERY = 6  # rows 0, 6, 12, … are the test split
_GAIN = 1.25  # strokes as white as MNIST's; the originals are counts of dark dots


def open_digits(resolution: int = 28, split: str = "train") -> Rows:
    """1,497 digits of the training split, or the 300 of the test split."""
    check_resolution(resolution)
    check_split("digits", split, SPLITS)
    shape = (COUNT, 1, resolution, resolution)
    images = drawn_array(f"digits_{resolution}", shape, np.uint8, lambda: [_enlarged(resolution)])
    labels = drawn_array("digits_labels", (COUNT,), np.int64, lambda: [_read()[1]])
    rows = torch.arange(COUNT)
    rows = rows[(rows % TEST_EVERY == 0) == (split == "test")]
    source = "scikit-learn's digits, enlarged"
    return Rows(as_tensor(images)[rows], as_tensor(labels)[rows][:, None], NAMES, SIZES, source=source)


def _read() -> tuple[Array, Array]:
    """Images (n, 8, 8) from 0 to 16, and classes (n,)."""
    from sklearn.datasets import load_digits  # a second of start-up

    found = load_digits()
    return found.images, found.target


def _enlarged(resolution: int) -> Array:
    """Bicubic, with a border of one of the eight original pixels: uint8 (n, 1, resolution, resolution)."""
    small = F.pad(torch.from_numpy(_read()[0]).float()[:, None] / 16, (1, 1, 1, 1))
    large = F.interpolate(small, (resolution, resolution), mode="bicubic", align_corners=False)
    pixels: Array = (255 * _GAIN * large).clamp(0, 255).round().to(torch.uint8).numpy()
    return pixels
