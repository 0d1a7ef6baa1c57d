from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from click.testing import CliRunner
from torch import Tensor

from unbraid.cli import app
from unbraid.data import PairData, Rows, load
from unbraid.data.factors import FactorData
from unbraid.data.files import take
from unbraid.data.sets import mnist
from unbraid.data.sets.digits import open_digits
from unbraid.data.sets.mnist_stl10 import BOX, ROWS, DigitsOnBackgrounds, corners, open_mnist_stl10, pooled
from unbraid.data.sets.scenes import KEPT, SCENES, Scenes, draw, open_scenes, uniform
from unbraid.errors import InputError

# A composition whose images say what they are made of


def coded(split: str, rows: int = 4000) -> DigitsOnBackgrounds:
    """Digits of 128 + 10·instance + class, backgrounds with class, instance and split in their three channels."""
    ids = {"train": range(6), "test": range(6, 9)}[split]
    cells = [(number, instance) for number in range(10) for instance in ids]
    classes = torch.tensor([number for number, _ in cells])[:, None]
    digits, backgrounds = torch.empty(len(cells), 1, 7, 7), torch.empty(len(cells), 3, 16, 16)
    for row, (number, instance) in enumerate(cells):
        digits[row] = 128 + 10 * instance + number
        backgrounds[row] = torch.tensor([number, instance, 100.0 * (split == "test")])[:, None, None]
    parts = (Rows(images.byte(), classes, ["class"], [10], source=split) for images in (digits, backgrounds))
    return DigitsOnBackgrounds(*parts, rows)


def read(images: Tensor) -> dict[str, Tensor]:
    """What `coded` images are made of, each (n,)."""
    digit = images.amax((1, 2, 3)).long() - 128
    inside = images[:, 0] >= 128
    top, left = (inside.any(axis).long().argmax(1) for axis in (2, 1))
    location = torch.stack([top * 100 + left == y * 100 + x for y, x in corners(16, 7)], 1).long().argmax(1)
    outside = images.masked_fill(inside[:, None], 0).flatten(2).amax(2).long()
    return {
        "digit": digit % 10, "digit_instance": digit // 10, "location": location, "boxes": inside.flatten(1).sum(1),
        "background": outside[:, 0], "background_instance": outside[:, 1], "test": outside[:, 2],
    }  # fmt: skip


@pytest.mark.parametrize("split", ["train", "test"])
def test_images_show_their_factors_and_instances_of_their_split(split: str) -> None:
    data = coded(split)
    images, factors = data.sample(4000, 0)
    found = read(images)
    for column, name in enumerate(data.names):
        assert torch.equal(found[name], factors[:, column]), name
    assert found["boxes"].eq(49).all()  # the whole digit is inside
    expected = {"train": {0, 1, 2, 3, 4, 5}, "test": {6, 7, 8}}[split]
    assert set(found["digit_instance"].tolist()) == set(found["background_instance"].tolist()) == expected
    assert found["test"].eq(100 if split == "test" else 0).all()


def test_both_images_of_a_pair_draw_instances_of_their_own() -> None:
    batch = PairData(coded("train"), ["digit", "background"]).batch(4000, 0)
    mine, other = read(batch["images"]), read(batch["partners"])
    for name in ("digit", "background"):
        assert torch.equal(mine[name], other[name])
        same = (mine[f"{name}_instance"] == other[f"{name}_instance"]).double().mean()
        assert 1 / 6 - 0.03 < same < 1 / 6 + 0.03


def test_instances_are_drawn_anew_with_every_image() -> None:
    data = coded("train")
    first, second = data.images([[3, 4, 5]] * 200, 0), data.images([[3, 4, 5]] * 200, 1)
    assert not torch.equal(first, second)
    assert torch.equal(first, data.images([[3, 4, 5]] * 200, 0))
    assert len(set(read(first)["digit_instance"].tolist())) == 6


def test_a_pixel_is_the_brighter_of_the_two() -> None:
    flat = torch.full((1, 1, 8, 8), 90, dtype=torch.uint8)
    ramp = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).repeat(1, 3, 1, 1)
    only = torch.zeros(1, 1, dtype=torch.int64)
    parts = (Rows(images, only, ["class"], [1], source="") for images in (flat, ramp))
    data = DigitsOnBackgrounds(*parts, 8)
    for location, (top, left) in enumerate(data.corners):
        image = data.images([[0, 0, location]])[0, 0]
        for y in range(16):
            for x in range(16):
                covered = top <= y < top + 8 and left <= x < left + 8
                assert image[y, x] == (max(90, 16 * y + x) if covered else 16 * y + x)


