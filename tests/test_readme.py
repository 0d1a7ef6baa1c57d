"""The counts and the tables of the README agree with what is registered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unbraid.data.catalogue import CATALOGUE
from unbraid.methods import METHODS
from unbraid.metrics import METRICS
from unbraid.studies import STUDIES

TEXT = (Path(__file__).parents[1] / "README.md").read_text()
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
    sources = f"{drawn} need no file, {len(downloaded)} are downloaded, {len(yours)} read files of yours"
    for words in (
        f"trains {len(METHODS)} methods in one loop, measures {len(METRICS) + len(OF_MODELS)} metrics",
        f"| {len(CATALOGUE)}: {sources} |",
        f"(docs/methods/README.md) | {len(METHODS)} |",
        f"| {len(METRICS)} of codes, in [named protocols](docs/metrics/protocols.md), {len(OF_MODELS)} of models",
        f"| [studies](docs/studies.md) | {len(STUDIES)}, ",
    ):
        assert words in TEXT
