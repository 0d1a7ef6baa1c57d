from __future__ import annotations

import numpy as np
import pytest
import torch

from unbraid.pictures.embeddings import neighbour_agreement, umap_embedding


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