def test_places_are_two_rows_of_four_with_the_digit_inside() -> None:
    assert corners(64, 28) == [(top, left) for top in (0, 36) for left in (0, 12, 24, 36)]
    assert corners(32, 14) == [(top, left) for top in (0, 18) for left in (0, 6, 12, 18)]


# The generator that the authors released


def test_the_released_generator_puts_digits_into_the_middle_of_their_half() -> None:
    assert corners(64, 28, released=True) == [(top, left) for top in (2, 34) for left in (0, 12, 24, 36)]


def test_a_digit_that_leaves_no_room_for_its_positions_is_refused() -> None:
    with pytest.raises(InputError, match="a digit of 15 pixels has no 4 positions across 16"):
        corners(16, 15)
    with pytest.raises(InputError, match=r"digit_size is 1\.2; expected more than 0 and less than 1"):
        load("mnist_stl10", 32, digits="sklearn", backgrounds="scenes", digit_size=1.2)


def test_files_are_pooled_split_90_to_10_and_cropped_to_their_middle() -> None:
    def part(first: int, count: int) -> Rows:
        ramp = torch.arange(36, dtype=torch.uint8).view(1, 1, 6, 6).repeat(count, 1, 1, 1)
        images = ramp + torch.arange(first, first + count, dtype=torch.uint8)[:, None, None, None]
        classes = torch.arange(first, first + count)[:, None] % 2
        return Rows(images, classes, ["class"], [2], source="a file")

    parts = [part(0, 12), part(12, 8)]
    train, test = (pooled(parts, split, cropped=4) for split in ("train", "test"))
    assert (len(train), len(test)) == (18, 2)
    assert train.image_shape == (1, 4, 4)
    assert test.images_at([0])[0, 0, 0].tolist() == [18 + 7, 18 + 8, 18 + 9, 18 + 10]  # row 1, columns 1 to 4
    assert train.all_factors()[:, 0].tolist() == [row % 2 for row in range(18)]
    assert pooled(parts, "train").image_shape == (1, 6, 6)


def test_by_the_released_recipe_the_third_factor_always_differs() -> None:
    data = load("mnist_stl10", 16, digits="sklearn", backgrounds="scenes", recipe="released")
    batch = data.batch(2000, 0)
    mine, other = batch["factors"], batch["partner_factors"]
    assert torch.equal(mine[:, :2], other[:, :2])
    assert not bool((mine[:, 2] == other[:, 2]).any())
    counts = torch.bincount((other[:, 2] - mine[:, 2]) % 8, minlength=8)[1:].double()
    assert ((counts - 2000 / 7) ** 2 / (2000 / 7)).sum() < 25  # any other location, equally often
    with pytest.raises(InputError, match="recipe is 'txt'; did you mean 'text'"):
        load("mnist_stl10", 16, digits="sklearn", backgrounds="scenes", recipe="txt")


def test_backgrounds_are_dimmed_and_mixed_with_others() -> None:
    classes = torch.arange(10)[:, None]
    digits = Rows(torch.zeros(10, 1, 7, 7, dtype=torch.uint8), classes, ["class"], [10], source="")
    scenes = torch.zeros(10, 3, 16, 16, dtype=torch.uint8)
    scenes[0] = 200  # class 0 is bright, all others are dark
    backgrounds = Rows(scenes, classes, ["class"], [10], source="")
    factors = torch.zeros(4000, 3, dtype=torch.int64)
    dim = DigitsOnBackgrounds(digits, backgrounds, 800, brightness=0.5).images(factors[:2], 0)
    assert set(dim.flatten().tolist()) == {100}
    mixed = DigitsOnBackgrounds(digits, backgrounds, 800, blend=0.75).images(factors, 0)[:, 0, 15, 15].double()
    own = mixed[mixed < 200] / 200  # 0.9 of them are mixed with a dark one
    assert own.min() >= 0.25
    assert abs(float(own.mean()) - (1 - 0.75 / 2)) < 0.02
    assert abs(float((own > 0.5).double().mean()) - 0.5 / 0.75) < 0.03  # how often the own class has the larger part
    assert DigitsOnBackgrounds(digits, backgrounds, 800, blend=0.75).describe()["blend"] == 0.75
    assert "blend" not in DigitsOnBackgrounds(digits, backgrounds, 800).describe()
    with pytest.raises(InputError, match="blend is 2; expected 0 to 1"):
        DigitsOnBackgrounds(digits, backgrounds, 800, blend=2.0)


