"""Matrices behind the scores: how much each code says about each factor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unbraid.errors import InputError
from unbraid.metrics import ScoreTable
from unbraid.pictures.sheets import save_figure

MATRICES = {"mig": "information", "dci": "importance", "sap": "predictability", "irs": "robustness"}


def save_matrices(scores: ScoreTable, names: Sequence[str], path: Path) -> Path:
    """The code-by-factor matrices of the metrics that have one, side by side; `names` are those of the factors."""
    from matplotlib.figure import Figure  # slow to import

    shown = [(metric, scores.arrays[metric][key]) for metric, key in MATRICES.items() if metric in scores.arrays]
    if not shown:
        raise InputError(f"none of the metrics has a matrix to draw; those that have one are {', '.join(MATRICES)}")
    codes, factors = shown[0][1].shape
    size = (max(3.2, 0.5 * factors + 2) * len(shown), max(3.0, 0.3 * codes + 1.4))
    drawing = Figure(figsize=size)
    axes = drawing.subplots(1, len(shown), squeeze=False)
    for axis, (metric, matrix) in zip(axes[0], shown, strict=True):
        image = axis.imshow(matrix, cmap="viridis", vmin=0, aspect="auto")
        axis.set_title(f"{metric}: {MATRICES[metric]}", fontsize=10)
        axis.set_xticks(range(factors), names, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(codes), [str(code) for code in range(codes)], fontsize=8)
        axis.set_ylabel("code")
        drawing.colorbar(image, ax=axis, fraction=0.046)
    drawing.tight_layout()
    return save_figure(drawing, path)
