"""Translation difficulty: lower for true factors than for the same factors entangled, and what else it promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.examples.squares import squares
from unbraid.data import Rows
from unbraid.errors import InputError
from unbraid.methods import build
from unbraid.metrics import entangle
from unbraid.metrics.translation_difficulty import translation_difficulty

SIDE = 12
QUICK: dict[str, Any] = {"values": 4, "images": 24, "width": 32}


def blobs(factors: Tensor) -> Tensor:
    """A bright disc at (x, y) of a radius: factors (n, 3) from 0 to 1 -> images in [0, 1], (n, 1, SIDE, SIDE)."""
    x, y, size = factors[:, :, None, None].float().unbind(1)
    down, across = torch.meshgrid(torch.linspace(0, 1, SIDE), torch.linspace(0, 1, SIDE), indexing="ij")
    distance = ((across - 0.2 - 0.6 * x) ** 2 + (down - 0.2 - 0.6 * y) ** 2).sqrt()
    return torch.sigmoid(40 * (0.1 + 0.12 * size - distance))[:, None]


class Looks:
    """A method whose codes stand in a table beside the factors: an image is decoded from the nearest code there is."""

    code_groups: list[list[int]] | None = None

    def __init__(self, factors: Tensor, codes: Tensor) -> None:
        self.pixels, self.codes = blobs(factors), codes.float()
        self.images = (255 * self.pixels).round().to(torch.uint8)

    def encode(self, images: Tensor) -> Tensor:
        places = torch.cdist(images.flatten(1).float(), self.images.flatten(1).float()).argmin(1)
        return self.codes[places]

    def decode(self, codes: Tensor) -> Tensor:
        return self.pixels[torch.cdist(codes, self.codes).argmin(1)]

    @property
    def data(self) -> Rows:
        return Rows(self.images, torch.zeros(len(self.images), 0, dtype=torch.int64), [], [], source="test")


@pytest.fixture(scope="module")
def looks() -> Callable[[Callable[[Any], Any]], Looks]:
    factors = torch.rand(3000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return lambda through: Looks(factors, torch.as_tensor(through(factors.numpy())))


def test_true_factors_are_easier_than_the_same_factors_entangled(looks: Callable[[Any], Looks]) -> None:
    true, mixed = looks(lambda codes: codes), looks(lambda codes: entangle(codes, 0.25, rng=0))
    for rng in range(2):
        easy, hard = (translation_difficulty(one, one.data, rng, **QUICK) for one in (true, mixed))
        assert easy["translation_difficulty"] < 0.9 * hard["translation_difficulty"]
        assert easy["excess"] < 0.9 * hard["excess"]
    # Both have the same values in every column, so no statistic of single codes could tell them apart.
    assert torch.equal(true.codes.sort(0).values, mixed.codes.sort(0).values)


def test_scores_are_means_and_spreads_of_the_table(looks: Callable[[Any], Looks]) -> None:
    one = looks(lambda codes: codes)
    found = translation_difficulty(one, one.data, 0, **QUICK)
    table = found.arrays["difficulty"]
    assert table.shape == (3, 4, 4)
    pairs = np.stack([feature[~np.eye(4, dtype=bool)] for feature in table])
    assert np.isfinite(pairs).all()
    assert np.isnan(table[:, range(4), range(4)]).all()
    assert found["translation_difficulty"] == pytest.approx(pairs.mean())
    assert found["spread_features"] == pytest.approx(pairs.mean(1).std())
    assert found["spread_values"] == pytest.approx(pairs.std(1).mean())
    assert np.nanmin(found.arrays["excess"]) > 0
    assert found["excess"] == pytest.approx(np.nanmean(found.arrays["excess"]))
    assert found == translation_difficulty(one, one.data, 0, **QUICK)
    assert found != translation_difficulty(one, one.data, 1, **QUICK)


def test_more_steps_make_it_easier(looks: Callable[[Any], Looks]) -> None:
    one = looks(lambda codes: codes)
    found = [translation_difficulty(one, one.data, 0, **QUICK, steps=steps)["excess"] for steps in (0, 5, 40)]
    assert found[0] > found[1] > found[2]


def test_networks_of_any_width_translate_the_same_images(
    looks: Callable[[Any], Looks], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a comparison of widths would also compare draws."""
    one, decoded = looks(lambda codes: codes), list[torch.Tensor]()
    decode = one.decode
    monkeypatch.setattr(one, "decode", lambda codes: (decoded.append(codes), decode(codes))[1])
    for width in (8, 64):
        translation_difficulty(one, one.data, 0, **{**QUICK, "width": width})
    assert torch.equal(*torch.stack(decoded).chunk(2))


def test_a_feature_may_have_several_dimensions(looks: Callable[[Any], Looks]) -> None:
    one = looks(lambda codes: codes)
    alone = translation_difficulty(one, one.data, 0, **QUICK)
    one.code_groups = [[0], [1], [2]]
    assert translation_difficulty(one, one.data, 0, **QUICK) == alone
    one.code_groups = [[0, 1], [2]]
    assert translation_difficulty(one, one.data, 0, **QUICK).arrays["difficulty"].shape == (2, 4, 4)


def test_a_feature_that_does_nothing_is_easy(looks: Callable[[Any], Looks]) -> None:
    one = looks(lambda codes: codes)
    idle = Looks(torch.zeros(1, 3), torch.zeros(1, 3))
    idle.pixels, idle.images, idle.codes = one.pixels, one.images, one.codes * torch.tensor([1.0, 1.0, 0.0])
    found = translation_difficulty(idle, one.data, 0, **QUICK).arrays["excess"]
    assert np.nanmean(found[2]) < 0.2 * np.nanmean(found[:2])


def test_any_trained_method_with_a_decoder_can_be_scored() -> None:
    torch.manual_seed(0)
    data = squares()
    method = build("beta_vae", data, {"network": "small", "latents": 3})
    assert translation_difficulty(method, data, **QUICK)["translation_difficulty"] > 0
    grouped = build("intervention", data, {"network": "small", "latents": 4, "dimensions": 2})
    assert translation_difficulty(grouped, data, **QUICK).arrays["difficulty"].shape == (2, 4, 4)
    with pytest.raises(InputError, match="RandomEncoder has no decoder"):
        translation_difficulty(build("random_encoder", data, {"network": "small"}), data, **QUICK)


@pytest.mark.parametrize(
    ("setting", "value", "least"), [("values", 1, 2), ("images", 0, 1), ("steps", -1, 0), ("width", 0, 1)]
)
def test_mistakes_are_named(setting: str, value: int, least: int) -> None:
    with pytest.raises(InputError, match=f"{setting} is {value}; expected at least {least}"):
        translation_difficulty(build("beta_vae", squares(), {"network": "small"}), squares(), **{setting: value})