@pytest.mark.parametrize("rows", [1000, 4000, 10_000])
def test_rows_hold_every_combination_about_as_often(rows: int) -> None:
    data = coded("train", rows)
    factors = data.all_factors()
    counts = torch.bincount(data.to_grid(factors), minlength=800)
    assert counts.min() >= rows // 800
    assert counts.max() <= -(-rows // 800)
    first = data.index_of(factors)
    assert torch.equal(data.factors_at(first), factors)
    assert (first <= torch.arange(rows)).all()
    earlier = (first - 1).clamp(min=0)
    assert ((data.to_grid(data.factors_at(earlier)) < data.to_grid(factors)) | (first == 0)).all()


# What is embedded


@pytest.mark.parametrize(("resolution", "backgrounds"), [(32, "scenes"), (64, "new_scenes")])
def test_the_embedded_data_has_the_papers_shape(resolution: int, backgrounds: str) -> None:
    settings = {"digits": "sklearn", "backgrounds": backgrounds}
    data = load("mnist_stl10", resolution, **settings)
    assert data.names == ("digit", "background", "location")
    assert data.sizes == (10, 10, 8)
    assert data.image_shape == (3, resolution, resolution)
    assert len(data) == ROWS["train"] == 100_000
    assert data.held_out is not None
    test = load("mnist_stl10", resolution, split="test", **settings)
    assert len(data.held_out) == len(test) == 10_000
    assert test.held_out is None
    assert torch.equal(data.held_out.sample(4, 0)[0], test.sample(4, 0)[0])
    assert data.sample(4, 0)[0].dtype == torch.uint8


def bytes_of(images: Tensor) -> set[bytes]:
    return {image.numpy().tobytes() for image in images}


def test_no_digit_is_in_both_splits() -> None:
    train, test = (open_digits(28, split) for split in ("train", "test"))
    assert (len(train), len(test)) == (1497, 300)
    first, second = (bytes_of(part.images_at(range(len(part)))) for part in (train, test))
    assert len(first) == 1497
    assert not first & second
    assert torch.bincount(test.all_factors()[:, 0]).min() >= 20


def test_no_scene_is_in_both_splits() -> None:
    train, test = (open_scenes(32, split) for split in ("train", "test"))
    assert (len(train), len(test)) == (10 * KEPT["train"], 10 * KEPT["test"])
    first, second = (bytes_of(part.images_at(range(len(part)))) for part in (train, test))
    assert len(first) == len(train)  # no two alike
    assert not first & second


def test_new_scenes_are_endless_and_never_those_of_the_other_split() -> None:
    rng = torch.Generator().manual_seed(0)
    train, test = (Scenes(16, split).instances(10_000, rng) for split in ("train", "test"))
    assert (train % 2 == 0).all()
    assert (test % 2 == 1).all()
    assert len(train.unique()) == 10_000
    kept = open_scenes(32, "test")
    assert torch.equal(kept.images_at([0, KEPT["test"] + 2]), draw(torch.tensor([0, 1]), torch.tensor([1, 5]), 32))


def test_digits_are_what_scikit_learn_has() -> None:
    from sklearn.datasets import load_digits

    found = load_digits()
    data = open_digits(28, "test")
    assert data.all_factors()[:, 0].tolist() == found.target[::6].tolist()
    back = F.interpolate(data.images_at(range(300)).float(), (10, 10), mode="area")[:, 0, 1:-1, 1:-1]
    for ours, theirs in zip(back.flatten(1), found.images[::6].reshape(300, -1), strict=True):
        assert np.corrcoef(ours, theirs)[0, 1] > 0.9


# Scenes


def test_a_scene_is_a_function_of_its_class_and_instance() -> None:
    classes, instances = torch.arange(10).repeat(3), torch.arange(30) * 7
    together = draw(classes, instances, 32)
    for row in (0, 11, 29):
        assert torch.equal(draw(classes[row : row + 1], instances[row : row + 1], 32)[0], together[row])
    other = draw(classes, instances + 1, 32)
    assert all(not torch.equal(a, b) for a, b in zip(together, other, strict=True))


def test_random_numbers_of_a_scene_are_those_of_splitmix() -> None:
    def slow(stream: int, place: int) -> float:
        mask = (1 << 64) - 1
        z = (stream + (place + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 40) / 2**24

    streams = torch.tensor([0, 1, 12345, 2**62 - 1])
    found = uniform(streams[:, None], torch.arange(5))
    expected = [[slow(int(stream), place) for place in range(5)] for stream in streams]
    assert torch.equal(found, torch.tensor(expected))
    many = uniform(torch.arange(1000)[:, None], torch.arange(20)).double()
    assert abs(float(many.mean()) - 0.5) < 0.01
    assert float(np.abs(np.corrcoef(many.T.numpy()) - np.eye(20)).max()) < 0.15


def test_scenes_leave_room_for_a_white_digit_and_differ_by_class() -> None:
    assert len(SCENES) == 10
    images = open_scenes(32, "test").images_at(range(2500)).float()
    assert images.max() <= 0.8 * 255 + 1
    by_class = images.view(10, 250, -1)
    nearest = torch.cdist(by_class[:, 125:].flatten(0, 1), by_class[:, :125].mean(1)).argmin(1)
    truth = torch.arange(10).repeat_interleave(125)
    right = (nearest == truth).double().mean()
    assert 0.15 < right < 0.75  # more than chance, and no matter of the mean colour alone


# Other parts


def test_backgrounds_from_labelled_pictures(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(60, 20, 20, 3), dtype=np.uint8), np.repeat([3, 7, 9], 20)
    np.savez(tmp_path / "photos.npz", images=images, labels=labels)
    data = open_mnist_stl10(32, digits="sklearn", backgrounds=tmp_path / "photos.npz")
    assert data.sizes == (10, 3, 8)
    assert data.source == "scikit-learn's digits, enlarged, on pictures in photos.npz"
    assert data.batch(5, 0)["images"].shape == (5, 3, 32, 32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "dc_cb"}, "variant is 'dc_cb'; did you mean 'dc_bc'"),
        ({"split": "trian"}, "mnist_stl10 has no split 'trian'; did you mean 'train'"),
        ({"digits": "mnits"}, "digits is 'mnits'; did you mean 'mnist'"),
        ({"backgrounds": "scene"}, "backgrounds is 'scene', which is not a path either; did you mean 'scenes'"),
        ({"backgrounds": "stl10"}, "stl10 is not on this machine"),
        ({"resolution": 8}, "resolution is 8; expected a whole number from 16 to 256"),
    ],
)
def test_errors(settings: dict[str, str], message: str, empty_cache: Path) -> None:
    with pytest.raises(InputError, match=message):
        open_mnist_stl10(**{"resolution": 16, **settings})  # type: ignore[arg-type]


