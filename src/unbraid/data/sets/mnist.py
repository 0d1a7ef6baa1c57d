"""MNIST (LeCun et al. 1998): handwritten digits. The writer is not a factor."""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np
import torch

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import Rows, check_resolution
from unbraid.data.files import RemoteFile, checked
from unbraid.data.stored import as_tensor, check_split, planes
from unbraid.errors import InputError

NAMES = ("digit",)
SIZES = (10,)


def _file(name: str, size: int, sha256: str, contents: str) -> RemoteFile:
    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
    urls = tuple(f"{mirror}/{name}" for mirror in mirrors)
    return RemoteFile(f"mnist/{name}", urls, sha256=sha256, size=size, contents=contents)


# Images and labels of the training split, then of the test split.
FILES = (
    _file(
        "train-images-idx3-ubyte.gz", 9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    _file(
        "train-labels-idx1-ubyte.gz", 28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    _file(
        "t10k-images-idx3-ubyte.gz", 1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    _file(
        "t10k-labels-idx1-ubyte.gz", 4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)  # fmt: skip
SPLITS = {"train": 0, "test": 2}  # index in FILES of the split's two files


def open_mnist(resolution: int = 64, split: str = "train") -> Rows:
    """The 60,000 digits of the training split, or the 10,000 of the test split."""
    check_resolution(resolution)
    check_split("mnist", split, SPLITS)
    images_file, labels_file = FILES[SPLITS[split] :][:2]
    images, labels = _idx(images_file, 3), _idx(labels_file, 1)
    if len(images) != len(labels):
        raise InputError(f"{images_file.base} holds {len(images)} images but {labels_file.base} {len(labels)} labels")
    shape = (len(images), 1, resolution, resolution)
    pixels = drawn_array(f"mnist_{split}_{resolution}", shape, np.uint8, lambda: [planes(images, resolution)])
    factors = torch.from_numpy(labels.astype(np.int64))[:, None]
    return Rows(as_tensor(pixels), factors, NAMES, SIZES, source="the published files")


def _idx(file: RemoteFile, dimensions: int) -> Array:
    """The array in a gzipped idx file of unsigned bytes."""
    path = checked("mnist", file)
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged or not a gzip file: {error}") from error
    header = 4 + 4 * dimensions
    if data[:4] != bytes([0, 0, 8, dimensions]) or len(data) < header:
        raise InputError(f"{path} is not an idx file of {dimensions}-dimensional bytes")
    shape = struct.unpack(f">{dimensions}I", data[4:header])
    values = np.frombuffer(data, np.uint8, offset=header)
    if len(values) != np.prod(shape, dtype=np.int64):
        raise InputError(f"{path} holds {len(values):,} values; its header says {shape}")
    return values.reshape(shape)


DECLARED = DataSet("mnist", NAMES, SIZES, "MNIST's files", open_mnist, FILES, count=70_000)
