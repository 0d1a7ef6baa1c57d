"""Every bench runs at a tiny size, and none writes into the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.examples.benches import BENCH, load_bench

NAMES = sorted(path.stem for path in BENCH.glob("*.py") if not path.stem.startswith("_"))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    yield
    torch.set_num_threads(1)  # as tests/conftest.py set it


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(BENCH))
    load_bench(name).main(["--tiny"])
    assert capsys.readouterr().out.strip()
