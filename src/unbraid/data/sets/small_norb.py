"""SmallNORB (LeCun et al. 2004): toys of five categories, photographed from all around under six lights."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, Rows, check_resolution
from unbraid.data.files import RemoteFile, checked, needed
from unbraid.data.stored import as_tensor, planes
from unbraid.errors import InputError

NAMES = ("category", "elevation", "azimuth", "lighting")
SIZES = (5, 9, 18, 6)
_TRAINING, _TESTING = "smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing"


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    mirrors = ("https://cs.nyu.edu/~ylclab/data/norb-v1.0-small", "https://cs.nyu.edu/~yann/data/norb-v1.0-small")
    return RemoteFile(f"small_norb/{name}", tuple(f"{mirror}/{name}" for mirror in mirrors), sha256=sha256, size=size)


# Images, categories and the other labels, of one half and the other.
FILES = (
    _file(f"{_TRAINING}-dat.mat.gz", 131_896_188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    _file(f"{_TRAINING}-cat.mat.gz", 348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    _file(f"{_TRAINING}-info.mat.gz", 71_052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    _file(f"{_TESTING}-dat.mat.gz", 130_799_817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    _file(f"{_TESTING}-cat.mat.gz", 347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    _file(f"{_TESTING}-info.mat.gz", 10_428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
)
# What a matrix file holds, by the number it starts with.
_TYPES: dict[int, np.dtype[Any]] = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
_PAIRS = 500  # image pairs read at a time


def open_small_norb(resolution: int = 64) -> FactorData:
    """Both halves of the published images, left camera. Which of a category's ten toys is shown is not a factor."""
    check_resolution(resolution)
    needed("small_norb", FILES)
    halves = [_factors(FILES[1], FILES[2]), _factors(FILES[4], FILES[5])]
    factors, counts = np.concatenate(halves), [len(half) for half in halves]
    shape = (len(factors), 1, resolution, resolution)
    images = drawn_array(f"small_norb_{resolution}", shape, np.uint8, lambda: _left_images(resolution, counts))
    return Rows(as_tensor(images), torch.from_numpy(factors), NAMES, SIZES, source="the published files")


def _factors(categories: RemoteFile, info: RemoteFile) -> Array:
    """int64 (n, 4). The file gives instance, elevation, azimuth in steps of two, lighting."""
    category = np.concatenate(list(_matrix(checked("small_norb", categories), 1)))
    others = np.concatenate(list(_matrix(checked("small_norb", info), 2)))
    if len(category) != len(others) or others.shape[1] != 4:
        shapes = f"{category.shape} and {others.shape}"
        raise InputError(f"{categories.base} and {info.base} have shapes {shapes}; expected (n,) and (n, 4)")
    return np.column_stack([category, others[:, 1], others[:, 2] // 2, others[:, 3]]).astype(np.int64)


def _left_images(resolution: int, counts: list[int]) -> Iterator[Array]:
    paths = [checked("small_norb", file) for file in (FILES[0], FILES[3])]
    for path, count in zip(paths, counts, strict=True):
        for pairs in _matrix(path, 4, count):
            yield planes(pairs[:, 0], resolution)


def _matrix(path: Path, dimensions: int, pairs: int | None = None) -> Iterator[Array]:
    """A gzipped matrix of the NORB format, some rows at a time; `pairs` is how many pairs of images it must hold."""
    try:
        with gzip.open(path) as reader:
            magic, rank = struct.unpack("<2i", _exactly(reader, 8))
            if magic not in _TYPES or rank != dimensions:
                raise InputError(f"{path} is not a NORB matrix of {dimensions} dimensions")
            shape = struct.unpack(f"<{max(3, rank)}i", _exactly(reader, 4 * max(3, rank)))[:rank]
            if pairs is not None and (shape[:2] != (pairs, 2) or shape[2] != shape[3] or _TYPES[magic] != np.uint8):
                raise InputError(f"{path} is {shape}; expected ({pairs}, 2, side, side) of bytes")
            row = _TYPES[magic].itemsize * math.prod(shape[1:])
            for start in range(0, shape[0], _PAIRS):
                rows = min(_PAIRS, shape[0] - start)
                yield np.frombuffer(_exactly(reader, rows * row), _TYPES[magic]).reshape(rows, *shape[1:])
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise InputError(f"{path} is damaged or not a gzip file: {error}") from error


def _exactly(reader: gzip.GzipFile, size: int) -> bytes:
    data = reader.read(size)
    if len(data) != size:
        raise EOFError("it ends too early")
    return data


DECLARED = DataSet(
    "small_norb", NAMES, SIZES, "SmallNORB's files, toys a nuisance", open_small_norb, FILES, count=48_600
)
