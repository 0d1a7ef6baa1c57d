from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.errors import InputError
from unbraid.metrics import score
from unbraid.pictures.matrices import save_matrices


def test_each_metric_with_a_matrix_gets_a_panel(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 3))
    codes = factors + 0.1 * rng.standard_normal((200, 3))
    widths = []
    for protocol in ({"mig": {}}, {"mig": {}, "mcc": {}}):
        path = save_matrices(score(codes, factors, protocol=protocol), tmp_path / "matrices.png")
        widths.append(Image.open(path).width)
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


def test_metrics_without_a_matrix_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = score(rng.standard_normal((50, 2)), rng.integers(0, 3, (50, 2)), protocol={"total_correlation": {}})
    with pytest.raises(InputError, match="none of the metrics has a matrix to draw; those that have one are mig, dci"):
        save_matrices(scores, tmp_path / "matrices.png")


def test_a_thousand_codes_fit_on_a_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = score(rng.standard_normal((60, 1000)), rng.integers(0, 3, (60, 2)), metrics=["mcc"])
    assert Image.open(save_matrices(scores, tmp_path / "matrices.png")).height < 5000
