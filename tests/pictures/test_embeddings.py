from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.pictures.embeddings import neighbour_agreement, save_umap, umap_embedding
from unbraid.training.representation import Representation


def representation(n: int = 40) -> Representation:
    factors = squares().all_factors()[:n]
    codes = torch.randn(len(factors), 4, generator=torch.Generator().manual_seed(0))
    return Representation(codes, factors, torch.arange(len(factors)), ("row", "column"), (6, 6))


def test_umap_is_an_extra_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(InputError) as error:
        save_umap(representation(), tmp_path / "umap.png")
    assert str(error.value) == "UMAP is not installed; run pip install 'unbraid[umap]'"
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


def test_agreement_of_neighbours_by_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    places = rng.random((40, 2))
    values = np.stack([(places[:, 0] * 5).astype(int), rng.integers(0, 4, 40), np.arange(40)], 1)
    near, far = np.zeros(3), np.zeros(3)
    for i in range(40):
        others = [j for j in range(40) if j != i]
        closest = sorted(others, key=lambda j: float(np.hypot(*(places[i] - places[j]))))[:6]
        near += np.mean([np.abs(values[i] - values[j]) for j in closest], 0) / 40
        far += np.mean([np.abs(values[i] - values[j]) for j in others], 0) / 40
    assert np.allclose(neighbour_agreement(places, values, 6), 1 - near / far)


def test_agreement_is_one_where_neighbours_share_a_value_and_none_where_it_never_changes() -> None:
    corners = np.repeat([[0.0, 0.0], [5.0, 5.0]], 12, axis=0) + np.linspace(0, 0.1, 24)[:, None]
    values = np.stack([np.repeat([0, 1], 12), np.zeros(24)], 1)
    found = neighbour_agreement(corners, values, 5)
    assert found[0] == 1.0
    assert np.isnan(found[1])


def test_umap_leaves_the_number_of_threads_alone() -> None:
    pytest.importorskip("umap")
    before = torch.get_num_threads()
    umap_embedding(torch.randn(60, 3, generator=torch.Generator().manual_seed(0)))
    assert torch.get_num_threads() == before
