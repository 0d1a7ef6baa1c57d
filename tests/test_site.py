"""The documentation site builds without a warning, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_navigation_has_each_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2].partition("\n\n")[0]
    pages = re.findall(r"[\w/.-]+\.md$", navigation, re.M)
    assert len(pages) > 40
    assert [page for page, count in Counter(pages).items() if count > 1] == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """`tools/site.py` ends with an error at the first warning of the generator, and at a link that leads nowhere."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical builds the site")
    command = [sys.executable, "tools/site.py", "--pages-only", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout
    for page in ("index.html", "api/unbraid.metrics.html", "studies/assumptions.html", "notebooks/encoder.html"):
        assert (tmp_path / page).stat().st_size > 10_000, page
