"""Codes laid out in a plane by UMAP, drawn, and how well neighbours there agree on a factor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.pictures.sheets import save_figure
from unbraid.training.representation import Representation

Array = np.ndarray[Any, Any]


def umap_embedding(codes: Tensor, rng: Rng = 0, neighbours: int = 15, distance: float = 0.1) -> Array:
    """Codes (n, d) -> (n, 2) by UMAP (McInnes et al. 2018), the same for the same `rng`."""
    try:
        import umap
    except ImportError as error:
        raise InputError("UMAP is not installed; run pip install 'unbraid[umap]'") from error
    seed, threads = generator(rng).initial_seed() % 2**32, torch.get_num_threads()
    reducer = umap.UMAP(n_neighbors=neighbours, min_dist=distance, random_state=seed, n_jobs=1)
    try:
        return np.asarray(reducer.fit_transform(codes.numpy()))
    finally:
        torch.set_num_threads(threads)  # Numba, which UMAP uses, sets those of OpenMP for the whole process


def save_umap(representation: Representation, path: Path, rng: Rng = 0, *, rows: int = 5000, title: str = "") -> Path:
    """UMAP of at most `rows` codes, one panel per factor coloured by its values (multitask, figure 5)."""
    from matplotlib.figure import Figure  # slow to import

    rng = generator(rng)
    chosen = torch.randperm(len(representation.codes), generator=rng)[:rows]
    points, factors = umap_embedding(representation.codes[chosen], rng), representation.factors[chosen]
    panels = list(zip(representation.names, representation.sizes, factors.T, strict=True)) or [("codes", 1, None)]
    drawing = Figure(figsize=(2.6 * len(panels), 3.1))
    axes = drawing.subplots(1, len(panels), squeeze=False)
    for axis, (name, size, values) in zip(axes[0], panels, strict=True):
        shades = None if values is None else values.numpy() / max(size - 1, 1)
        colours = None if values is None else "viridis" if size > 4 else "turbo"
        limits = {} if values is None else {"vmin": 0, "vmax": 1}
        axis.scatter(*points.T, s=2, c=shades, cmap=colours, linewidths=0, rasterized=True, **limits)
        axis.set_title(f"{name} ({size} values)" if values is not None else name, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    drawing.suptitle(title, fontsize=11)
    drawing.tight_layout()
    return save_figure(drawing, path)


def neighbour_agreement(points: Array, values: Array, neighbours: int = 10) -> Array:
    """How much closer neighbours are in each value than random pairs: (n, 2), (n, k) -> (k,).

    1 - E|v - v of a neighbour| / E|v - v of any other|: 1 where neighbours agree, 0 where distance says nothing.
    """
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=neighbours).fit(points).kneighbors(return_distance=False)  # without itself
    values = values.astype(float)
    apart = np.abs(values[:, None] - values[near]).mean((0, 1))
    ranked = np.sort(values, axis=0)
    n = len(values)
    weights = 2 * np.arange(n)[:, None] - n + 1  # Σ_i<j (v_j - v_i) of sorted values
    random = 2 * (weights * ranked).sum(0) / (n * (n - 1))
    return np.asarray(1 - apart / np.where(random > 0, random, np.nan))
