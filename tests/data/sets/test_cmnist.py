from __future__ import annotations

import colorsys

import pytest
import torch

from unbraid.data import Rows, load
from unbraid.data.sets import cmnist
from unbraid.data.sets.cmnist import ColouredDigits, open_cmnist, painted
from unbraid.errors import InputError


@pytest.fixture
def data() -> ColouredDigits:
    """Four grey squares that stand for the digits 3, 1, 3 and 0."""
    images = torch.tensor([255, 128, 64, 10], dtype=torch.uint8)[:, None, None, None].expand(4, 1, 4, 4)
    return ColouredDigits(Rows(images, torch.tensor([[3], [1], [3], [0]]), ["digit"], [10], source="test"))


def test_every_digit_comes_in_every_colour(data: ColouredDigits) -> None:
    assert len(data) == 40
    assert data.image_shape == (3, 4, 4)
    factors = data.all_factors()
    assert factors[:, 0].tolist() == [3] * 10 + [1] * 10 + [3] * 10 + [0] * 10
    assert factors[:, 1].tolist() == list(range(10)) * 4
    assert torch.equal(data.factors_at(data.index_of(factors)), factors)


def test_colours_are_the_ten_hues_of_3d_shapes(data: ColouredDigits) -> None:
    images = data.images_at(range(20))
    for row, image in enumerate(images):
        rgb = colorsys.hsv_to_rgb(row % 10 / 10, 1, 1)
        grey = 255 if row < 10 else 128
        for channel, level in enumerate(rgb):
            assert abs(int(image[channel, 0, 0]) - grey * level) <= 0.5
            assert len(image[channel].unique()) == 1
    assert len({tuple(image[:, 0, 0].tolist()) for image in images[:10]}) == 10


def test_the_writer_is_drawn_anew(data: ColouredDigits) -> None:
    images = data.images(torch.tensor([[3, 0]] * 40), 0)
    assert set(images[:, 0, 0, 0].tolist()) == {255, 64}  # both threes, in red
    assert set(images[:, 1:].unique().tolist()) == {0}


def test_painting_keeps_black_black() -> None:
    image = torch.zeros(1, 1, 2, 2, dtype=torch.uint8)
    assert int(painted(image, torch.tensor([7])).max()) == 0


def test_it_needs_no_file_and_holds_out_its_test_split() -> None:
    data = load("cmnist", 28, digits="sklearn")
    assert data.names == ("digit", "colour")
    assert data.image_shape == (3, 28, 28)
    assert len(data) == 14_970
    assert data.held_out is not None
    assert len(data.held_out) == 3_000
    assert "scikit-learn" in data.source
    test = open_cmnist(28, "test", "sklearn")
    assert torch.equal(test.images_at([0, 2_999]), data.held_out.images_at([0, 2_999]))
    assert test.describe() != data.describe()
    assert data.describe()["content"]
    assert cmnist.FILES


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="digits is 'mnits'; did you mean 'mnist'"):
        open_cmnist(28, digits="mnits")
    with pytest.raises(InputError, match="cmnist has no split 'tset'; did you mean 'test'"):
        open_cmnist(28, "tset")
