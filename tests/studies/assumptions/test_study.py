from __future__ import annotations

import re
from pathlib import Path

import pytest

from unbraid.methods import METHODS
from unbraid.studies.assumptions.strengths import STRENGTHS

PAGES = Path(__file__).parents[3] / "docs" / "methods"


@pytest.mark.parametrize("method", STRENGTHS)
def test_a_method_takes_its_strengths_and_its_page_lists_them(method: str) -> None:
    setting, values = STRENGTHS[method]
    assert METHODS[method].strength == (setting,)
    for value in values:
        METHODS[method].config_class.make({setting: value})
    row = re.search(rf"^\| `{setting}` \(live\) \|.*\|([^|]*)\|$", (PAGES / f"{method}.md").read_text(), re.M)
    assert row is not None
    assert [float(value) for value in row[1].split(",")] == list(values)
