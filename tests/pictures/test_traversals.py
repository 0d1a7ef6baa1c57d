from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from PIL import Image

import unbraid
from tests.examples.tiny_run import TINY, tiny
from unbraid.pictures import sheets, traversals
from unbraid.pictures.sheets import Strip
from unbraid.pictures.traversals import exchanges, latents, show, to_bytes, traverse
from unbraid.training.representation import Representation


def test_pictures_of_a_vae_and_of_an_autoencoder(tmp_path: Path) -> None:
    runs = [tiny(tmp_path / "vae"), unbraid.train("autoencoder", "shapes3d", out=tmp_path / "ae", **TINY)]
    for run in runs:
        paths = show(run)
        assert [path.name for path in paths] == ["reconstructions.png", "traversals.png", "traversals.gif"]
        animation = Image.open(paths[2])
        assert animation.n_frames == 30
        assert show(run)[0].read_bytes() == paths[0].read_bytes()


def test_latents_have_the_names_that_people_gave_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny(tmp_path / "vae", steps=3)
    (run.folder / "names.json").write_text(json.dumps({run.config.id: {"z1": "size"}}))
    labels: list[str] = []

    def sheet(title: str, subtitle: str, strips: Sequence[Strip], axis: Sequence[str] = ()) -> Image.Image:
        labels.extend(strip.label for strip in strips)
        return sheets.sheet(title, subtitle, strips, axis)

    monkeypatch.setattr(traversals, "sheet", sheet)
    show(run, out=tmp_path / "pictures")
    assert sorted(label for label in labels if not label.startswith(("original", "reconstruction"))) == [
        "latent 0", "latent 2", "latent 3", "size",
    ]  # fmt: skip


def test_latents_are_ordered_by_kl_and_the_active_marked() -> None:
    codes = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([0.0, 1.0, 0.5])
    logvar = torch.tensor([0.0, -4.0, -1.0]).repeat(1000, 1)
    found = latents(Representation(codes, torch.zeros(1000, 0), torch.arange(1000), (), (), None, logvar))
    assert found.order == [1, 2, 0]
    assert [found.active(latent) for latent in range(3)] == [False, True, True]
    assert found.note(0) == "KL 0.00"
    assert "active" in found.note(1)
    assert found.shown == [1, 2]
    assert found.silent == [0]
    dead = latents(Representation(codes * 0, torch.zeros(1000, 0), torch.arange(1000), (), (), None, logvar * 0))
    assert dead.shown == [0, 1, 2], "there is nothing else to show"
    assert dead.silent == []


def test_a_traversal_moves_one_latent_only() -> None:
    class Echo(torch.nn.Module):
        def decode(self, codes: torch.Tensor) -> torch.Tensor:
            return codes[:, :, None, None]

    values = torch.tensor([0.0, 0.5, 1.0])
    images = traverse(Echo(), torch.tensor([0.2, 0.4]), 1, values)  # type: ignore[arg-type]
    assert images.flatten(1).tolist() == [[51, 0], [51, 128], [51, 255]]


def test_exchanges_take_one_feature_of_each_image() -> None:
    """With codes that are pixels, feature 1 of two is the lower half of an image."""

    class Pixels:
        def decode(self, codes: torch.Tensor) -> torch.Tensor:
            return codes.view(-1, 1, 2, 2)

    codes = torch.tensor([[0.0, 0, 0, 0], [1, 1, 1, 1]])
    images = to_bytes(codes.view(-1, 1, 2, 2))
    drawn = exchanges(Pixels(), images, codes, [[0, 1], [2, 3]])  # type: ignore[arg-type]
    assert [strip.label for strip in drawn] == ["originals", "feature 0", "feature 1"]
    assert drawn[1].images[1].flatten().tolist() == [255, 255, 0, 0]
    assert drawn[2].images[1].flatten().tolist() == [0, 0, 255, 255]
    assert int(drawn[2].images[0].max()) == 0
