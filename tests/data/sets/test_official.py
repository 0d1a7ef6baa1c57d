"""Loaders of official files, on small files of the same formats written here."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from unbraid.data import files, stored
from unbraid.data.files import RemoteFile
from unbraid.data.sets import cars3d, dsprites_official, flowers102, mnist, mpi3d, shapes3d_official, small_norb, stl10
from unbraid.errors import InputError

REAL = Path(__file__).parents[4] / "shared" / "data"
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


def store(file: RemoteFile, contents: bytes) -> RemoteFile:
    """Put bytes where the file belongs, and declare them to be the published ones."""
    path = files._path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)
    return replace(file, sha256=hashlib.sha256(contents).hexdigest(), md5=None, size=len(contents), contents=None)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`put(module, *contents)` stores the contents of the module's files, in their order."""

    def put(module: ModuleType, *contents: bytes) -> None:
        monkeypatch.setattr(module, "FILES", tuple(map(store, module.FILES, contents)))

    return put


Put = Callable[..., None]


def random_images(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def npz(**members: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **members)
    return file.getvalue()


def tar_gz(**members: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, contents in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))
    return file.getvalue()


def mat(**members: Any) -> bytes:
    file = io.BytesIO()
    savemat(file, members, do_compression=True)
    return file.getvalue()


class Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return (open, (self.mark, "w"))


OPENERS: list[tuple[str, Callable[[], Any]]] = [
    ("dsprites_official", dsprites_official.open_dsprites_official),
    ("shapes3d_official", shapes3d_official.open_shapes3d_official),
    ("mpi3d_complex", lambda: mpi3d.open_mpi3d(variant="complex")),
    ("cars3d", cars3d.open_cars3d),
    ("small_norb", small_norb.open_small_norb),
    ("mnist", mnist.open_mnist),
    ("stl10", stl10.open_stl10),
    ("flowers102", flowers102.open_flowers102),
]


@pytest.mark.parametrize(("name", "opener"), OPENERS)
def test_what_is_not_here_says_how_to_get_it(name: str, opener: Callable[[], Any]) -> None:
    with pytest.raises(InputError) as caught:
        opener()
    assert str(caught.value) == (
        f"{name} is not on this machine; run 'unbraid data get {name}' or 'unbraid data get {name} --from PATH'"
    )


@pytest.mark.parametrize("module", [mnist, stl10, flowers102])
def test_an_unknown_split_is_named(module: ModuleType) -> None:
    name = module.__name__.rpartition(".")[2]
    with pytest.raises(InputError, match=f"{name} has no split 'trian'; did you mean 'train'"):
        getattr(module, f"open_{name}")(split="trian")


def test_a_resolution_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="resolution is 0"):
        mnist.open_mnist(0)


# dSprites and MPI3D: .npz


@pytest.fixture
def sprites(put: Put, monkeypatch: pytest.MonkeyPatch) -> Array:
    monkeypatch.setattr(dsprites_official, "SIZES", (2, 1, 2, 3, 2))
    images = (random_images(24, 64, 64) > 127).astype(np.uint8)
    put(dsprites_official, npz(imgs=images, latents_classes=np.zeros((24, 6), np.int64)))
    return images


def test_dsprites_rows_are_the_files_and_white_is_255(sprites: Array) -> None:
    data = dsprites_official.open_dsprites_official()
    assert len(data) == 24
    assert data.image_shape == (1, 64, 64)
    rows = [5, 23, 0, 5]
    assert np.array_equal(data.images_at(rows)[:, 0].numpy(), sprites[rows] * 255)
    factors = data.factors_at(rows)
    assert factors[1].tolist() == [1, 0, 1, 2, 1]  # the last factor is the fastest
    assert torch.equal(data.images(factors), data.images_at(rows))
    assert data.images_at([]).shape == (0, 1, 64, 64)


