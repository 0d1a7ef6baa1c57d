from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.pictures.embeddings import save_umap, umap_embedding
from unbraid.training.representation import Representation


def representation(n: int = 40) -> Representation:
    factors = squares().all_factors()[:n]
    codes = torch.randn(len(factors), 4, generator=torch.Generator().manual_seed(0))
    return Representation(codes, factors, torch.arange(len(factors)), ("row", "column"), (6, 6))


def test_umap_is_an_extra_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(InputError) as error:
        save_umap(representation(), tmp_path / "umap.png")
    assert str(error.value) == "UMAP is not installed; expected pip install 'unbraid[umap]'"
    assert list(tmp_path.iterdir()) == []


def test_umap_has_one_panel_per_factor_and_the_same_seed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seeds: list[int] = []

    class Reducer:
        def __init__(self, n_neighbors: int, min_dist: float, random_state: int, n_jobs: int) -> None:
            seeds.append(random_state)

        def fit_transform(self, codes: Any) -> Any:
            assert codes.shape == (30, 4)
            return codes[:, :2]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Reducer))
    for name in ("a.png", "b.png"):
        save_umap(representation(), tmp_path / name, 3, rows=30, title="codes")
    save_umap(representation(), tmp_path / "c.png", 4, rows=30)
    assert seeds[0] == seeds[1] != seeds[2]
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert Image.open(tmp_path / "a.png").width == pytest.approx(2 * 2.6 * 130, abs=2)


def test_umap_leaves_the_number_of_threads_alone() -> None:
    pytest.importorskip("umap")
    before = torch.get_num_threads()
    umap_embedding(torch.randn(60, 3, generator=torch.Generator().manual_seed(0)))
    assert torch.get_num_threads() == before
