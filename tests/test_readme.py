"""The counts and the tables of the README agree with what is registered."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from unbraid.data.catalogue import CATALOGUE
from unbraid.methods import METHODS
from unbraid.metrics import METRICS
from unbraid.report.claims import VERDICTS
from unbraid.report.markdown import END, START
from unbraid.studies import STUDIES

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
OF_MODELS = {"udr", "translation_difficulty", "variation_predictability"}
"""Metrics that compare models, or score what a decoder does."""


def listed(heading: str) -> list[str]:
    """The names in the table below a heading."""
    section = TEXT.split(f"\n### {heading}\n")[1].split("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.rpartition(" | ")[2])]


@pytest.mark.parametrize(
    ("heading", "names"),
    [("Methods", set(METHODS)), ("Metrics", {*METRICS, *OF_MODELS}), ("Data sets", set(CATALOGUE))],
)
def test_each_name_is_in_its_table_once(heading: str, names: set[str]) -> None:
    assert sorted(listed(heading)) == sorted(names)


def test_the_counts_are_those_of_the_tables() -> None:
    downloaded = [name for name, data in CATALOGUE.items() if not data.embedded]
    yours = [name for name, data in CATALOGUE.items() if data.embedded and not data.images]
    drawn = len(CATALOGUE) - len(downloaded) - len(yours)
    sources = f"{drawn} need no file, {len(downloaded)} are downloaded, {len(yours)} read your own files"
    for words in (
        f"trains {len(METHODS)} methods in one loop, measures {len(METRICS) + len(OF_MODELS)} metrics",
        f"| {len(CATALOGUE)}: {sources} |",
        f"(docs/methods/README.md) | {len(METHODS)} |",
        f"| {len(METRICS)} of codes, in [named protocols](docs/metrics/protocols.md), {len(OF_MODELS)} of models",
        f"| [studies](docs/studies.md) | {len(STUDIES)}, ",
    ):
        assert words in TEXT


@pytest.mark.parametrize("study", STUDIES)
def test_verdicts_are_counted_as_in_the_readme_of_the_study(study: str) -> None:
    text = (ROOT / "src" / "unbraid" / "studies" / study / "README.md").read_text()
    table = text.split(START)[1].split(END)[0]
    found = Counter(re.findall(r"\*\*(.+?)\*\*", table))
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| [{study}]")]
    counts = [int(cell) for cell in row.strip("| ").split(" | ")[2:]]
    assert dict(zip(VERDICTS, counts, strict=True)) == {verdict: found[verdict] for verdict in VERDICTS}
