"""Matrices behind the scores: how much each code says about each factor."""

from __future__ import annotations

from pathlib import Path

from unbraid.errors import InputError
from unbraid.metrics import ScoreTable
from unbraid.pictures.sheets import save_figure

MATRICES = {
    "mig": "information", "dci": "importance", "sap": "predictability", "irs": "robustness", "mcc": "correlation",
}  # fmt: skip
TALLEST = 24.0  # inches


def save_matrices(scores: ScoreTable, path: Path) -> Path:
    """The code-by-factor matrices of the metrics that have one, side by side, with the names of codes and factors."""
    from matplotlib.figure import Figure  # slow to import

    shown = [(metric, scores.arrays[metric][key]) for metric, key in MATRICES.items() if metric in scores.arrays]
    if not shown:
        raise InputError(f"none of the metrics has a matrix to draw; those that have one are {', '.join(MATRICES)}")
    codes, factors = shown[0][1].shape
    size = (max(3.2, 0.5 * factors + 2) * len(shown), min(max(3.0, 0.3 * codes + 1.4), TALLEST))
    drawing = Figure(figsize=size)
    axes = drawing.subplots(1, len(shown), squeeze=False)
    step = max(1, round(0.3 * codes / TALLEST))  # names that would overlap are left out
    for axis, (metric, matrix) in zip(axes[0], shown, strict=True):
        matrix = abs(matrix) if metric == "mcc" else matrix
        image = axis.imshow(matrix, cmap="viridis", vmin=0, aspect="auto", interpolation="nearest")
        axis.set_title(f"{metric}: {MATRICES[metric]}", fontsize=10)
        axis.set_xticks(range(factors), list(scores.names), rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(0, codes, step), list(scores.code_names[::step]), fontsize=8)
        axis.set_ylabel("code")
        drawing.colorbar(image, ax=axis, fraction=0.046)
    drawing.tight_layout()
    return save_figure(drawing, path)
