from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.errors import InputError
from unbraid.report import Judged, Section, put_into, verdicts
from unbraid.report.markdown import END, START

SECTIONS = [
    Section("5.1 Reconstructions", items=[Judged("a | b\nc", "0.5", "0.6 [0.5, 0.7]", "holds")]),
    Section("5.2 More", items=[Judged("d", "1", "2", "does not hold")]),
]


def test_claims_become_rows() -> None:
    rows = verdicts(SECTIONS).splitlines()
    assert rows[2] == "| 5.1 | a ∣ b c | 0.5 | 0.6 [0.5, 0.7] | **holds** |"
    assert rows[3] == "| 5.2 | d | 1 | 2 | **does not hold** |"


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    for _ in range(2):  # the second time changes nothing
        put_into(readme, verdicts(SECTIONS))
        assert readme.read_text() == f"before\n{START}\n\n{verdicts(SECTIONS)}\n{END}\nafter\n"


@pytest.mark.parametrize("text", ["no marks", START, f"{END} {START}"])
def test_a_readme_without_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(InputError, match="has no place for the verdicts"):
        put_into(readme, "x")
    assert readme.read_text() == text
    with pytest.raises(InputError, match="cannot read"):
        put_into(tmp_path / "nowhere.md", "x")
    readme.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        put_into(readme, "x")
