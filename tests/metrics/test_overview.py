"""The table of all metrics: complete, and the same on its page, in the declarations and on the terminal."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.examples.command import Here
from unbraid.metrics import METRICS, PROTOCOLS
from unbraid.metrics.declaration import Size
from unbraid.metrics.overview import COLUMNS, markdown, rows

PAGES = Path(__file__).parents[2] / "docs" / "metrics"


def test_the_page_is_made_from_the_declarations() -> None:
    assert markdown() in (PAGES / "README.md").read_text(), "unbraid metrics --markdown prints what belongs there"


def test_the_page_says_what_noise_scores_for_every_metric() -> None:
    """Measured by bench/baselines.py at three widths."""
    text = (PAGES / "README.md").read_text().split("## What noise scores")[1]
    measured = {re.split(r"[ .]", line)[1] for line in text.splitlines() if re.match(r"\| \w+[. ]", line)}
    assert measured - {"score"} == set(METRICS)
    assert "| noise, 10 codes | noise, 100 codes | noise, 2,000 codes | perfect |" in text


def test_every_cell_says_something() -> None:
    table = rows()
    assert [row[0] for row in table] == list(METRICS)
    assert all(len(row) == len(COLUMNS) and all(row) for row in table)
    assert not any("|" in cell for row in table for cell in row)


@pytest.mark.parametrize("name", METRICS)
def test_a_declaration_names_what_the_metric_returns(name: str) -> None:
    metric = METRICS[name]
    assert (PAGES / f"{name}.md").exists()
    assert metric.better in ("higher", "lower", "neither")
    assert metric.reads in ("train", "split", "all", "codes")
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(60, 2))
    settings = {"sizes": (30,)} if name == "downstream" else {}
    codes = factors[:, [0, 1, 0, 1]] + rng.normal(size=(60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values with few rows
        found = metric.function(codes) if metric.reads == "codes" else metric.function(codes, factors, **settings)
    assert set(found.arrays) == set(metric.axes)
    for array, axes in metric.axes.items():
        for length, axis in zip(found.arrays[array].shape, axes, strict=True):
            assert {"c": 4, "f": 2}.get(axis, length) == length, array


def test_forecasts_grow_with_the_work() -> None:
    small, large = Size(1_000, 10, 3, 30), Size(4_000, 100, 3, 30)
    for protocol in PROTOCOLS.values():
        for metric, settings in protocol.metrics.items():
            assert 0 < METRICS[metric].seconds(small, settings) < METRICS[metric].seconds(large, settings), metric


def test_the_command(here: Here) -> None:
    done = here("metrics")
    assert all(f"\n{name} " in done.stdout for name in METRICS)
    assert here("metrics", "--markdown").stdout == markdown()
    one = here("metrics", "med").stdout
    assert "top_k=None" in one
    assert "trust it" in one
    assert "there is no metric 'me'; did you mean 'med'?" in here("metrics", "me").stderr