def test_dsprites_is_unpacked_once(sprites: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    dsprites_official.open_dsprites_official()
    monkeypatch.setattr(zipfile, "ZipFile", None)
    data = dsprites_official.open_dsprites_official(32)
    assert data.images_at([0, 1]).shape == (2, 1, 32, 32)
    folder = files._path(dsprites_official.FILES[0]).parent
    stem = Path(dsprites_official.FILES[0].name).stem
    assert sorted(path.name for path in folder.iterdir()) == [f"{stem}.imgs.npy", f"{stem}.npz"]


def test_an_incomplete_unpacked_file_is_unpacked_again(sprites: Array) -> None:
    dsprites_official.open_dsprites_official()
    unpacked = next(files._path(dsprites_official.FILES[0]).parent.glob("*.npy"))
    unpacked.write_bytes(unpacked.read_bytes()[:1000])
    data = dsprites_official.open_dsprites_official()
    assert np.array_equal(data.images_at([7])[0, 0].numpy(), sprites[7] * 255)


def test_no_pickle_in_an_npz_is_ever_executed(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dsprites_official, "SIZES", (1, 1, 1, 1, 2))
    mark = tmp_path / "executed"
    payload = np.array([Bomb(mark)], dtype=object)
    images = np.ones((2, 64, 64), np.uint8)
    put(dsprites_official, npz(imgs=images, metadata=payload))
    assert int(dsprites_official.open_dsprites_official().images_at([1]).sum()) == 255 * 64 * 64
    for unpacked in files._path(dsprites_official.FILES[0]).parent.glob("*.npy"):
        unpacked.unlink()
    put(dsprites_official, npz(imgs=payload))
    with pytest.raises(InputError, match=r"'imgs' is object \(1,\); expected uint8"):
        dsprites_official.open_dsprites_official()
    put(dsprites_official, pickle.dumps(Bomb(mark)))
    with pytest.raises(InputError, match=r"is damaged or not an \.npz"):
        dsprites_official.open_dsprites_official()
    assert not mark.exists()


def test_foreign_and_wrongly_shaped_npz_are_named(put: Put) -> None:
    name = r"dsprites_ndarray_co1sh3sc6or40x32y32_64x64\.npz"
    put(dsprites_official, npz(imgs=np.zeros((3, 64, 64), np.uint8)))
    expected = r"'imgs' is uint8 \(3, 64, 64\); expected uint8 \(737280, 64, 64\)"
    with pytest.raises(InputError, match=f"{name}: {expected}"):
        dsprites_official.open_dsprites_official()
    put(dsprites_official, npz(other=np.zeros(3)))
    with pytest.raises(InputError, match=f"{name} has no member 'imgs'"):
        dsprites_official.open_dsprites_official()


def test_a_truncated_or_damaged_npz_is_named(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dsprites_official, "SIZES", (1, 1, 1, 1, 50))
    whole = npz(imgs=random_images(50, 64, 64))
    put(dsprites_official, whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"is damaged or not an \.npz file"):
        dsprites_official.open_dsprites_official()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    put(dsprites_official, bytes(flipped))
    with pytest.raises(InputError, match=r"is damaged or not an \.npz file"):
        dsprites_official.open_dsprites_official()
    assert [path.suffix for path in files._path(dsprites_official.FILES[0]).parent.iterdir()] == [".npz"]


def test_damage_after_the_download_is_named(sprites: Array) -> None:
    path = files._path(dsprites_official.FILES[0])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"is damaged: expected .* bytes, found .*unbraid data get dsprites_official"):
        dsprites_official.open_dsprites_official()


def test_no_room_to_unpack_is_said(sprites: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = files.shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match=r"no room for .*imgs\.npy"):
        dsprites_official.open_dsprites_official()


