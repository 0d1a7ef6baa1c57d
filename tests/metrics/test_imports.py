"""`unbraid.metrics` is usable without torch, and loads its libraries only when it needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = ("torch", "sklearn", "scipy", "pandas", "lightgbm", "rich", "unbraid.data", "unbraid.methods", "unbraid.runs")
SCORING = """
import numpy as np
import unbraid
rng = np.random.default_rng(0)
factors = rng.integers(3, size=(90, 2))
table = unbraid.score(factors + 0.1 * rng.normal(size=(90, 2)), factors, protocol="fast")
assert table["mig"] > 0.5
"""


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh process has loaded at the end of a program."""
    report = "\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program + report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("program", ["import unbraid", "import unbraid.metrics"])
def test_importing_the_metrics_loads_only_numpy(program: str) -> None:
    loaded = loaded_by(program)
    assert not loaded & set(LATER)
    assert ("numpy" in loaded) == program.endswith("metrics")


def test_scoring_arrays_loads_no_torch() -> None:
    loaded = loaded_by(SCORING)
    assert {"numpy", "sklearn", "lightgbm"} <= loaded
    assert not loaded & {"torch", "unbraid.data.factors", "unbraid.methods", "unbraid.runs"}
