from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from unbraid.data.wrappers.views import Views, _hue_and_saturation

NONE = {"crop": 1.0, "flip": 0.0, "colour": 0.0, "grey": 0.0}
LUMA = (0.299, 0.587, 0.114)


def pictures(n: int = 40, channels: int = 3, side: int = 9) -> Tensor:
    return torch.rand(n, channels, side, side, generator=torch.Generator().manual_seed(1))


def seen(images: Tensor, seed: int = 0, **settings: float) -> Tensor:
    torch.manual_seed(seed)
    return Views(**{**NONE, **settings})(images)


def test_a_view_without_any_distortion_is_the_image() -> None:
    assert torch.equal(seen(pictures()), pictures())


def test_mirrored_views() -> None:
    images = pictures()
    assert torch.allclose(seen(images, flip=1.0), images.flip(3), atol=1e-5)
    some = seen(images, flip=0.5)
    mirrored = [torch.allclose(view, image.flip(2), atol=1e-5) for view, image in zip(some, images, strict=True)]
    untouched = [torch.allclose(view, image, atol=1e-5) for view, image in zip(some, images, strict=True)]
    assert all(one != other for one, other in zip(mirrored, untouched, strict=True))
    assert 8 < sum(mirrored) < 32


def ramps(n: int, side: int = 32) -> Tensor:
    """x in the first channel and y in the second, in [0, 1] across the image: bilinear sampling keeps them linear."""
    place = (torch.arange(side) + 0.5) / side
    return torch.stack([place.expand(side, side), place[:, None].expand(side, side)]).expand(n, -1, -1, -1).contiguous()


@pytest.mark.parametrize("crop", [0.08, 0.5])
def test_crops_have_the_area_the_shape_and_the_place_they_should(crop: float) -> None:
    views = seen(ramps(800), crop=crop)
    middle = views[:, :, 10:22, 10:22]
    width = (middle[:, 0, :, -1] - middle[:, 0, :, 0]).mean(1) * 32 / 11
    height = (middle[:, 1, -1, :] - middle[:, 1, 0, :]).mean(1) * 32 / 11
    area, ratio = width * height, width / height
    assert crop * 0.7 < area.min()  # a side that would leave the image is cut
    assert area.max() <= 1 + 1e-4
    inside = (width < 0.999) & (height < 0.999)
    assert area[inside].min() < crop + 0.05
    assert 3 / 4 - 1e-3 < ratio[inside].min() < 0.8
    assert 1.25 < ratio[inside].max() < 4 / 3 + 1e-3
    left, top = (views[:, channel].flatten(1).amin(1) for channel in (0, 1))
    assert left.min() >= 0
    assert top.min() >= 0
    assert views.max() <= 1
    free = inside & (width < 0.8)
    place = left[free] / (1 - width[free])
    assert place.min() < 0.1
    assert place.max() > 0.9
    rows = middle[:, 0].std(1)  # x does not change along a column
    assert rows.max() < 1e-4


def slow_colours(image: Tensor, brightness: float, contrast: float, saturation: float, turn: float) -> Tensor:
    """Pixel by pixel: brighter, then hue and saturation in YIQ, then away from the mean grey level."""
    to_yiq = torch.tensor(
        [[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], dtype=torch.float64
    )
    back = torch.linalg.inv(to_yiq)
    side = image.shape[1]
    pixels = [[image[:, y, x].double() * brightness for x in range(side)] for y in range(side)]
    level = sum(float(pixel @ torch.tensor(LUMA, dtype=torch.float64)) for row in pixels for pixel in row) / side**2
    result = torch.empty_like(image)
    for y in range(side):
        for x in range(side):
            luma, i, q = (to_yiq @ pixels[y][x]).tolist()
            turned = torch.tensor(
                [
                    luma,
                    saturation * (math.cos(turn) * i + math.sin(turn) * q),
                    saturation * (math.cos(turn) * q - math.sin(turn) * i),
                ],
                dtype=torch.float64,
            )
            result[:, y, x] = ((back @ turned) * contrast + (1 - contrast) * level).clamp(0, 1)
    return result


def test_colours_are_those_of_the_slow_formula() -> None:
    images = pictures(6, side=4)
    views = seen(images, seed=5, colour=0.7, grey=0.3)
    torch.manual_seed(5)
    numbers = torch.rand(6, 6)
    for n in range(6):
        strength = 0.7 if numbers[4, n] < 0.8 else 0.0
        brightness, contrast, saturation = (1 + 0.8 * strength * (2 * float(numbers[k, n]) - 1) for k in range(3))
        saturation = 0.0 if numbers[5, n] < 0.3 else saturation
        turn = 2 * math.pi * 0.2 * strength * (2 * float(numbers[3, n]) - 1)
        expected = slow_colours(images[n], brightness, contrast, saturation, turn)
        assert torch.allclose(views[n], expected, atol=1e-5)


def test_grey_views_have_no_colour_and_keep_their_levels() -> None:
    images = pictures()
    views = seen(images, grey=1.0)
    assert torch.allclose(views[:, 0], views[:, 1], atol=1e-4)
    assert torch.allclose(views[:, 0], views[:, 2], atol=1e-4)
    assert torch.allclose(views[:, 0], torch.einsum("nchw,c->nhw", images, torch.tensor(LUMA)), atol=1e-4)
    kept = [torch.allclose(view, image, atol=1e-4) for view, image in zip(seen(images, grey=0.2), images, strict=True)]
    assert 25 < sum(kept) < 39


def test_turning_the_hue_keeps_the_grey_level() -> None:
    matrices = _hue_and_saturation(torch.linspace(-3, 3, 20), torch.linspace(0.2, 2, 20))
    luma = torch.tensor(LUMA)
    assert torch.allclose(luma @ matrices, luma.expand(20, 3), atol=1e-4)
    grey = torch.full((3,), 0.4)
    assert torch.allclose(matrices @ grey, grey.expand(20, 3), atol=1e-4)


def test_a_fifth_of_the_views_keeps_its_colours() -> None:
    images = pictures(400)
    kept = (seen(images, colour=1.0) - images).abs().amax((1, 2, 3)) < 1e-5
    assert 50 < int(kept.sum()) < 110


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_images_of_any_number_of_channels(channels: int) -> None:
    views = seen(pictures(channels=channels), crop=0.3, flip=0.5, colour=1.0, grey=0.2)
    assert views.shape == (40, channels, 9, 9)
    assert views.min() >= 0
    assert views.max() <= 1
    assert bool(views.isfinite().all())


def test_views_come_from_torchs_generator_and_from_nothing_else() -> None:
    settings = {"crop": 0.3, "flip": 0.5, "colour": 0.5, "grey": 0.2}
    first, again, other = (seen(pictures(), seed, **settings) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)
    assert torch.equal(pictures(), pictures())  # and the images are left as they were
    channels_last = seen(pictures().contiguous(memory_format=torch.channels_last), 3, **settings)
    assert torch.allclose(first, channels_last, atol=1e-5)
