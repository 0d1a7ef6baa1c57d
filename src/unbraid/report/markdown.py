"""A report's verdicts as a Markdown table, for a study's README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.report.claims import Judged
from unbraid.report.more_seeds import in_words
from unbraid.report.parts import Section

START, END = "<!-- verdicts: written by `unbraid report --readme` -->", "<!-- end of verdicts -->"


def verdicts(sections: Sequence[Section]) -> str:
    """The claims of all sections, one row each."""
    lines = ["| | claim | the paper | here | verdict |", "|---|---|---|---|---|"]
    for section in sections:
        for item in section.items:
            if isinstance(item, Judged):
                before = f" (by the earlier rule: {item.earlier_verdict})" if item.earlier_verdict else ""
                seeds = f"; {in_words(item.seeds)}" if item.seeds else ""
                direction = f" (by its direction alone: {item.by_direction})" if item.by_direction else ""
                verdict = f"**{item.verdict}**{seeds}{direction}{before}"
                cells = (item.section or section.title.split(" ")[0], item.words, item.paper, item.ours, verdict)
                lines.append(f"| {' | '.join(cell.replace('|', '∣').replace(chr(10), ' ') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def put_into(readme: Path, text: str) -> Path:
    """Replace what stands between the two marks of a README."""
    try:
        content = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {readme}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{readme} is not text in UTF-8: {error.reason}") from error
    before, start, rest = content.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise InputError(f"{readme} has no place for the verdicts; expected the lines '{START}' and '{END}'")
    try:
        with replacing(readme) as part:
            part.write_text(f"{before}{START}\n\n{text}\n{END}{after}", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {readme}: {error.strerror or error}") from error
    return readme