@pytest.mark.parametrize("variant", ["toy", "complex"])
def test_mpi3d_rows_are_the_files(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (2, 1, 1, 1, 1, 2, 3)
    images = random_images(math.prod(sizes), 64, 64, 3)
    monkeypatch.setitem(mpi3d.SIZES, variant, sizes)
    monkeypatch.setitem(mpi3d.FILES, variant, (store(mpi3d.FILES[variant][0], npz(images=images)),))
    data = mpi3d.open_mpi3d(variant=variant)
    assert data.names[0] == "object_color"
    assert data.names[-1] == "vertical_axis"
    assert np.array_equal(data.images([[1, 0, 0, 0, 0, 1, 2]])[0].numpy(), images[11].transpose(2, 0, 1))
    small = mpi3d.open_mpi3d(16, variant)
    expected = np.asarray(Image.fromarray(images[4]).resize((16, 16), Image.Resampling.LANCZOS))
    assert np.array_equal(small.images_at([4])[0].numpy(), expected.transpose(2, 0, 1))


def test_mpi3d_sizes_are_those_of_the_published_files() -> None:
    assert {variant: math.prod(sizes) for variant, sizes in mpi3d.SIZES.items()} == {
        "toy": 1_036_800, "realistic": 1_036_800, "real": 1_036_800, "complex": 460_800,
    }  # fmt: skip
    with pytest.raises(InputError, match="mpi3d has no variant 'raal'; did you mean 'real'"):
        mpi3d.open_mpi3d(variant="raal")


# 3D Shapes: .h5


def h5(tmp_path: Path, images: Array, **how: Any) -> bytes:
    path = tmp_path / "written.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images, **how)
        file.create_dataset("labels", data=np.zeros((len(images), 6)))
    return path.read_bytes()


@pytest.mark.parametrize("chunks", [None, (1, 64, 64, 3), (5, 8, 8, 1)])
def test_shapes3d_rows_are_the_files(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: tuple[int, ...] | None
) -> None:
    monkeypatch.setattr(shapes3d_official, "SIZES", (1, 2, 1, 2, 1, 3))
    images = random_images(12, 64, 64, 3)
    compression = "gzip" if chunks else None
    put(shapes3d_official, h5(tmp_path, images, chunks=chunks, compression=compression))
    data = shapes3d_official.open_shapes3d_official()
    rows = [11, 3, 3, 0]  # h5py itself takes neither unsorted nor repeated rows
    assert np.array_equal(data.images_at(rows).numpy(), images[rows].transpose(0, 3, 1, 2))
    assert np.array_equal(data.images([[0, 1, 0, 1, 0, 2]])[0].numpy(), images[11].transpose(2, 0, 1))
    unpacked = files._path(shapes3d_official.FILES[0]).with_name("3dshapes.images.npy")
    assert unpacked.exists() == (chunks == (5, 8, 8, 1))  # only blocks that span images


def test_foreign_h5_files_are_named(put: Put, tmp_path: Path) -> None:
    whole = h5(tmp_path, np.zeros((3, 64, 64, 3), np.uint8))
    put(shapes3d_official, whole)
    with pytest.raises(InputError, match=r"'images' is uint8 \(3, 64, 64, 3\); expected uint8 \(480000, 64, 64, 3\)"):
        shapes3d_official.open_shapes3d_official()
    for contents in (whole[:3000], b"no HDF5 at all"):
        put(shapes3d_official, contents)
        with pytest.raises(InputError, match=r"3dshapes\.h5 is damaged or not an HDF5 file"):
            shapes3d_official.open_shapes3d_official()
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.create_group("images/deeper")
    put(shapes3d_official, (tmp_path / "other.h5").read_bytes())
    with pytest.raises(InputError, match="has no array 'images'"):
        shapes3d_official.open_shapes3d_official()


# Cars3D: .tar.gz of .mat


@pytest.fixture
def cars(monkeypatch: pytest.MonkeyPatch) -> dict[str, Array]:
    monkeypatch.setattr(cars3d, "SIZES", (4, 2, 3))
    return {name: random_images(16, 16, 3, 2, 4, seed=seed) for seed, name in enumerate("bca")}


def test_cars3d_orders_elevation_azimuth_car(put: Put, cars: dict[str, Array]) -> None:
    members = {f"data/cars/car_{name}_mesh.mat": mat(im=views, mask=views[:, :, 0]) for name, views in cars.items()}
    put(cars3d, tar_gz(**{"data/sprites/x.mat": b"?", "data/cars/list.txt": b"?"}, **members))
    data = cars3d.open_cars3d(16)
    assert len(data) == 24
    for elevation, azimuth, car in [(0, 0, 0), (3, 1, 2), (1, 0, 1)]:
        expected = cars["abc"[car]][:, :, :, azimuth, elevation].transpose(2, 0, 1)
        assert np.array_equal(data.images([[elevation, azimuth, car]])[0].numpy(), expected)
    assert cars3d.open_cars3d(8).images_at([5]).shape == (1, 3, 8, 8)


def test_cars3d_that_are_not_the_published_ones_are_named(put: Put, cars: dict[str, Array]) -> None:
    one = mat(im=cars["a"])
    for contents, expected in [
        (tar_gz(**{"data/cars/car_a.mat": one}), "holds 1 cars; expected 3"),
        (tar_gz(**{"data/cars/car_a.mat": mat(im=np.zeros((4, 4), np.uint8))}), r"car_a\.mat is uint8 \(4, 4\)"),
        (tar_gz(**{"data/cars/car_a.mat": mat(other=np.zeros(4))}), r"car_a\.mat has no numbers called 'im'"),
        (tar_gz(**{"data/cars/car_a.mat": one[: len(one) // 2]}), r"car_a\.mat is damaged or not a MATLAB file"),
        (tar_gz(**{"data/cars/car_a.mat": one})[:-200], r"is damaged or not a \.tar\.gz file"),
        (b"no archive", r"is damaged or not a \.tar\.gz file"),
    ]:
        put(cars3d, contents)
        with pytest.raises(InputError, match=expected):
            cars3d.open_cars3d(16)


# SmallNORB: gzipped matrices


def norb(array: Array) -> bytes:
    magic = {"u": 0x1E3D4C55, "i": 0x1E3D4C54}[array.dtype.kind]
    shape = array.shape + (1,) * max(0, 3 - array.ndim)
    return gzip.compress(struct.pack(f"<{2 + len(shape)}i", magic, array.ndim, *shape) + array.tobytes())


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> tuple[list[bytes], Array, Array]:
    """Six files of two halves: their images, and category, instance, elevation, azimuth, lighting."""
    monkeypatch.setattr(small_norb, "_PAIRS", 4)  # more than one block each
    images = random_images(14, 2, 16, 16)
    rng = np.random.default_rng(1)
    labels = np.stack([rng.integers(size, size=14) for size in (5, 10, 9, 18, 6)], axis=1).astype("<i4")
    contents = []
    for half in (slice(0, 6), slice(6, 14)):
        info = labels[half, 1:].copy()
        info[:, 2] *= 2  # the file's azimuth counts in steps of two
        contents += [norb(images[half]), norb(labels[half, 0].copy()), norb(info)]
    return contents, images, labels


def test_small_norb_joins_both_halves_of_the_left_camera(put: Put, toys: tuple[list[bytes], Array, Array]) -> None:
    contents, images, labels = toys
    put(small_norb, *contents)
    data = small_norb.open_small_norb(16)
    assert len(data) == 14
    assert data.image_shape == (1, 16, 16)
    assert np.array_equal(data.all_factors().numpy(), labels[:, [0, 2, 3, 4]])
    assert np.array_equal(data.images_at(range(14))[:, 0].numpy(), images[:, 0])
    row = int(data.index_of(data.factors_at([9]))[0])
    assert np.array_equal(data.images(data.factors_at([9]))[0, 0].numpy(), images[row, 0])
    assert small_norb.open_small_norb(8).images_at([3]).shape == (1, 1, 8, 8)


def test_the_instance_of_small_norb_is_a_nuisance(put: Put) -> None:
    images = random_images(4, 2, 8, 8)
    info = np.array([[instance, 1, 4, 3] for instance in range(4)], "<i4")
    half = [norb(images), norb(np.full(4, 2, "<i4")), norb(info)]
    put(small_norb, *half, *half)
    data = small_norb.open_small_norb(8)
    drawn = data.images(torch.tensor([[2, 1, 2, 3]]).repeat(50, 1), rng=0)
    assert len(drawn.flatten(1).unique(dim=0)) == 4


def test_norb_files_that_are_not_are_named(put: Put, toys: tuple[list[bytes], Array, Array]) -> None:
    contents, _, labels = toys
    for place, wrong, expected in [
        (0, contents[0][:-100], r"training-dat\.mat\.gz is damaged or not a gzip file"),
        (0, gzip.compress(gzip.decompress(contents[0])[:-7]), r"dat\.mat\.gz is damaged .*ends too early"),
        (1, b"foreign", r"training-cat\.mat\.gz is damaged or not a gzip file"),
        (4, contents[5], r"testing-cat\.mat\.gz is not a NORB matrix of 1 dimensions"),
        (3, norb(random_images(7, 2, 16, 16)), r"testing-dat\.mat\.gz is \(7, 2, 16, 16\); expected \(8, 2"),
        (2, norb(labels[:5]), r"have shapes \(6,\) and \(5, 5\)"),
        (2, norb(np.full((6, 4), 99, "<i4")), "factor 'elevation' is 99; expected 0 to 8"),
    ]:
        put(small_norb, *contents[:place], wrong, *contents[place + 1 :])
        with pytest.raises(InputError, match=expected):
            small_norb.open_small_norb(16)


# MNIST: idx


def idx(array: Array) -> bytes:
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


@pytest.fixture
def digits(put: Put) -> tuple[Array, Array]:
    images, labels = random_images(9, 28, 28), np.arange(9, dtype=np.uint8)
    put(mnist, idx(images[:6]), idx(labels[:6]), idx(images[6:]), idx(labels[6:]))
    return images, labels


def test_mnist_splits_are_the_files(digits: tuple[Array, Array]) -> None:
    images, labels = digits
    for split, rows in (("train", slice(0, 6)), ("test", slice(6, 9))):
        data = mnist.open_mnist(28, split)
        assert np.array_equal(data.images_at(range(len(data)))[:, 0].numpy(), images[rows])
        assert data.all_factors()[:, 0].tolist() == labels[rows].tolist()
    grown = mnist.open_mnist(64, "train").images([[3]])[0, 0].numpy()
    assert np.array_equal(grown, np.asarray(Image.fromarray(images[3]).resize((64, 64), Image.Resampling.LANCZOS)))


def test_idx_files_that_are_not_are_named(put: Put) -> None:
    images, labels = idx(random_images(3, 28, 28)), idx(np.zeros(3, np.uint8))
    for first, second, expected in [
        (b"foreign", labels, r"train-images-idx3-ubyte\.gz is damaged or not a gzip file"),
        (images[:-9], labels, r"train-images-idx3-ubyte\.gz is damaged or not a gzip file"),
        (labels, labels, r"train-images-idx3-ubyte\.gz is not an idx file of 3-dimensional bytes"),
        (gzip.compress(gzip.decompress(images)[:-1]), labels, r"holds 2,351 values; its header says \(3, 28, 28\)"),
        (images, idx(np.zeros(4, np.uint8)), r"holds 3 images but train-labels-idx1-ubyte\.gz 4 labels"),
        (images, idx(np.full(3, 10, np.uint8)), "factor 'digit' is 10; expected 0 to 9"),
    ]:
        put(mnist, first, second, b"", b"")
        with pytest.raises(InputError, match=expected):
            mnist.open_mnist(28)


def test_real_mnist_is_taken_and_read() -> None:
    if not (REAL / "mnist").is_dir():
        pytest.skip("the real MNIST files are not on this machine")
    for file in mnist.FILES:
        files.take(file, REAL / "mnist")  # packed again, yet recognised by what it holds
    data = mnist.open_mnist(28, "test")
    assert len(data) == 10_000
    assert data.all_factors()[:10, 0].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert data.images_at(torch.arange(10_000)).float().mean() / 255 == pytest.approx(0.1325, abs=1e-4)


# STL-10: binary .tar.gz


def test_stl10_turns_columns_into_rows(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stl10, "SPLITS", {"train": 3, "test": 2, "unlabeled": 4})
    monkeypatch.setattr(stl10, "_ROWS", 2)
    images = random_images(9, 3, 96, 96)  # (n, channel, row, column)
    stored_images = images.transpose(0, 1, 3, 2)
    labels = np.array([10, 1, 5, 2, 7], np.uint8)
    put(stl10, tar_gz(**{
        "stl10_binary/test_X.bin": stored_images[3:5].tobytes(),
        "stl10_binary/test_y.bin": labels[3:].tobytes(),
        "stl10_binary/train_X.bin": stored_images[:3].tobytes(),
        "stl10_binary/train_y.bin": labels[:3].tobytes(),
        "stl10_binary/unlabeled_X.bin": stored_images[5:].tobytes(),
    }))  # fmt: skip
    train, test = stl10.open_stl10(96), stl10.open_stl10(96, "test")
    assert np.array_equal(train.images_at(range(3)).numpy(), images[:3])
    assert np.array_equal(test.images_at(range(2)).numpy(), images[3:5])
    assert train.all_factors()[:, 0].tolist() == [9, 0, 4]
    assert test.all_factors()[:, 0].tolist() == [1, 6]
    unlabeled = stl10.open_stl10(96, "unlabeled")
    assert unlabeled.names == ()
    assert np.array_equal(unlabeled.images_at(range(4)).numpy(), images[5:])
    assert unlabeled.images(torch.empty(7, 0, dtype=torch.int64), rng=0).shape == (7, 3, 96, 96)
    assert unlabeled.sample(5, 0)[1].shape == (5, 0)
    assert stl10.open_stl10(32).images_at([0]).shape == (1, 3, 32, 32)


def test_stl10_archives_that_are_not_are_named(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stl10, "SPLITS", {"train": 2, "test": 2, "unlabeled": 4})
    image = random_images(96 * 96 * 3).tobytes()
    for contents, expected in [
        (tar_gz(other=b"?"), r"holds no train_X\.bin"),
        (tar_gz(**{"stl10_binary/train_X.bin": image}), r"train_X\.bin holds 27,648 bytes; expected 55,296"),
        (tar_gz(**{"stl10_binary/train_X.bin": image + b"?"}), r"train_X\.bin holds 27,649 bytes; expected 55,296"),
        (tar_gz(**{"stl10_binary/train_X.bin": image * 2})[:5000], r"is damaged or not a \.tar\.gz"),
    ]:
        put(stl10, contents)
        with pytest.raises(InputError, match=expected):
            stl10.open_stl10(96)


# Flowers: .tgz of .jpg, .mat


def jpg(colour: tuple[int, int, int], size: tuple[int, int] = (20, 12)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "JPEG", quality=95)
    return file.getvalue()


def test_flowers_are_joined_with_their_labels(put: Put) -> None:
    colours = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 0)]
    pictures = {f"jpg/image_{row + 1:05d}.jpg": jpg(colour) for row, colour in reversed(list(enumerate(colours)))}
    labels = mat(labels=np.array([[102, 1, 7, 7]], np.uint8))
    splits = mat(trnid=np.array([[3]]), valid=np.array([[1]]), tstid=np.array([[4, 2]]))
    put(flowers102, tar_gz(**pictures), labels, splits)
    data = flowers102.open_flowers102(8)
    assert data.all_factors()[:, 0].tolist() == [101, 0, 6, 6]
    assert np.allclose(data.images_at(range(4)).float().mean((2, 3)).numpy(), colours, atol=4)
    test = flowers102.open_flowers102(8, "test")
    assert test.all_factors()[:, 0].tolist() == [6, 0]
    assert torch.equal(test.images_at([1]), data.images_at([1]))
    assert len(flowers102.open_flowers102(8, "train")) == 1


def test_flowers_that_are_not_the_published_ones_are_named(put: Put) -> None:
    labels, splits = mat(labels=np.array([[1, 2]], np.uint8)), mat(trnid=np.array([[9]], np.uint16))
    good = jpg((9, 9, 9))
    both = tar_gz(**{"jpg/image_00001.jpg": good, "jpg/image_00002.jpg": good})
    for contents, split, expected in [
        ((tar_gz(**{"jpg/image_00001.jpg": good}), labels, splits), "all", "holds 1 images; expected 2"),
        ((tar_gz(**{"jpg/image_00003.jpg": good}), labels, splits), "all", r"holds jpg/image_00003\.jpg; expected"),
        ((tar_gz(**{"jpg/image_00001.jpg": good[:99]}), labels, splits), "all", "cannot be read as a picture"),
        ((both, b"foreign", splits), "all", r"imagelabels\.mat is damaged or not a MATLAB file"),
        ((both, labels, splits), "train", r"setid\.mat names image 9; there are 2"),
        ((both, labels, splits), "valid", r"setid\.mat has no numbers called 'valid'"),
    ]:
        put(flowers102, *contents)
        with pytest.raises(InputError, match=expected):
            flowers102.open_flowers102(8, split)


# What they share


def test_a_grid_resizes_and_reads_in_any_order() -> None:
    pixels = random_images(6, 10, 10)
    grid = stored.StoredGrid(pixels, ("a", "b"), (2, 3), resolution=5, source="here")
    rows = torch.tensor([4, 0, 4, 2])
    images = grid.images_at(rows)
    assert images.shape == (4, 1, 5, 5)
    assert images.is_contiguous()
    assert torch.equal(images, torch.cat([grid.images_at([row]) for row in rows.tolist()]))
    assert torch.equal(images, grid.images(grid.factors_at(rows)))


def test_tar_members_never_leave_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "inside" / "evil.tar.gz"
    path.parent.mkdir()
    path.write_bytes(tar_gz(**{"../../cars/evil.mat": b"x", "/cars/absolute.mat": b"y"}))
    before = sorted(tmp_path.rglob("*"))
    assert [contents for _, contents in stored.tar_members(path, "*.mat")] == [b"x", b"y"]
    assert sorted(tmp_path.rglob("*")) == before
