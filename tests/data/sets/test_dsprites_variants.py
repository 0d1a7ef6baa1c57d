"""Color-, Noisy- and Scream-dSprites against appendix D of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.data import load
from unbraid.errors import InputError

VARIANTS = ["color_dsprites", "noisy_dsprites", "scream_dsprites"]


@pytest.fixture(scope="module")
def factors() -> torch.Tensor:
    return load("dsprites", 32).sample(500, 0)[1]


@pytest.fixture(scope="module")
def inside(factors: torch.Tensor) -> torch.Tensor:
    """bool (n, 3, H, W)."""
    return (load("dsprites", 32).images(factors) == 255).expand(-1, 3, -1, -1)


@pytest.mark.parametrize("name", VARIANTS)
def test_noise_comes_from_the_generator_alone(name: str, factors: torch.Tensor) -> None:
    data = load(name, 32)
    assert (data.names, data.sizes, data.image_shape) == (*_dsprites(), (3, 32, 32))
    first = data.images(factors, 5)
    assert first.dtype == torch.uint8
    assert torch.equal(first, data.images(factors, 5))
    assert not torch.equal(first, data.images(factors, 6))


def _dsprites() -> tuple[tuple[str, ...], tuple[int, ...]]:
    data = load("dsprites", 32)
    return data.names, data.sizes


def test_color_scales_each_channel_between_a_half_and_one(factors: torch.Tensor, inside: torch.Tensor) -> None:
    images = load("color_dsprites", 32).images(factors, 0)
    assert int(images[~inside].max()) == 0
    scaling = images.flatten(2).amax(2).double() / 255  # (n, 3)
    for image, mask, value in zip(images, inside, scaling, strict=True):
        assert torch.equal(image.double() / 255, mask * value[:, None, None])
    assert 0.5 <= float(scaling.min()) < 0.51
    assert 0.99 < float(scaling.max()) <= 1
    assert abs(float(scaling.mean()) - 0.75) < 0.01
    assert float(torch.corrcoef(scaling.T).triu(1).abs().max()) < 0.15  # channels are independent


def test_noisy_fills_the_background_uniformly(factors: torch.Tensor, inside: torch.Tensor) -> None:
    images = load("noisy_dsprites", 32).images(factors, 0)
    assert bool((images[inside] == 255).all())
    counts = torch.bincount(images[~inside].long(), minlength=256).double()
    expected = counts.sum() / 256
    assert float(((counts - expected) ** 2 / expected).sum()) < 350  # chi², 255 degrees of freedom: 350 is p = 1e-4


def test_scream_inverts_a_shaded_patch(tmp_path: Path, factors: torch.Tensor, inside: torch.Tensor) -> None:
    painting = np.zeros((274, 300, 3), np.uint8)
    painting[...] = (200, 100, 0)
    Image.fromarray(painting).save(tmp_path / "flat.png")
    data = load("scream_dsprites", 32, painting=str(tmp_path / "flat.png"))
    assert data.source == "drawn on flat.png"
    images = data.images(factors, 0).double()
    flat = torch.tensor([200.0, 100, 0])
    for image, mask in zip(images, inside, strict=True):
        for channel in range(3):
            background = image[channel][~mask[channel]]
            assert float(background.max() - background.min()) == 0  # one shade a channel
            assert flat[channel] / 2 - 1 <= float(background[0]) <= (flat[channel] + 255) / 2
            assert bool((image[channel][mask[channel]] == 255 - background[0]).all())


def test_scream_says_what_it_draws_on(empty_cache: Path) -> None:
    assert "not The Scream" in load("scream_dsprites", 8).source
    with pytest.raises(InputError, match="run 'unbraid data get scream_dsprites'"):
        load("scream_dsprites", 8, painting="scream")


def test_scream_takes_patches_from_everywhere(factors: torch.Tensor) -> None:
    data = load("scream_dsprites", 32, painting="texture")
    assert len(torch.unique(data.images(factors, 0)[:, :, 0, 0], dim=0)) > 450


@pytest.mark.parametrize("content", [b"", b"not a picture"])
def test_a_broken_painting_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "scream.jpg").write_bytes(content)
    with pytest.raises(InputError, match=r"the painting .*scream.jpg cannot be read"):
        load("scream_dsprites", 32, painting=tmp_path / "scream.jpg")


def test_a_painting_that_is_too_small(tmp_path: Path) -> None:
    Image.new("RGB", (20, 300)).save(tmp_path / "thin.png")
    with pytest.raises(InputError, match="expected at least 64 x 64"):
        load("scream_dsprites", 64, painting=tmp_path / "thin.png")
