"""The comparison on a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unbraid.report import comparison, overview, write
from unbraid.report.parts import Figure, Table


def runs(methods: tuple[str, ...] = ("beta_vae", "lab.py:Mine"), seeds: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {
            "run": f"{method}-{data}-{strength}-{seed}", "state": "done", "method": method, "data": data, "seed": seed,
            "steps": 10, "seconds": 1.0, "settings.batch_size": 4, "settings.beta": strength,
            "scores.mig": rng.random(), "scores.total_correlation": rng.random(), "scores.kl": rng.random(),
            "scores.sap": rng.random(),
        }
        for method in methods for data in ("dsprites", "shapes3d") for strength in (1.0, 4.0) for seed in range(seeds)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_page_of_several_methods_compares_them(tmp_path: Path) -> None:
    sections = overview(runs(), draw=0, baseline="lab.py:Mine")
    assert [section.title for section in sections[:3]] == ["Comparison of methods", "Strength", "Cost"]
    page = write("Two methods", sections, runs(), tmp_path, 0).read_text()
    for words in ("Differences from Mine", "Wins over Mine", "Scores by setting, Shapes3D", "images per model"):
        assert words in page
    for name in ("differences-table", "means-table", "wins", "cost"):
        assert len(pd.read_csv(tmp_path / "tables" / f"{name}.csv"))


def test_each_panel_states_its_own_direction() -> None:
    frame = runs().drop(columns=["scores.mig", "scores.sap"])
    (figure,) = [item for item in comparison(frame)[0].items if isinstance(item, Figure) and item.name == "means"]
    directions = {axis.get_title(): axis.get_xlabel() for axis in figure.drawn().axes}
    assert directions == {"TC": "lower is better", "KL": "neither way is better"}


def test_a_figure_has_an_interval_for_each_method_and_data_set() -> None:
    section = comparison(runs())[0]
    (figure,) = [item for item in section.items if isinstance(item, Figure) and item.name == "differences"]
    axis = figure.drawn().axes[0]
    marks = [line for line in axis.lines if line.get_marker() not in ("None", "")]
    assert len(marks) == 3, "two data sets and both together"
    table = next(item for item in section.items if isinstance(item, Table))
    first = float(marks[0].get_xdata()[0])
    assert table.frame.iloc[0]["MIG ↑"].startswith(f"{first:+.3f}".replace("-", "−"))


def test_one_method_has_no_comparison() -> None:
    assert comparison(runs(("beta_vae",))) == []


@pytest.mark.parametrize(("seeds", "words"), [(20, "A small dot is a model"), (21, "A thin line spans the models")])
def test_many_models_of_a_setting_are_a_line(seeds: int, words: str) -> None:
    section = comparison(runs(seeds=seeds))[1]
    assert words in section.text
    figure = section.items[0]
    assert isinstance(figure, Figure)
    dots = [line.get_xdata() for line in figure.drawn().axes[0].lines if line.get_markersize() == 2.2]
    assert [len(places) for places in dots] == ([20] * 4 if seeds == 20 else [])
