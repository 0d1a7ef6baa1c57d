"""Handwritten digits: scikit-learn's, enlarged smoothly, as MNIST's stand-in, and the choice between the two."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from unbraid.data.cache import Array, drawn_array
from unbraid.data.factors import Rows, check_resolution
from unbraid.data.files import stored
from unbraid.data.sets import mnist
from unbraid.data.stored import as_tensor, check_split
from unbraid.errors import InputError, nearest

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


SOURCES = {"mnist": mnist.open_mnist, "sklearn": open_digits}


def open_from(source: str, resolution: int, split: str) -> Rows:
    """Digits of mnist or of sklearn; auto is the first of them whose files are on this machine."""
    if source not in ("auto", *SOURCES):
        raise InputError(f"digits is '{source}'{nearest(source, ['auto', *SOURCES])}")
    return SOURCES[source_here() if source == "auto" else source](resolution, split)


def source_here() -> str:
    return "mnist" if all(stored(file) for file in mnist.FILES) else "sklearn"


def _read() -> tuple[Array, Array]:
    """Images (n, 8, 8) from 0 to 16, and classes (n,)."""
    from sklearn.datasets import load_digits  # a second of start-up

    digits = load_digits()
    return digits.images, digits.target


def _enlarged(resolution: int) -> Array:
    """Bicubic, with a border of one of the eight original pixels: uint8 (n, 1, resolution, resolution)."""
    small = F.pad(torch.from_numpy(_read()[0]).float()[:, None] / 16, (1, 1, 1, 1))
    large = F.interpolate(small, (resolution, resolution), mode="bicubic", align_corners=False)
    pixels: Array = (255 * _GAIN * large).clamp(0, 255).round().to(torch.uint8).numpy()
    return pixels