def test_parts_with_more_than_a_class_are_refused() -> None:
    class Two(FactorData):
        names, sizes, image_shape = ("a", "b"), (2, 2), (3, 16, 16)

        def _images(self, factors: Tensor, rng: torch.Generator) -> Tensor:
            return torch.zeros(len(factors), *self.image_shape, dtype=torch.uint8)

    with pytest.raises(InputError, match="backgrounds have the factors a, b; expected one, their class"):
        DigitsOnBackgrounds(open_digits(7), Two(), 100)


def test_the_list_says_which_parts_are_real(empty_cache: Path) -> None:
    def told() -> str:
        lines = CliRunner().invoke(app, ["data", "list"]).output.splitlines()
        return next(line for line in lines if line.startswith("mnist_stl10"))

    assert "scikit-learn's digits" in " ".join(CliRunner().invoke(app, ["data", "list"]).output.split())
    assert "yes" in told()


def test_mnist_takes_the_place_of_the_digits_where_it_is_here(shared: Callable[[str], Path], empty_cache: Path) -> None:
    for file in mnist.FILES:
        take(file, shared("data/mnist"))
    data = open_mnist_stl10(32, backgrounds=shared("data/cifar10_small.npz"))
    assert data.source == "the published files, on pictures in cifar10_small.npz"
    composed = data.data
    assert isinstance(composed, DigitsOnBackgrounds)
    assert (len(composed.digits), len(composed.backgrounds)) == (60_000, 8_000)
    assert data.held_out is not None
    assert composed.digits.image_shape == (1, round(BOX * 32), round(BOX * 32))
    images, factors = data.held_out.sample(6, 0)
    assert images.shape == (6, 3, 32, 32)
    assert factors.shape == (6, 3)
